"""Tables and plots of made-up figures: what they say, and that they can be drawn."""

from pathlib import Path

import numpy as np

from tests.bench_sampling.cost import Cost
from tests.bench_sampling.counting import Counted
from tests.bench_sampling.disk import OnDisk
from tests.bench_sampling.plots import plot_throughput
from tests.bench_sampling.report import PAGE, Report
from tests.bench_sampling.tables import (
    table_5_2,
    table_5_3,
    table_goals,
    table_missing,
    table_usage,
)
from tests.bench_sampling.throughput import Cell, Side
from tests.bench_sampling.ticks import Ticks
from tests.bench_sampling.usage import Usage

_PARTS = ("pmcd", "pmdaproc", "pmdalinux", "store", "bridge", "pcp2influxdb")
_USED = {name: Usage(12.5, 34.0) for name in _PARTS}


def _side(inserted: int, zeros: int, **missing: int) -> Side:
    counted = Counted(inserted, inserted // 2, zeros)
    return Side(1000, counted, 10.0, _USED, missing)


CELLS = [
    Cell(8, 4, 125, _side(1000, 0), _side(990, 0), 300.0),
    Cell(64, 6, 15, _side(900, 0, late=100), _side(250, 5), 95.0),
]
COST = Cost(6.0, 120_000, [(float(n), 50.0 + n) for n in range(60)], {})
TICKS = [Ticks("normal", 4, np.array([0.1, -0.2, 3.0]))]
DISK = OnDisk(1000, 10, 1000, 100.0, 400, 900)


def _cells_of(table: str) -> list[list[str]]:
    return [[c.strip() for c in row.split("|")[1:-1]] for row in table.splitlines()]


def test_table_5_2_sets_three_side_by_side() -> None:
    header, _, calm, full = _cells_of(table_5_2(CELLS))
    assert len(header) == len(calm) == len(full)
    found = dict(zip(header[:6], full[:6], strict=True))
    assert found == {
        **{"Hz": "64", "every ms": "15", "metrics": "6", "expected": "1,000"},
        **{"ours: inserted": "900", "lost %": "10.0"},
    }
    assert full[-5:] == ["90.8", "37,800", "95", "0.95", "3.60"]
    assert calm[-2:] == ["1.00", "1.01"]  # of what was asked, the loop being faster


def test_false_zeros_are_a_share_of_what_cannot_be_zero() -> None:
    header, _, _, full = _cells_of(table_5_3(CELLS))
    assert full[2:] == ["450", "0", "0.0", "125", "5", "4.0", "59,100", "45.1"]
    assert len(header) == len(full)


def test_what_is_missing_has_its_reason() -> None:
    assert _cells_of(table_missing(CELLS))[2:] == [["64", "6", "100", "late"]]
    assert table_missing(CELLS[:1]) == ""
    assert "12.5" in table_usage(CELLS)


def test_goals_are_met_or_not_in_the_form_of_the_other_benchmark() -> None:
    rows = {row[0]: row for row in _cells_of(table_goals(CELLS, COST, TICKS, DISK))}
    assert rows["bridge: CPU of one core at 100,000 points/s"][1:4] == ["5", "%", "≤ 8"]
    assert rows["bytes a point on disk, monitor set"][1] == "0.4"
    ticks = rows["1 ms period, 8 metrics, normal: ticks within 1 ms"]
    assert ticks[1:4] == ["50", "%", "≥ 98"]  # one that did not arrive is not in time


def test_page_and_plots_are_written_as_they_come(tmp_path: Path) -> None:
    report = Report(tmp_path / "out")
    report.section("Table 5.2", table_5_2(CELLS))
    report.cells(CELLS)
    report.memory(COST)
    page = (tmp_path / "out" / PAGE).read_text()
    pictures = {path.name for path in (tmp_path / "out").glob("*.svg")}
    assert len(pictures) == 4
    assert all(f"({name})" in page for name in pictures)
    assert page.count("\n## ") == 1


def test_a_plot_of_the_same_figures_is_the_same_file(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        plot_throughput(CELLS, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
