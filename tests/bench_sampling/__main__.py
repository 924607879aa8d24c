"""`make bench-sampling`: sampling beside pcp2influxdb, and at the machine's limit.

The quick form prints; ``--full`` takes hours and writes docs/benchmarks/.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench_sampling import thesis
from tests.bench_sampling.cost import measure_cost
from tests.bench_sampling.disk import OnDisk, measure_disk
from tests.bench_sampling.ground import Ground, open_ground
from tests.bench_sampling.idle import idle_processes
from tests.bench_sampling.report import Report
from tests.bench_sampling.tables import (
    table_5_2,
    table_5_3,
    table_goals,
    table_missing,
    table_usage,
)
from tests.bench_sampling.throughput import Cell, Race
from tests.bench_sampling.ticks import Ticks, measure_ticks
from tests.servers import ROOT

PROCESSES = 1_000
_ALL = [(hertz, number) for hertz in thesis.FREQUENCIES for number in thesis.METRICS]


@dataclass(frozen=True)
class Form:
    """How much is measured, in seconds: a row, CPU and memory, ticks, the disk."""

    rows: Sequence[tuple[int, int]]
    row: float
    cost: float
    ticks: int
    disk: float
    disk_period_ms: int


QUICK = Form([(8, 4), (16, 6), (32, 6), (64, 6)], 6.0, 30.0, 10, 60.0, 100)
FULL = Form(_ALL, 10.0, 1800.0, 120, 3600.0, 1000)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("bench_sampling", description=__doc__)
    parser.add_argument("--full", action="store_true", help="all of it, for hours")
    full = parser.parse_args(arguments).full
    # So that nothing is left behind: without this it would end on the spot.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    form, report = (
        (FULL, Report(ROOT / "docs/benchmarks")) if full else (QUICK, Report())
    )
    with (
        tempfile.TemporaryDirectory(prefix="supertwin-bench-") as folder,
        open_ground(Path(folder)) as ground,
    ):
        measure(ground, form, report)


def measure(ground: Ground, form: Form, report: Report) -> None:
    """Every part, its table told as soon as it is there."""
    with idle_processes(PROCESSES) as pids:
        cells = _cells(Race(ground, pids, form.row), form, report)
        cost = measure_cost(ground, form.cost, report.say)
    report.memory(cost)
    ticks = _ticks(ground, form, report)
    disk = measure_disk(ground, form.disk, form.disk_period_ms)
    report.section("On disk", _told(disk))
    report.section("Goals", table_goals(cells, cost, ticks, disk))


def _cells(race: Race, form: Form, report: Report) -> list[Cell]:
    cells = []
    for hertz, number in form.rows:
        began = time.monotonic()
        cells.append(race.cell(hertz, number))
        took = time.monotonic() - began
        report.say(f"{hertz} Hz, {number} metrics: measured in {took:.0f} s")
    report.section("Table 5.2", table_5_2(cells))
    report.section("Table 5.3: false zeros", table_5_3(cells))
    report.section("What the bridge says is missing", table_missing(cells))
    report.section("Figures 5.1 to 5.4: CPU and memory", table_usage(cells))
    report.cells(cells)
    return cells


def _ticks(ground: Ground, form: Form, report: Report) -> list[Ticks]:
    runs = [("normal", "nobody")]
    if _may_be_first():
        runs += [("bridge SCHED_FIFO", "bridge")]
        runs += [("bridge and PMCD SCHED_FIFO", "all")]
    else:
        report.say("no SCHED_FIFO: it takes root, or CAP_SYS_NICE")
    return [measure_ticks(ground, title, form.ticks, who) for title, who in runs]


def _may_be_first() -> bool:
    """Whether this user may give real-time priorities."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True


def _told(disk: OnDisk) -> str:
    return (
        f"{disk.points:,} points of {disk.series} series, every {disk.period_ms} ms "
        f"for {disk.seconds:,.0f} s: {disk.bytes_of_points:,} bytes of points, "
        f"{disk.bytes_of_index:,} of labels and index."
    )


if __name__ == "__main__":
    main()
