"""`make bench-sampling`: sampling compared with pcp2influxdb and the machine's limit.

The quick profile only prints. ``--full`` takes hours and writes docs/benchmarks/: each
step immediately, and each part as soon as it is complete.
"""

import argparse
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from bench.sampling.ground import Ground, open_ground
from bench.sampling.part import Part
from bench.sampling.parts.busy import BusyPart
from bench.sampling.parts.disk import DiskPart
from bench.sampling.parts.hosts import HostsPart
from bench.sampling.parts.overhead import OverheadPart
from bench.sampling.parts.processes import ProcessesPart
from bench.sampling.parts.resources import ResourcesPart
from bench.sampling.parts.sensors import SensorsPart
from bench.sampling.parts.soak import SoakPart
from bench.sampling.parts.throughput import ThroughputPart
from bench.sampling.parts.ticks import TicksPart
from bench.sampling.profiles import FULL, QUICK, Profile
from bench.sampling.report import Report
from bench.sampling.results import Results
from tests.servers import ROOT, Fuseki

PARTS: tuple[type[Part[Any]], ...] = (
    ThroughputPart,
    ProcessesPart,
    TicksPart,
    BusyPart,
    ResourcesPart,
    SoakPart,
    HostsPart,
    SensorsPart,
    DiskPart,
    OverheadPart,
)


def main(arguments: Sequence[str] | None = None) -> None:
    wanted = _parser().parse_args(arguments)
    profile = FULL if wanted.full else QUICK
    profile = profile.with_runs(wanted.runs) if wanted.runs else profile
    # Without this, SIGTERM would end the process at once and leave servers behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = wanted.out or (ROOT / "docs/benchmarks" if wanted.full else None)
    bench = Bench(profile, Report(folder))
    parts = [part() for part in PARTS if not wanted.only or part.name in wanted.only]
    kept = bench.take_up(parts, wanted.resume)
    bench.measure(parts, kept)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("bench_sampling", description=__doc__)
    add = parser.add_argument
    add("--full", action="store_true", help="all of it, for hours")
    names = [part.name for part in PARTS]
    add("--only", action="append", choices=names, help="this part; may be repeated")
    add("--resume", action="store_true", help="continue with what is in the folder")
    add("--runs", type=_positive, help="runs of each cell of overhead and sensors")
    add("--out", type=Path, help="write into this folder")
    return parser


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="supertwin-bench-")


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return int(text)


class Bench:
    """Measures parts of a profile, and reports each."""

    def __init__(self, profile: Profile, report: Report) -> None:
        self.profile = profile
        self.report = report
        self._broken: list[str] = []

    def take_up(self, parts: Sequence[Part[Any]], resume: bool) -> dict[str, Results]:
        """The saved results of each part, by name; loaded only if the run resumes."""
        kept = {part.name: self.report.results(part, self.profile) for part in parts}
        for results in kept.values() if resume else ():
            results.resume()
        return kept

    def measure(self, parts: Sequence[Part[Any]], kept: dict[str, Results]) -> None:
        """Measure every missing step; report each part when it is complete."""
        left = {part.name: self._left(part, kept[part.name]) for part in parts}
        with ExitStack() as stack:
            folder = Path(stack.enter_context(_folder()))
            servers = Fuseki(folder / "fuseki")
            fuseki = stack.enter_context(servers) if any(left.values()) else servers
            for part in parts:
                ground = open_ground(folder / part.name, fuseki)
                self._try(part, kept[part.name], left[part.name], ground)
        self.report.goals(self._goals(kept))
        if self._broken:
            raise SystemExit(f"bench_sampling: not measured: {', '.join(self._broken)}")

    def _try(self, part: Part[Any], *of: Any) -> None:
        """Measure a part; its failure does not affect the others."""
        try:
            self._part(part, *of)
        except Exception:
            traceback.print_exc()
            self._broken.append(part.name)

    def _left(self, part: Part[Any], results: Results) -> list[str]:
        return [step for step in part.steps(self.profile) if step not in results.found]

    def _part(
        self,
        part: Part[Any],
        results: Results,
        steps: Sequence[str],
        ground: AbstractContextManager[Ground],
    ) -> None:
        try:
            if steps:
                with ground as there:
                    measured = part.measure(there, self.profile, steps)
                    self._steps(part, results, measured)
        finally:
            if results.found:
                self.report.tell(part, results)

    def _steps(self, part: Part[Any], results: Results, measured: Any) -> None:
        began = time.monotonic()
        for step, result in measured:
            results.keep(step, result)
            now = time.monotonic()
            self.report.say(f"{part.name} {step}: measured in {now - began:.0f} s")
            began = now

    def _goals(self, kept: dict[str, Results]) -> dict[str, list[Any]]:
        """Goals of all parts in the folder, also of parts not measured in this run."""
        found = {}
        for part in (make() for make in PARTS):
            results = kept.get(part.name) or self.report.results(part, self.profile)
            if part.name not in kept and not results.take_up():
                self.report.say(f"{results.refusal}: its goals are left out")
            if results.found:
                found[part.name] = part.goals(results.found)
        return found


if __name__ == "__main__":
    main()
