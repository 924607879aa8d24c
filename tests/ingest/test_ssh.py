"""Login with the system's ssh: keys, agents, configuration; refused logins."""

import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from core.linux.ssh import client as ssh
from core.linux.ssh.address import parse_address
from core.linux.ssh.errors import SshMissingError
from ingest.errors import RemoteError
from ingest.remote.ssh import connected
from tests.servers import ENDS_WITH_US, wait_until
from tests.sshd import USER, Sshd

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="a network namespace and accounts of its own need root"
)


@pytest.fixture(scope="module")
def sshd() -> Iterator[Sshd]:
    with Sshd() as server:
        yield server


def get_in(address: str, config: Path) -> None:
    """Run a command on the remote host."""
    with (
        connected(parse_address(address), config) as connection,
        connection.run("echo in", b"", 10) as command,
    ):
        assert command.output.read() == b"in\n"


def refusal(address: str, config: Path) -> str:
    """The one-line reason for a failed login."""
    with pytest.raises(RemoteError) as caught:
        get_in(address, config)
    assert str(caught.value).isprintable()
    return str(caught.value)


def config_of(sshd: Sshd, folder: Path, *lines: str, **changed: object) -> Path:
    """The configuration with extra lines first, and with changed options."""
    text = sshd.config.read_text()
    for name, value in changed.items():
        text = re.sub(rf"{name} .*", f"{name} {value}", text)
    path = folder / "config"
    path.write_text("\n".join([*lines, text]))
    return path


def test_alias_gives_user_port_and_host(sshd: Sshd) -> None:
    get_in("ssh://twin-node", sshd.config)
    get_in(f"ssh://{USER}@[{sshd.address6}]:22", sshd.config)


def test_key_of_an_agent_is_used(
    sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of(sshd, tmp_path, IdentityFile="none", IdentitiesOnly="no")
    assert "refuses our keys" in refusal(sshd.url(), config)
    place = str(sshd.folder / "agent")
    words = [*ENDS_WITH_US, "ssh-agent", "-D", "-a", place]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as agent:
        while not Path(place).exists():
            assert agent.poll() is None
        monkeypatch.setenv("SSH_AUTH_SOCK", place)
        subprocess.run(["ssh-add", "-q", sshd.folder / "user_key"], check=True)
        get_in(sshd.url(), config)
        agent.terminate()


def behind(sshd: Sshd, folder: Path, jump: str) -> Path:
    """A configuration with a host that is reached through a jump host."""
    return config_of(
        sshd,
        folder,
        f"Host jump\n  HostName {sshd.address}\n{jump}",
        "Host behind\n  HostName 127.0.0.1\n  Port 2222\n  User root",
        f"  ProxyJump jump\n  HostKeyAlias {sshd.address}",
    )


def test_jump_host_is_used(sshd: Sshd, tmp_path: Path) -> None:
    get_in("ssh://behind", behind(sshd, tmp_path, "  User root"))


def test_jump_host_never_prompts(
    sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A jump host's ssh is a separate process that does not get our options."""
    ask = tmp_path / "ask"
    ask.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\necho yes\n")
    ask.chmod(0o755)
    monkeypatch.setenv("SSH_ASKPASS", str(ask))
    monkeypatch.setenv("DISPLAY", ":9")
    known = tmp_path / "known"
    config = behind(sshd, tmp_path, f"  User root\n  UserKnownHostsFile {known}")
    assert "of ssh://behind is not known: log in once" in refusal(
        "ssh://behind", config
    )
    config = behind(sshd, tmp_path, "  User nobody9")
    assert "refuses our keys (nobody9@" in refusal("ssh://behind", config)
    assert not (tmp_path / "asked").exists()
    assert not known.exists()


def test_disturbing_options_of_a_configuration_are_overridden(
    sshd: Sshd, tmp_path: Path
) -> None:
    config = config_of(
        sshd,
        tmp_path,
        *("RequestTTY force", "RemoteCommand evil", "PermitLocalCommand yes"),
        *(f"LocalCommand touch {tmp_path}/local", "ForwardAgent yes"),
        *(f"LocalForward {tmp_path}/forwarded 127.0.0.1:22", "VisualHostKey yes"),
        *("ControlMaster auto", f"ControlPath {tmp_path}/cm", "ControlPersist 60"),
    )
    get_in(sshd.url(), config)
    assert list(tmp_path.iterdir()) == [config]


def test_only_the_socket_is_forwarded(sshd: Sshd, tmp_path: Path) -> None:
    """One forward in the configuration must fail, and would break our own."""
    config = config_of(
        sshd,
        tmp_path,
        *(f"LocalForward {tmp_path}/local 127.0.0.1:22", "RemoteForward 7022 n1:22"),
        f"LocalForward {tmp_path}/no/folder 127.0.0.1:22",
    )
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(sshd.folder / "echo"))
        server.listen()
        with connected(parse_address(sshd.url()), config) as connection:
            local = connection.forward(str(sshd.folder / "echo"))
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(local))
                server.settimeout(10)
                answering, _ = server.accept()
                with answering:
                    answering.sendall(b"in")
                assert client.recv(2) == b"in"
            with connection.run("cat /proc/net/tcp", b"", 10) as command:
                listening = b"".join(iter(command.output.read, b""))
    assert b":0016 " in listening and b":1B6E " not in listening  # ports 22 and 7022
    assert list(tmp_path.iterdir()) == [config]


