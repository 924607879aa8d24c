"""Explain a failed ssh login in one line, with the fix.

The texts are those of OpenSSH's client (sshconnect.c, sshconnect2.c, packet.c), which
prints them in English in every locale.
"""

import re

from core.linux.ssh.address import Address

_LAST = 6
_PORT = "check the address, and that sshd runs there"
# The first match counts; {0} is the address, {1} is ssh's own text.
_REASONS = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED|Host key .*has changed",
        "the key of {0} is not the one in known_hosts: find out why; if the host was "
        "reinstalled, remove the old key with `ssh-keygen -R` and log in once",
    ),
    (
        r"Host key verification failed|No \S+ host key is known",
        "the key of {0} is not known: log in once with `ssh {0}` and compare its "
        "fingerprint",
    ),
    (
        r"Load key .*bad permissions",
        "ssh ignores a key that others may read ({1}): give that file mode 600",
    ),
    (
        r"Permission denied|Too many authentication failures|No supported authen",
        "{0} refuses our keys ({1}): add a key to ssh-agent or ~/.ssh/config with "
        "which `ssh -o BatchMode=yes {0}` works without a password",
    ),
    (
        r"Could not resolve hostname",
        "the name of {0} cannot be resolved: check the address, or name the host in "
        "~/.ssh/config",
    ),
    (r"Connection refused", "{0} refuses connections: " + _PORT),
    (
        r"No route to host|Network is unreachable|Operation timed out|"
        r"Connection timed out|timed out while waiting|timed out during banner|"
        r"not responding",
        "{0} cannot be reached ({1}): " + _PORT,
    ),
    (
        r"closed by remote host|Connection closed by|Connection reset by",
        "{0} ended the connection ({1}): check whether its sshd runs, and its log",
    ),
    (
        r"[Bb]ad owner or permissions|Bad configuration option|Can't open user config|"
        r"terminating, \d+ bad configuration",
        "ssh refuses its configuration ({1}): fix that file",
    ),
    (
        r"no matching|Unable to negotiate",
        "{0} and our ssh have no method in common ({1}): update the older of them",
    ),
)
_SAYS_LITTLE = re.compile(
    r"^(@+|Please|Someone could|It is also|Add correct|lost|Offend)"
)


def explain(address: Address, complaints: list[str]) -> str:
    """Return one line that explains ssh's last error output."""
    # The host's own text, its banner, comes before that of ssh.
    text = "\n".join(complaints[-_LAST:])
    for pattern, reason in _REASONS:
        if found := re.search(f".*({pattern}).*", text):
            return reason.format(address, printable(found[0]))
    lines = [line for line in complaints if not _SAYS_LITTLE.match(line)]
    why = printable(lines[-1]) if lines else "it gives no reason"
    return f"ssh could not connect to {address} ({why}): try `ssh {address}`"


def printable(text: str) -> str:
    """Make a remote host's text safe to show: short, without control characters."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(plain.split())[:200]
