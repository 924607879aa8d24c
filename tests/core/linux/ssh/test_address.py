"""Addresses that are hosts, and texts that only look like one."""

import pytest

from core.linux.ssh.address import Address, parse_address
from core.linux.ssh.errors import AddressError
from core.linux.ssh.reasons import explain, printable


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ssh://n1", Address("n1")),
        ("ssh://n1/", Address("n1")),
        ("ssh://me@n1.example.org:2222", Address("n1.example.org", "me", 2222)),
        ("ssh://me@10.0.0.1", Address("10.0.0.1", "me")),
        ("ssh://[2001:db8::1]:22", Address("2001:db8::1", None, 22)),
        ("ssh://root@[fe80::1%eth0]", Address("fe80::1%eth0", "root")),
        ("ssh://me@realm@n1", Address("n1", "me@realm")),
        ("ssh://my_node", Address("my_node")),
    ],
)
def test_addresses_are_parsed(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert str(address) == text.removesuffix("/")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("n1", "does not begin with ssh://"),
        ("http://n1", "does not begin with ssh://"),
        ("ssh://", "'' is not a host"),
        ("ssh://me@", "'' is not a host"),
        ("ssh://-oProxyCommand=touch /tmp/x", "is not a host"),
        ("ssh://-oProxyCommand=id", "is not a host"),
        ("ssh://-lroot@n1", "'-lroot' is not a user"),
        ("ssh://@n1", "'' is not a user"),
        ("ssh://me you@n1", "is not a user"),
        ("ssh://n1;reboot", "is not a host"),
        ("ssh://n1 -v", "is not a host"),
        ("ssh://n1\nx", "is not a host"),
        ("ssh://n1/path", "is not a host"),
        ("ssh://n1:", "'' is not a port"),
        ("ssh://n1:0", "'0' is not a port"),
        ("ssh://n1:65536", "'65536' is not a port"),
        ("ssh://n1:２２", "is not a port"),
        ("ssh://[::1", "is not a host"),
        ("ssh://[n1]", "'n1' is not a host"),
        ("ssh://[::1]x", "is not a host"),
        ("ssh://[fe80::1%-x]", "is not a host"),
        ("ssh://::1", "is not a host"),
        ("ssh://me:secret@n1", "a password in an ssh:// address is not used"),
    ],
)
def test_invalid_address_is_refused(text: str, why: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_address(text)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("message", "fix"),
    [
        (
            ["@@@@@", "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @"],
            "ssh-keygen -R",
        ),
        (["ssh: connect to host n1 port 22: No route to host"], "cannot be reached"),
        (["Bad owner or permissions on /root/.ssh/config"], "fix that file"),
        (["Unable to negotiate with 10.0.0.1 port 22: no matching host"], "in common"),
        (["kex_exchange_identification: read: \x1b[31mreset"], "(kex_exchange"),
        ([], "it gives no reason"),
    ],
)
def test_every_refusal_is_one_line_with_a_fix(message: list[str], fix: str) -> None:
    line = explain(Address("n1"), message)
    assert fix in line
    assert line.isprintable()


def test_text_from_a_host_is_printable_and_short() -> None:
    assert printable("a\x1b]0;x\x07\n\tb" + "c" * 500) == "a ]0;x b" + "c" * 192
