"""The folder and files of a private PMCD that runs only PCP's perfevent agent.

It needs only Python 3.8 or newer, because it is sent to other hosts together with
`remote_daemon`. On this host the supervisor runs that PMCD.

Each configuration has a folder that is named by a digest of its content. A new one
therefore changes the agent's line in pmcd.conf, and PMCD restarts the agent when it
reads that file again.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Iterable  # noqa: UP035

_VAR = Path("/var/lib/pcp")
AGENTS = _VAR / "pmdas"
_NAME_SPACE = _VAR / "pmns/root"
_FOLDERS = ("run", "tmp", "log", "var")
_PROGRAM = "perfevent/pmdaperfevent"
_PMCD_AGENT = "pmcd/pmda_pmcd.so"
# The domain of PERFEVENT in PCP's stdpmid.
_DOMAIN = 127
_NAMES = f"""
perfevent {{
\tversion {_DOMAIN}:0:0
\tactive {_DOMAIN}:0:1
\thwcounters {_DOMAIN}:*:*
\tderived {_DOMAIN}:*:*
}}
"""
# The permissions of its folder keep other users from the socket; TCP is closed to all.
_ACCESS = """
[access]
disallow ".*" : all;
disallow ":*" : all;
allow "unix:" : fetch;
"""
LOOPBACK = "127.0.0.1"
# By default PMCD gives up an agent that is not up after 3 s, for good. An agent on a
# busy machine may need longer.
AGENT_PATIENCE = ("-q", "30")
# sockaddr_un holds 108 bytes, including a terminating zero.
_LONGEST_SOCKET = 107
_SYSTEM_WIDE = 0
# The beginning of a line of a configuration, a comment for the agent: device, name and
# perf's configuration of an event that the kernel counts but does not name.
NEW_EVENT = "# event "
_DEVICES = "bus/event_source/devices"
# A term that sets a whole word of perf's configuration: the agent itself cannot read
# the format of a term whose bits are apart.
_WHOLE = "supertwin_"


class CountingError(Exception):
    """A reason why counting is impossible; its text is one line with the fix."""


def socket_of(home: Path) -> Path:
    """PMCD's Unix socket; raises CountingError if PMCD cannot use its path."""
    path = home / "run/pmcd.socket"
    if len(os.fsencode(str(path))) > _LONGEST_SOCKET or re.search(r"\s", str(path)):
        raise CountingError(
            f"PMCD cannot use {path}: its folder needs a shorter name, without spaces"
        )
    return path


def check_can_count() -> None:
    """Raise CountingError if PCP's agent is missing, or if we may not count."""
    if not os.access(str(AGENTS / _PROGRAM), os.X_OK):
        raise CountingError(
            f"PCP's perfevent agent is not installed ({AGENTS / _PROGRAM}): "
            "`apt-get install pcp`, elsewhere the package pcp-pmda-perfevent"
        )
    try:
        level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text("ascii"))
    except (OSError, ValueError):
        raise CountingError(
            "this kernel was built without perf_event: use one with CONFIG_PERF_EVENTS"
        ) from None
    check_permission(level, os.geteuid())


def check_permission(level: int, user: int) -> None:
    """Raise CountingError if perf_event_paranoid forbids a user to count."""
    if level > _SYSTEM_WIDE and user != 0:
        raise CountingError(
            f"kernel.perf_event_paranoid is {level}, so only root may count on whole "
            "CPUs: run `sysctl kernel.perf_event_paranoid=0`, or count as root"
        )


def keep_configuration(home: Path, text: str | None) -> None:
    """Set the configuration of the agent; None removes the agent.

    This has no effect until PMCD reads its own configuration again.
    """
    make_folders(home)
    (home / "agent").mkdir(exist_ok=True)
    name = _digest(text)
    if text is not None:
        (home / "agent" / name / "perfevent").mkdir(parents=True, exist_ok=True)
        write_whole(home / "agent" / name / "perfevent/perfevent.conf", text)
        _make_devices(home / "agent" / name / "sys", text)
    write_whole(home / "agent/current", name)
    for folder in (home / "agent").iterdir():
        if folder.is_dir() and folder.name != name:
            shutil.rmtree(str(folder), ignore_errors=True)
    # Messages of an earlier agent about an event do not hold for this one.
    remove(log_of_agent(home))
    write_whole(home / "pmcd.conf", _pmcd_conf(home, text))
    write_whole(home / "pmns", _name_space(text))


def kept_configuration(home: Path) -> str | None:
    """The configuration of the agent; None if there is no agent."""
    try:
        name = (home / "agent/current").read_text("ascii").strip()
        return (home / "agent" / name / "perfevent/perfevent.conf").read_text("utf-8")
    except OSError:
        return None


