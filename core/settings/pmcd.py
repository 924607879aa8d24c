"""Which PMCD the stack uses: the running one, or one of our own."""

import getpass
import os
import re
from pathlib import Path

from core.linux.pmcd_socket import greets
from core.settings.setting import SettingsError
from core.settings.settings import Settings

_TIMEOUT = 2.0
# The socket of the system's PMCD. A PMCD that answers only on TCP may belong to another
# stack, which stops it when it ends; and `proc.*` is not available over TCP.
SYSTEM_SOCKET = Path("/run/pcp/pmcd.socket")
_SYSTEM_CONFIG = Path("/etc/pcp/pmcd/pmcd.conf")
# sockaddr_un holds 108 bytes, one of them for the final zero.
_LONGEST_SOCKET = 107
# Agents that change to root unless they are given a user.
_CHANGES_USER = re.compile(r"^((?:linux|proc)\s+\d+\s+pipe\b.*)$", re.MULTILINE)
_NEEDS_ROOT = re.compile(r"^root\s+\d+\s.*\n", re.MULTILINE)
# The system's configuration lets every local user set metrics. Only the owner can reach
# the Unix socket, because of its folder.
_ACCESS = """
[access]
disallow ".*" : store;
disallow ":*" : store;
allow "unix:" : all;
"""


def choose(settings: Settings) -> tuple[str, bool]:
    """Return the address of the PMCD to use and whether we have to start it."""
    if settings.pmcd == "auto":
        running = running_address()
        return (running, False) if running else (_own(settings), True)
    if settings.pmcd == "own":
        return _own(settings), True
    return settings.pmcd, False


def _own(settings: Settings) -> str:
    return f"unix://{own_socket(settings)}"


def running_address(unix: Path = SYSTEM_SOCKET) -> str | None:
    """Return the address of the machine's running PMCD; None without one."""
    return f"unix://{unix}" if greets(unix, _TIMEOUT) else None


def own_socket(settings: Settings) -> Path:
    """Return our own PMCD's Unix socket; SettingsError if its path is too long."""
    home = settings.home / "pmcd"
    longest = home / "var" / "pmcd" / "root.socket"
    if len(os.fsencode(longest)) > _LONGEST_SOCKET:
        raise SettingsError(
            f"the path of a socket of PMCD has more than {_LONGEST_SOCKET} bytes "
            f"({longest}): set SUPERTWIN_HOME to a folder with a shorter name"
        )
    return home / "run" / "pmcd.socket"


def write_config(home: Path) -> Path:
    """Write our own PMCD's configuration: the system's, as far as we have rights."""
    path = home / "pmcd.conf"
    text = _SYSTEM_CONFIG.read_text(encoding="utf-8")
    if os.geteuid() != 0:
        text = without_root(text, getpass.getuser())
    path.write_text(for_owner_to_store(text), encoding="utf-8")
    return path


def for_owner_to_store(config: str) -> str:
    """Return a PMCD configuration in which only the socket's owner may set metrics."""
    agents, _, _ = config.partition("[access]")
    return agents.rstrip("\n") + "\n" + _ACCESS


def without_root(config: str, user: str) -> str:
    """Return a PMCD configuration with agents that run as ``user``, not as root."""
    return _CHANGES_USER.sub(rf"\1 -U {user}", _NEEDS_ROOT.sub("", config))
