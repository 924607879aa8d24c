"""The folder, the files and the command of a private PMCD, which runs one agent.

On this host, the supervisor runs that PMCD. Each agent has its own, so that an agent
that starts or hangs does not delay others. This module must run on Python 3.8, because
it is sent to other hosts with `daemon`.
"""

from __future__ import annotations

import os
import pwd
import re
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path

_VAR = Path("/var/lib/pcp")
AGENTS = _VAR / "pmdas"
NAME_SPACE = _VAR / "pmns/root"
_FOLDERS = ("run", "tmp", "log", "var")
PMCD_AGENT = "pmcd/pmda_pmcd.so"
# The permissions of the folder keep other users from the socket. No client may use TCP.
ACCESS = """
[access]
disallow ".*" : all;
disallow ":*" : all;
allow "unix:" : fetch;
"""
LOOPBACK = "127.0.0.1"
# By default, PMCD gives up for good on an agent that has not started after 3 s. On a
# busy machine an agent may need longer.
AGENT_PATIENCE = ("-q", "30")
# sockaddr_un holds 108 bytes, including a terminating zero.
_LONGEST_SOCKET = 107


class AgentError(Exception):
    """A reason why an agent cannot run; its text is one line with the fix."""


class AgentKind(ABC):
    """How one agent of PCP is configured and started.

    ``file`` is the path of its configuration below a folder that PMCD's configuration
    names. An agent that ``reads_again`` a changed file there is not restarted.
    """

    # Whether its instance numbers are independent of those of the system's agent.
    has_own_numbers = True
    reads_again = False
    protocol = "binary"

    def __init__(self, name: str, domain: int) -> None:
        self.name = name
        self.domain = domain
        self.file = f"{name}/{name}.conf"

    def check(self) -> None:  # noqa: B027  (most agents have nothing to check)
        """Raise AgentError if the agent cannot run on this machine."""

    def write(self, folder: Path, text: str) -> None:
        """Write the configuration, and what the agent needs next to it."""
        (folder / self.file).parent.mkdir(parents=True, exist_ok=True)
        write_whole(folder / self.file, text)

    @abstractmethod
    def words(self, folder: Path, log: Path) -> list[str]:
        """The command that starts the agent; no word may contain a space."""

    def name_space(self) -> tuple[str, str]:
        """The agent's line in PCP's name space, and the names below it if fixed."""
        return f"{self.name}\t{self.domain}:*:*", ""


def socket_of(home: Path) -> Path:
    """PMCD's Unix socket; raises AgentError if PMCD cannot use its path."""
    path = home / "run/pmcd.socket"
    if len(os.fsencode(str(path))) > _LONGEST_SOCKET or re.search(r"\s", str(path)):
        raise AgentError(
            f"PMCD cannot use {path}: its folder needs a shorter name, without spaces"
        )
    return path


def command(home: Path, pmcd: str, port: int) -> tuple[str, ...]:
    """The command that starts PMCD; its agents need it to run in ``{home}/log``."""
    return (
        *(pmcd, "-f", "-A", *AGENT_PATIENCE, "-i", LOOPBACK, "-p", str(port)),
        *("-s", str(socket_of(home)), "-l", str(home / "log/pmcd.log")),
        *("-c", str(home / "pmcd.conf"), "-n", str(home / "pmns"), "-U", user()),
    )


def make_folders(home: Path) -> None:
    """Make the folders that separate a private PMCD from all others.

    A PMCD asks the process that listens on ``pmcd/root.socket``, below PCP's ``var``,
    to start its agents. If two PMCDs shared that socket, the end of one would end the
    agents of both.
    """
    for name in _FOLDERS:
        (home / name).mkdir(parents=True, exist_ok=True)
    for path in _VAR.iterdir():
        link = home / "var" / path.name
        if path.name != "pmcd" and not link.is_symlink():
            with suppress(FileExistsError):
                link.symlink_to(path)


def environment(home: Path) -> dict[str, str]:
    """The environment variables that tell PCP's programs their folders."""
    return {f"PCP_{name.upper()}_DIR": str(home / name) for name in _FOLDERS}


def user() -> str:
    """The user that runs this process."""
    return pwd.getpwuid(os.geteuid()).pw_name


def write_whole(path: Path, text: str) -> None:
    """Replace a file; readers see the old text or the new one."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def remove(path: Path) -> None:
    """Remove a file that may not exist."""
    with suppress(FileNotFoundError):
        path.unlink()