def log_of_agent(home: Path) -> Path:
    """The file in which the agent reports what it cannot count."""
    return home / "log/perfevent.log"


def command(home: Path, pmcd: str, port: int) -> tuple[str, ...]:
    """The command that starts PMCD; its agents need it to run in ``{home}/log``."""
    return (
        *(pmcd, "-f", "-A", *AGENT_PATIENCE, "-i", LOOPBACK, "-p", str(port)),
        *("-s", str(socket_of(home)), "-l", str(home / "log/pmcd.log")),
        *("-c", str(home / "pmcd.conf"), "-n", str(home / "pmns"), "-U", _user()),
    )


def make_folders(home: Path) -> None:
    """Make the folders that separate a private PMCD from all others.

    Every PMCD has its agents started by the process that listens at
    ``pmcd/root.socket`` below PCP's ``var``. With a shared socket, the agents of
    another PMCD would end with ours, and ours with the other.
    """
    for name in _FOLDERS:
        (home / name).mkdir(parents=True, exist_ok=True)
    for place in _VAR.iterdir():
        link = home / "var" / place.name
        if place.name != "pmcd" and not link.is_symlink():
            with suppress(FileExistsError):
                link.symlink_to(place)


def environment(home: Path) -> dict[str, str]:
    """Environment variables that PCP's programs need in addition."""
    return {f"PCP_{name.upper()}_DIR": str(home / name) for name in _FOLDERS}


def _make_devices(sys: Path, text: str) -> None:
    """Make a copy of the kernel's devices with the events that a configuration adds."""
    added = [
        line[len(NEW_EVENT) :].split()
        for line in text.splitlines()
        if line.startswith(NEW_EVENT)
    ]
    if not added:
        return
    real, copy = Path("/sys") / _DEVICES, sys / _DEVICES
    copy.mkdir(parents=True, exist_ok=True)
    changed = {device for device, _, _ in added}
    _link(copy, (path for path in real.iterdir() if path.name not in changed))
    for device, name, config in added:
        _add_event(real / device, copy / device, name, config)


def _add_event(real: Path, copy: Path, name: str, config: str) -> None:
    """Add an event to the copy of a device: ``config=0x10a``."""
    if not real.is_dir():
        raise CountingError(f"the kernel has no device {real}: probe this host again")
    for folder in ("events", "format"):
        (copy / folder).mkdir(parents=True, exist_ok=True)
        _link(copy / folder, (real / folder).glob("*"))
    _link(copy, (path for path in real.iterdir() if path.is_file()))
    values = [f"{_WHOLE}{value}" for value in config.split(",")]
    write_whole(copy / "events" / name, ",".join(values) + "\n")
    for value in config.split(","):
        field = value.partition("=")[0]
        write_whole(copy / "format" / f"{_WHOLE}{field}", f"{field}:0-63\n")


def _link(folder: Path, paths: Iterable[Path]) -> None:
    for path in paths:
        with suppress(FileExistsError):
            (folder / path.name).symlink_to(path)


def _pmcd_conf(home: Path, text: str | None) -> str:
    lines = [f"pmcd 2 dso pmcd_init {AGENTS / _PMCD_AGENT}"]
    if text is not None:
        # Debian's agent cannot be given its configuration in another way.
        words = [
            *("perfevent", str(_DOMAIN), "pipe", "binary", "/usr/bin/env"),
            f"PCP_PMDAS_DIR={home / 'agent' / _digest(text)}",
            *_sysfs(home / "agent" / _digest(text) / "sys"),
            *(str(AGENTS / _PROGRAM), "-d", str(_DOMAIN)),
            *("-l", str(log_of_agent(home)), "-U", _user()),
        ]
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n" + _ACCESS


def _sysfs(copy: Path) -> list[str]:
    """Let the agent read the copy of the kernel's devices, if there is one."""
    return [f"SYSFS_PREFIX={copy}"] if copy.is_dir() else []


def _name_space(text: str | None) -> str:
    """The system's name space, with the agent's names if there is an agent."""
    names = _NAME_SPACE.read_text("utf-8")
    if text is None or re.search(r"\bperfevent\b", names):
        return names
    return names.replace("root {", "root {\n\tperfevent", 1) + _NAMES


def _user() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name


def _digest(text: str | None) -> str:
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()[:12]


def write_whole(path: Path, text: str) -> None:
    """Replace a file; readers see the old text or the new one."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def remove(path: Path) -> None:
    """Remove a file that may not exist."""
    with suppress(FileNotFoundError):
        path.unlink()
