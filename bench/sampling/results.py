"""The results of a part, saved step by step, so that an interrupted run can resume."""

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
from pydantic import TypeAdapter

from bench.sampling.part import Part
from bench.sampling.profiles import Profile
from tests.servers import ROOT

_CPUINFO = re.compile(r"^(model name|cpu family|model)\s*: (.+?)\s*$", re.MULTILINE)
# As many as the timed applications print.
_DECIMALS = 7


class Results:
    """A part's steps and settings, in a file (None: only in memory).

    ``machines`` say where and when each run measured some of them.
    """

    def __init__(self, part: Part[Any], profile: Profile, path: Path | None) -> None:
        self.found: dict[str, Any] = {}
        self._adapter = TypeAdapter(part.gives)
        self._path = path
        self._settings = _plain(part.settings(profile))
        self.machines: list[dict[str, Any]] = []
        self._here = machine()

    def resume(self) -> None:
        """Load the steps of the file; exit 2 if the settings were others."""
        if not self.take_up():
            print(
                f"bench_sampling: {self.refusal}: leave --resume out to measure it "
                "again",
                file=sys.stderr,
            )
            raise SystemExit(2)

    @property
    def refusal(self) -> str:
        """The reason why the file cannot be loaded."""
        return f"{self._path} was measured with other settings, or is damaged"

    def take_up(self) -> bool:
        """Load the steps in the file, if any; False if that is impossible."""
        if self._path is None or not self._path.exists():
            return True
        try:
            kept = orjson.loads(self._path.read_bytes())
            if kept["settings"] != self._settings:
                return False
            check, steps = self._adapter.validate_python, kept["steps"]
            self.found = {name: check(step) for name, step in steps.items()}
            self.machines = kept["machines"]
        except (ValueError, KeyError, TypeError):
            return False
        return True

    def keep(self, step: str, result: Any) -> None:
        """Add a step and rewrite the file."""
        self.found[step] = result
        if self._here not in self.machines:
            self.machines.append(self._here)
        self._here |= {"until": _date(), "steps": self._here.get("steps", 0) + 1}
        if self._path is not None:
            self._write(self._path)

    def _write(self, path: Path) -> None:
        """Write one step a line; replaces the file atomically."""
        steps = ",\n".join(
            f"{_text(name)}: {_text(self._adapter.dump_python(step, mode='json'))}"
            for name, step in self.found.items()
        )
        machines = ",\n".join(map(_text, self.machines))
        head = f'"settings": {_text(self._settings)},\n"machines": [\n{machines}]'
        draft = path.with_suffix(".new")
        draft.write_text(f'{{{head},\n"steps": {{\n{steps}\n}}}}\n')
        draft.replace(path)


def machine() -> dict[str, Any]:
    """Where and when the run took place, and the machine's load before it."""
    return {
        "date": _date(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "load_before": round(os.getloadavg()[0], 2),
        "commit": _commit(),
    }


def machine_text(where: Mapping[str, Any]) -> str:
    """A machine, and the commit that was measured on it."""
    return (
        f"{where['cpu']}, {where['cores']} cores, Linux {where['kernel']}, "
        f"load before the start {where['load_before']}, commit {where['commit']}"
    )


def _date() -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())


def _cpu_model() -> str:
    """The CPU's name, and the numbers that distinguish CPUs of the same name."""
    cpuinfo = dict(_CPUINFO.findall(Path("/proc/cpuinfo").read_text()))
    if "model name" not in cpuinfo:
        return platform.machine()
    numbers = [
        f"{key} {cpuinfo[key]}" for key in ("cpu family", "model") if key in cpuinfo
    ]
    return ", ".join([cpuinfo["model name"], *numbers])


def _commit() -> str:
    if shutil.which("git") is None:
        return "unknown"
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"


def _plain(settings: Mapping[str, Any]) -> Any:
    """The settings as JSON returns them, without tuples."""
    return orjson.loads(orjson.dumps(settings))


def _text(what: Any) -> str:
    return orjson.dumps(_rounded(what), option=orjson.OPT_SERIALIZE_NUMPY).decode()


def _rounded(what: Any) -> Any:
    """The same with floats rounded, which halves the larger files."""
    match what:
        case float():
            return round(what, _DECIMALS)
        case dict():
            return {name: _rounded(value) for name, value in what.items()}
        case list() | tuple():
            return [_rounded(value) for value in what]
        case _:
            return what
