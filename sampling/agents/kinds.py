"""How the agents of BPF programs and exporters are configured and started.

It needs only Python 3.8 or newer, because it is sent to other hosts together with
`daemon`.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Mapping  # noqa: UP035

from sampling.agents.bpftrace_script import printing
from sampling.agents.known import KNOWN
from sampling.agents.perfevent import Perfevent
from sampling.agents.private_pmcd import (
    AGENTS,
    AgentError,
    AgentKind,
    user,
    write_whole,
)

# Tracepoints need tracefs, which only this agent then sees.
_WITH_TRACEFS = """#!/bin/sh
if [ ! -e /sys/kernel/tracing/events ] && unshare --mount true 2>/dev/null; then
    exec unshare --mount /bin/sh -c '
        mount -t tracefs tracefs /sys/kernel/tracing
        exec "$@"' sh "$@"
fi
exec "$@"
"""
# PCP's module for Python belongs to the distribution's.
PYTHON = "/usr/bin/python3"
# Programs that become agents: on another host they are not files of ours.
READER = ("exporter_text", "exporter_fetch")
BPFTRACE = ("bpftrace_script", "bpftrace_agent")
PROGRAM_SOURCES: dict[str, str] = {}


class _Known(AgentKind):
    """An agent of the catalogue."""

    def __init__(self, name: str) -> None:
        super().__init__(name, KNOWN[name].domain)
        self.program = AGENTS / KNOWN[name].program

    def check(self) -> None:
        """Raise AgentError if the agent is not installed."""
        if not os.access(str(self.program), os.X_OK):
            raise AgentError(
                f"PCP's {self.name} agent is not installed ({self.program}): "
                f"`apt-get install pcp`, elsewhere the package pcp-pmda-{self.name}"
            )


class Bpf(_Known):
    """The agent of BPF programs; it finds its modules next to its configuration."""

    def __init__(self) -> None:
        super().__init__("bpf")

    def check(self) -> None:
        """Raise AgentError if the agent is not installed, or may load no program."""
        super().check()
        if os.geteuid() != 0:
            raise AgentError(
                f"only root may load the BPF programs of PCP's {self.name} agent"
            )

    def write(self, folder: Path, text: str) -> None:
        """Write the modules that are switched on."""
        super().write(folder, text)
        write_whole(folder / "start", _WITH_TRACEFS)
        with suppress(FileExistsError):
            (folder / self.name / "modules").symlink_to(AGENTS / self.name / "modules")

    def words(self, folder: Path, log: Path) -> list[str]:
        """The agent takes the place of its modules from the environment."""
        return [
            *(
                "/usr/bin/env",
                f"PCP_PMDAS_DIR={folder}",
                "/bin/sh",
                str(folder / "start"),
            ),
            *(str(self.program), "-d", str(self.domain), "-l", str(log)),
        ]


class Openmetrics(_Known):
    """The agent of exporters: it reads the files that `exporter_fetch` writes."""

    reads_again = True
    protocol = "binary notready"

    def __init__(self) -> None:
        super().__init__("openmetrics")
        self.file = "exporters.conf"

    def write(self, folder: Path, text: str) -> None:
        """Write the exporters, and a file for each that names its values."""
        _write_programs(folder, READER)
        names = {line.split()[0] for line in text.splitlines() if line.strip()}
        places = folder / "config.d"
        places.mkdir(exist_ok=True)
        for name in names | {"scrapes"}:
            url = places / f"{name}.url"
            if not url.exists():
                write_whole(url, f"file://{folder}/{name}.prom\n")
        for url in places.glob("*.url"):
            if url.stem not in names | {"scrapes"}:
                url.unlink()
        super().write(folder, text)

    def words(self, folder: Path, log: Path) -> list[str]:
        """The process that reads the exporters becomes the agent."""
        run = f"import sys;sys.path.append('{folder}');"
        run += "from sampling.agents.exporter_fetch import main;main()"
        write_whole(folder / "start.py", run.replace(";", "\n") + "\n")
        return [
            *(PYTHON, "-ISB", str(folder / "start.py"), str(folder), "--"),
            *(PYTHON, "-I", str(self.program), "-d", str(self.domain)),
            # By default PCP 6.3 runs it as the user pcp, who may not read the folder.
            *("-l", str(log), "-c", str(folder / "config.d"), "-u", user()),
        ]


# bpftrace ends with the process that started it, also if that is killed.
_RUN_BPFTRACE = """#!/bin/sh
exec setpriv --pdeathsig KILL -- bpftrace "$@"
"""
# Keys of each map; bpftrace drops others.
MOST_KEYS = 1000


class Bpftrace(_Known):
    """The agent of bpftrace scripts: it gets a file for each, which it starts."""

    def __init__(self) -> None:
        super().__init__("bpftrace")
        self.file = "bpftrace/scripts.json"

    def check(self) -> None:
        """Raise AgentError if the agent cannot run, or may load no program."""
        super().check()
        if not shutil.which("bpftrace"):
            raise AgentError("bpftrace is not installed: `apt-get install bpftrace`")
        if os.geteuid() != 0:
            raise AgentError("only root may run the scripts of PCP's bpftrace agent")

    def write(self, folder: Path, text: str) -> None:
        """Write the scripts, which only root may read and change."""
        for place in ("bpftrace/autostart", "etc/bpftrace/autostart"):
            (folder / place).mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, script in json.loads(text).items():
            path = folder / f"bpftrace/autostart/{name}.bt"
            path.touch(mode=0o600)
            path.write_text(printing(script["text"], script["period_ms"]), "utf-8")
        _write_programs(folder, BPFTRACE)
        write_whole(folder / "start", _WITH_TRACEFS)
        run = folder / "bpftrace/run"
        write_whole(run, _RUN_BPFTRACE)
        run.chmod(0o700)
        config = f"[bpftrace]\nbpftrace_path = {run}\n"
        write_whole(folder / "bpftrace/bpftrace.conf", config)
        super().write(folder, text)

    def words(self, folder: Path, log: Path) -> list[str]:
        """The agent takes its places from the environment."""
        run = f"import sys;sys.path.append('{folder}');"
        run += "from sampling.agents.bpftrace_agent import main;main()"
        write_whole(folder / "start.py", run.replace(";", "\n") + "\n")
        return [
            *self.within(folder),
            *(PYTHON, "-IB", str(folder / "start.py"), str(self.program)),
            *("-d", str(self.domain), "-l", str(log)),
        ]

    def within(self, folder: Path) -> list[str]:
        """The words before a command that runs as the agent's part."""
        return [
            *("/usr/bin/env", f"PCP_PMDAS_DIR={folder}"),
            *(f"PCP_SYSCONF_DIR={folder}/etc", f"BPFTRACE_MAP_KEYS_MAX={MOST_KEYS}"),
            *("/bin/sh", str(folder / "start")),
        ]


def _write_programs(folder: Path, names: tuple[str, ...]) -> None:
    place = folder / "sampling/agents"
    place.mkdir(parents=True, exist_ok=True)
    for name in names:
        source = PROGRAM_SOURCES.get(name) or source_of(name)
        write_whole(place / f"{name}.py", source)


def source_of(name: str) -> str:
    """The source of a program that becomes an agent."""
    return Path(__file__).with_name(f"{name}.py").read_text("utf-8")


KINDS: Mapping[str, AgentKind] = {
    kind.name: kind for kind in (Perfevent(), Bpf(), Openmetrics(), Bpftrace())
}
