"""Tables, pages and plots of made-up figures: what they say, and that they come."""

from pathlib import Path
from typing import Any

import pytest

from tests.bench_sampling.counting import Counted
from tests.bench_sampling.disk import OnDisk
from tests.bench_sampling.forms import QUICK
from tests.bench_sampling.hosts import ManyHosts
from tests.bench_sampling.part import Part
from tests.bench_sampling.parts.disk import DiskPart
from tests.bench_sampling.parts.hosts import HostsPart
from tests.bench_sampling.parts.resources import ResourcesPart
from tests.bench_sampling.parts.soak import SoakPart, cpu_at_pace, table_account
from tests.bench_sampling.parts.throughput import (
    ThroughputPart,
    table_5_2,
    table_5_3,
    table_missing,
)
from tests.bench_sampling.parts.ticks import TicksPart
from tests.bench_sampling.report import PAGE, Report
from tests.bench_sampling.resources import LINUX, Taken, metrics_of
from tests.bench_sampling.soak import Kill, Moment, Soaked, Stored
from tests.bench_sampling.throughput import Cell, Side
from tests.bench_sampling.ticks import Ticks
from tests.bench_sampling.usage import Usage

_PARTS = ("pmcd", "pmdaproc", "pmdalinux", "store", "bridge", "pcp2influxdb")
_USED = {name: Usage(12.5, 34.0) for name in _PARTS}