def test_lost_login_ends_the_forwarding(sshd: Sshd) -> None:
    with connected(parse_address(sshd.url()), sshd.config) as connection:

        def has_ended() -> bool:
            # A process that serves the login may be about to start another one.
            for pid in sshd.sessions():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return not connection.is_open

        wait_until(has_ended, what="its end")
        with pytest.raises(RemoteError, match="ssh created no socket .*: try again"):
            connection.forward("/run/nothing")


def test_unknown_host_key_is_refused(sshd: Sshd, tmp_path: Path) -> None:
    known = tmp_path / "known"
    config = config_of(sshd, tmp_path, UserKnownHostsFile=known)
    assert "is not known: log in once with `ssh ssh://" in refusal(sshd.url(), config)
    assert not known.exists()


def test_changed_host_key_is_refused(sshd: Sshd, tmp_path: Path) -> None:
    known = tmp_path / "known"
    config = config_of(sshd, tmp_path, UserKnownHostsFile=known)
    other = (sshd.folder / "user_key.pub").read_text()
    known.write_text(f"{sshd.address} {other}")
    assert "is not the one in known_hosts: find out" in refusal(sshd.url(), config)


def test_refused_keys_are_reported(sshd: Sshd, tmp_path: Path) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-N", "secret", "-f", key], check=True)
    config = config_of(sshd, tmp_path, IdentityFile=key)
    line = refusal(sshd.url(), config)
    assert re.search("refuses our keys .*Permission denied", line)
    (tmp_path / "key.pub").unlink()
    key.write_bytes((sshd.folder / "user_key").read_bytes())
    get_in(sshd.url(), config)
    key.chmod(0o644)
    assert "give that file mode 600" in refusal(sshd.url(), config)
    assert "refuses our keys" in refusal(sshd.url("nobody9"), sshd.config)


def test_unreachable_hosts_are_reported(
    sshd: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = refusal(f"ssh://root@{sshd.address}:2", sshd.config)
    assert "refuses connections" in refused
    nowhere = refusal("ssh://no-such-host.invalid", sshd.config)
    assert "cannot be resolved" in nowhere
    monkeypatch.setitem(ssh.OPTIONS, "ConnectTimeout", "1")
    nobody = ".".join([*sshd.address.split(".")[:3], "255"])
    assert "cannot be reached" in refusal(f"ssh://root@{nobody}", sshd.config)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        line = refusal(f"ssh://root@127.0.0.1:{port}", sshd.config)
    assert "cannot be reached (Connection timed out during banner" in line


def test_missing_common_method_is_reported(sshd: Sshd, tmp_path: Path) -> None:
    config = config_of(sshd, tmp_path, "KexAlgorithms diffie-hellman-group1-sha1")
    assert "no method in common" in refusal(sshd.url(), config)


def test_invalid_configuration_is_reported(sshd: Sshd, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("NoSuchOption yes\n")
    for path in (config, tmp_path / "none"):
        assert "ssh refuses its configuration" in refusal(sshd.url(), path)


def test_missing_ssh_client_is_reported(
    sshd: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SshMissingError, match="apt-get install openssh-client"):
        get_in(sshd.url(), sshd.config)
