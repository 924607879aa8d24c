"""How PCP's perfevent agent is configured and started.

It needs only Python 3.8 or newer, because it is sent to other hosts together with
`daemon`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Iterable  # noqa: UP035

from sampling.agents.private_pmcd import (
    AGENTS,
    AgentError,
    AgentKind,
    user,
    write_whole,
)

AGENT = "perfevent"
_PROGRAM = AGENTS / "perfevent/pmdaperfevent"
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
_SYSTEM_WIDE = 0
# The beginning of a line of a configuration, a comment for the agent: device, name and
# perf's configuration of an event that the kernel counts but does not name.
NEW_EVENT = "# event "
_DEVICES = "bus/event_source/devices"
# A term that sets a whole word of perf's configuration: the agent itself cannot read
# the format of a term whose bits are apart.
_WHOLE = "supertwin_"


class Perfevent(AgentKind):
    """The agent of PMU events."""

    has_own_numbers = False

    def __init__(self) -> None:
        super().__init__(AGENT, _DOMAIN)

    def check(self) -> None:
        """Raise AgentError if the agent is missing, or if we may not count."""
        check_can_count()

    def write(self, folder: Path, text: str) -> None:
        """Write the events, and a copy of devices with those that have no name."""
        super().write(folder, text)
        _make_devices(folder / "sys", text)

    def words(self, folder: Path, log: Path) -> list[str]:
        """Debian's agent cannot be given its configuration in another way."""
        return [
            *("/usr/bin/env", f"PCP_PMDAS_DIR={folder}", *_sysfs(folder / "sys")),
            *(str(_PROGRAM), "-d", str(_DOMAIN), "-l", str(log), "-U", user()),
        ]

    def name_space(self) -> tuple[str, str]:
        """The names of counters come from the agent, below these."""
        return "perfevent", _NAMES


def check_can_count() -> None:
    """Raise AgentError if PCP's agent is missing, or if we may not count."""
    if not os.access(str(_PROGRAM), os.X_OK):
        raise AgentError(
            f"PCP's perfevent agent is not installed ({_PROGRAM}): "
            "`apt-get install pcp`, elsewhere the package pcp-pmda-perfevent"
        )
    try:
        level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text("ascii"))
    except (OSError, ValueError):
        raise AgentError(
            "this kernel was built without perf_event: use one with CONFIG_PERF_EVENTS"
        ) from None
    check_permission(level, os.geteuid())


def check_permission(level: int, user: int) -> None:
    """Raise AgentError if perf_event_paranoid forbids a user to count."""
    if level > _SYSTEM_WIDE and user != 0:
        raise AgentError(
            f"kernel.perf_event_paranoid is {level}, so only root may count on whole "
            "CPUs: run `sysctl kernel.perf_event_paranoid=0`, or count as root"
        )


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
        raise AgentError(f"the kernel has no device {real}: probe this host again")
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


def _sysfs(copy: Path) -> list[str]:
    """Let the agent read the copy of the kernel's devices, if there is one."""
    return [f"SYSFS_PREFIX={copy}"] if copy.is_dir() else []