def _side(inserted: int, zeros: int, **missing: int) -> Side:
    counted = Counted(inserted, inserted // 2, zeros)
    return Side(1000, counted, 10.0, _USED, missing, 7)


CELLS = {
    "8x4x1": Cell(8, 4, 1, 125, _side(1000, 0), _side(990, 0), 300.0),
    "64x6x3": Cell(64, 6, 3, 15, _side(900, 0, late=100), _side(250, 5), 95.0),
}
MOMENTS = [Moment(n, 0.05 * n, 50.0, 100_000 * n, 0, n != 5) for n in range(20)]
SOAK = Soaked(20.0, 2, MOMENTS, [Kill("PMCD", 5000, 8000)], 100, 80, 9, 5,
              {"source down": 14}, Stored(79, 4, 1, 2, 6000, 6540))  # fmt: skip
FOUND: list[tuple[Part[Any], dict[str, Any]]] = [
    (ThroughputPart(), CELLS),
    (ResourcesPart(), {"1x10": Taken(1, 10, _USED, 41.0, 1817.0)}),
    (SoakPart(), {"soak": SOAK}),
    (TicksPart(), {"nobody": Ticks(4, 3, 2, (0.1, 3.0, 3.0, 3.0))}),
    (HostsPart(), {"10": ManyHosts(10, 5.0, 1000, 990, 49, (0.5, 1.5, 2.0), _USED)}),
    (DiskPart(), {"disk": OnDisk(1000, 10, 1000, 100.0, 400, 100)}),
]


def _cells_of(table: str) -> list[list[str]]:
    return [[c.strip() for c in row.split("|")[1:-1]] for row in table.splitlines()]


def _goals(part: Part[Any], found: dict[str, Any]) -> dict[str, list[str]]:
    rows = [figure.row() for figure in part.goals(found)]
    return {row[0]: list(row[1:4]) for row in rows}


def test_table_5_2_sets_three_side_by_side() -> None:
    header, _, calm, full = _cells_of(table_5_2(list(CELLS.values())))
    assert len(header) == len(calm) == len(full)
    found = dict(zip(header[:7], full[:7], strict=True))
    assert found == {
        **{"Hz": "64", "every ms": "15", "metrics": "6", "files": "3"},
        **{"expected": "1,000", "ours: inserted": "900", "lost %": "10.0"},
    }
    assert full[-6:] == ["90.8", "37,800", "95", "0.95", "3.60", "7"]
    assert calm[-3:-1] == ["1.00", "1.01"]  # of what was asked, the loop being faster


def test_false_zeros_are_a_share_of_what_cannot_be_zero() -> None:
    header, _, _, full = _cells_of(table_5_3(list(CELLS.values())))
    assert full[3:] == ["450", "0", "0.0", "125", "5", "4.0", "59,100", "45.1"]
    assert len(header) == len(full)


def test_what_is_missing_has_its_reason() -> None:
    cells = list(CELLS.values())
    assert _cells_of(table_missing(cells))[2:] == [["64", "6", "3", "100", "late"]]
    assert table_missing(cells[:1]) == ""


def test_goals_are_met_or_not_in_the_form_of_the_other_benchmark() -> None:
    goals = {name: row for one in FOUND for name, row in _goals(*one).items()}
    assert goals["lost below 64 Hz, worst row, 1 file a process"] == ["0", "%", "≤ 0"]
    assert goals["points at 64 Hz x 6, 3 files a process"] == ["90", "/s", "≥ 87.5"]
    disk = "bytes a point on disk, monitor set, labels and index included"
    assert goals[disk] == ["0.5", "B", "≤ 0.8"]
    # a tick that did not arrive is not in time
    ticks = "1 ms period, 8 metrics, normal: ticks within 1 ms"
    assert goals[ticks] == ["50", "%", "≥ 98"]


def test_the_soak_says_what_does_not_add_up() -> None:
    rows = dict(_cells_of(table_account(SOAK))[2:])
    assert rows["neither written nor missing nor left"] == "1"  # 100 - 80 - 14 - 5
    goals = _goals(SoakPart(), {"soak": SOAK})
    assert goals["soak of 20 s: points in the store that differ from written"][0] == "1"
    assert goals["soak of 20 s: points twice, or impossible"][0] == "3"
    # 10 ticks of 6 metrics of 2 processes: it expected too few
    assert goals["soak of 20 s: points expected"] == ["100", "", "≥ 120"]


def test_cpu_is_of_calm_stretches_and_says_when_it_is_scaled() -> None:
    assert SOAK.calm() == pytest.approx((5.0, 100_000.0))
    (measured,) = cpu_at_pace(5.0, 100_000.0)
    assert (measured.value, "SCALED" in measured.what) == (5.0, False)
    (scaled,) = cpu_at_pace(5.0, 50_000.0)
    assert (scaled.value, "SCALED from 50,000" in scaled.what) == (10.0, True)
    assert cpu_at_pace(0.0, 0.0) == []


def test_hosts_are_told_with_what_they_lost() -> None:
    (part, found) = next(one for one in FOUND if one[0].name == "hosts")
    (table,) = part.tables(found).values()
    assert _cells_of(table)[2] == [
        *("10", "1,000", "990", "1.00", "198", "12.50", "34", "12.50", "37.50"),
        *("49", "0.500", "1.500", "2.000"),
    ]


def test_every_ten_metrics_hold_some_of_processes() -> None:
    assert [len(metrics_of(n)) for n in (10, 20, 50)] == [10, 20, 50]
    proc = [sum(m.startswith("proc.") for m in metrics_of(n)) for n in (10, 40, 50)]
    assert proc == [1, 4, 6]
    assert len(set(metrics_of(50))) == 50 and len(LINUX) == 44


def test_pages_and_plots_are_written_part_by_part(tmp_path: Path) -> None:
    report = Report(tmp_path / "out")
    for part, found in FOUND:
        results = report.results(part, QUICK)
        for step, result in found.items():
            results.keep(step, result)
        report.tell(part, results)
    report.goals({part.name: part.goals(found) for part, found in FOUND})
    for part, found in FOUND:
        page = (tmp_path / "out" / f"{part.name}.md").read_text()
        assert page.startswith(f"# {part.title}\n")
        for name in part.plots(found):
            assert f"({name})" in page and (tmp_path / "out" / name).exists()
        assert f"({part.name}.md)" in (tmp_path / "out" / PAGE).read_text()


def test_a_plot_of_the_same_figures_is_the_same_file(tmp_path: Path) -> None:
    draw = ThroughputPart().plots(CELLS)["throughput.svg"]
    for name in ("a.svg", "b.svg"):
        draw(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
