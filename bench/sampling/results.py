"""What a part measured, kept step by step, so that a run that was cut goes on."""

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

from bench.sampling.forms import Form
from bench.sampling.part import Part
from tests.servers import ROOT

_CPUINFO = re.compile(r"^(model name|cpu family|model)\s*: (.+?)\s*$", re.MULTILINE)


class Results:
    """A part's steps, in a file (None: in memory alone) with what they hang on.

    ``machines`` say where and when each run that measured some of them did so.
    """

    def __init__(self, part: Part[Any], form: Form, path: Path | None) -> None:
        self.found: dict[str, Any] = {}
        self._adapter = TypeAdapter(part.gives)
        self._path = path
        self._settings = _plain(part.settings(form))
        self.machines: list[dict[str, Any]] = []
        self._here = machine()

    def resume(self) -> None:
        """Take up what is in the file; exit 2 where it was measured otherwise."""
        if not self.take_up():
            print(
                f"bench_sampling: {self.refusal}: leave --resume out to measure it "
                "anew",
                file=sys.stderr,
            )
            raise SystemExit(2)

    @property
    def refusal(self) -> str:
        """Why what is in the file is not taken up, where it is not."""
        return f"{self._path} was measured with other settings, or is damaged"

    def take_up(self) -> bool:
        """Take up what is in the file, if any; False where that cannot be done."""
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
        """Add a step, and write the file anew."""
        self.found[step] = result
        if self._here not in self.machines:
            self.machines.append(self._here)
        self._here |= {"until": _date(), "steps": self._here.get("steps", 0) + 1}
        if self._path is not None:
            self._write(self._path)

    def _write(self, path: Path) -> None:
        """A step a line; the file is the old one or the new one, never half."""
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
    """Where and when it was measured, and how busy the machine was before."""
    return {
        "date": _date(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "load_before": round(os.getloadavg()[0], 2),
        "commit": _commit(),
    }


def _date() -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())


def _cpu_model() -> str:
    """Its name, and the numbers that tell those of one name apart."""
    told = dict(_CPUINFO.findall(Path("/proc/cpuinfo").read_text()))
    if "model name" not in told:
        return platform.machine()
    numbers = [f"{key} {told[key]}" for key in ("cpu family", "model") if key in told]
    return ", ".join([told["model name"], *numbers])


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
    """As JSON gives it back: no tuples."""
    return orjson.loads(orjson.dumps(settings))


def _text(what: Any) -> str:
    return orjson.dumps(what, option=orjson.OPT_SERIALIZE_NUMPY).decode()
