"""Tables, pages and plots of made-up figures: their contents, and that they exist."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.sampling.busy import Kept
from bench.sampling.counting import Counted
from bench.sampling.disk import OnDisk
from bench.sampling.hosts import ManyHosts
from bench.sampling.part import Part
from bench.sampling.parts.busy import BusyPart
from bench.sampling.parts.disk import DiskPart, table_predicted
from bench.sampling.parts.hosts import HostsPart
from bench.sampling.parts.processes import Delivered, ProcessesPart
from bench.sampling.parts.resources import ResourcesPart
from bench.sampling.parts.soak import SoakPart, cpu_at_pace, table_account, table_kills
from bench.sampling.parts.throughput import (
    ThroughputPart,
    table_5_2,
    table_5_3,
    table_missing,
)
from bench.sampling.parts.ticks import TicksPart
from bench.sampling.predicted import Comparison, Predicted, Spent, compared
from bench.sampling.profiles import QUICK
from bench.sampling.report import PAGE, Report
from bench.sampling.resources import LINUX, Taken, metrics_of
from bench.sampling.soak import Moment, Soaked
from bench.sampling.stored import Kill, Stored
from bench.sampling.throughput import Cell, Side
from bench.sampling.ticks import Ticks
from bench.sampling.usage import Usage
from sampling.cost.estimate import DAY
from tests.sampling.cost.calibrations import (
    BYTES_A_BLOCK,
    BYTES_A_POINT,
    LABELS,
    calibration,
    load,
    measured,
)

_PARTS = ("pmcd", "pmdaproc", "pmdalinux", "store", "bridge", "pcp2influxdb")
_USED = {name: Usage(12.5, 34.0) for name in _PARTS}


def _side(inserted: int, zeros: int, **missing: int) -> Side:
    counted = Counted(inserted, inserted // 2, zeros)
    return Side(1000, counted, 10.0, _USED, missing, 7)


CELLS = {
    "8x4x1": Cell(8, 4, 1, 125, _side(1000, 0), _side(990, 0), 300.0),
    "64x6x3": Cell(64, 6, 3, 15, _side(900, 0, late=100), _side(250, 5), 95.0),
}
MOMENTS = [
    Moment(n, 0.05 * n, 50.0, 100_000 * n, 0, n != 5, 1000 * n, 7 * n, 1_000_000 * n,
           6000 + 60 * n, 14 if n > 7 else 0)
    for n in range(20)
]  # fmt: skip
KILLS = [Kill("PMCD", 4500, 4900), Kill("the store", 9500, 19_500)]
SOAK = Soaked(20.0, MOMENTS, KILLS, 100, 80, 9, 5, {"source down": 14},
              Stored(79, 4, 1, 2, 6000, 7140, 1, [(6420, 5), (6480, 9), (7020, 9)])
              )  # fmt: skip
COST = Predicted(
    [
        Comparison("CPU of bridge", "%", 1.5, 1.0, 2.0, 1.2),
        Comparison("disk", "kB", 9, 8, 9, 7),
    ],
    3.0,
)
FOUND: list[tuple[Part[Any], dict[str, Any]]] = [
    (ThroughputPart(), CELLS),
    (
        ProcessesPart(),
        {
            "64 Hz, PCP": Delivered(64, _side(400, 0)),
            "64 Hz, kernel": Delivered(64, _side(1000, 0)),
        },
    ),
    (ResourcesPart(), {"1x10": Taken(1, 10, _USED, 41.0, 1817.0)}),
    (SoakPart(), {"soak": SOAK}),
    (TicksPart(), {"nobody": Ticks(4, 3, 2, (0.1, 3.0, 3.0, 3.0))}),
    (
        BusyPart(),
        {
            "10 ms, normal, run 1": Kept(4, 2, 1, (4.0, 9.0, 9.0)),
            "10 ms, realtime, run 1": Kept(4, 4, 4, (0.1, 0.2, 0.2)),
            "10 ms, realtime, run 2": Kept(4, 4, 3, (0.1, 6.0, 6.0)),
        },
    ),
    (HostsPart(), {"10": ManyHosts(10, 5.0, 1000, 990, 49, (0.5, 1.5, 2.0), _USED)}),
    (DiskPart(), {"disk": OnDisk(1000, 10, 1000, 100.0, 400, 100, COST)}),
]


def _cells_of(table: str) -> list[list[str]]:
    return [[c.strip() for c in row.split("|")[1:-1]] for row in table.splitlines()]


def _goals(part: Part[Any], found: dict[str, Any]) -> dict[str, list[str]]:
    rows = [figure.row() for figure in part.goals(found)]
    return {row[0]: list(row[1:4]) for row in rows}


def test_table_5_2_compares_three_samplers() -> None:
    header, _, calm, full = _cells_of(table_5_2(list(CELLS.values())))
    assert len(header) == len(calm) == len(full)
    found = dict(zip(header[:7], full[:7], strict=True))
    assert found == {
        **{"Hz": "64", "every ms": "15", "metrics": "6", "files": "3"},
        **{"expected": "1,000", "ours: inserted": "900", "lost %": "10.0"},
    }
    assert full[-6:] == ["90.8", "37,800", "95", "0.95", "3.60", "7"]
    assert calm[-3:-1] == ["1.00", "1.01"]  # of the request, as the loop is faster


def test_false_zeros_are_a_share_of_what_cannot_be_zero() -> None:
    header, _, _, full = _cells_of(table_5_3(list(CELLS.values())))
    assert full[3:] == ["450", "0", "0.0", "125", "5", "4.0", "59,100", "45.1"]
    assert len(header) == len(full)


def test_missing_points_have_their_reason() -> None:
    cells = list(CELLS.values())
    assert _cells_of(table_missing(cells))[2:] == [["64", "6", "3", "100", "late"]]
    assert table_missing(cells[:1]) == ""


def test_goals_have_the_format_of_the_other_benchmark() -> None:
    goals = {name: row for one in FOUND for name, row in _goals(*one).items()}
    assert goals["lost below 64 Hz, worst row, 1 file a process"] == ["0", "%", "≤ 0"]
    assert goals["points at 64 Hz x 6, 3 files a process"] == ["90", "/s", "≥ 87.5"]
    lost = "processes at 64 Hz, from the kernel: lost"
    assert goals[lost] == ["0", "%", "≤ 0"]
    disk = "bytes a point on disk, monitor set, labels and index included"
    assert goals[disk] == ["0.5", "B", "≤ 0.8"]
    # a tick that did not arrive is not in time
    ticks = "1 ms period, 8 metrics, normal: ticks within 1 ms"
    assert goals[ticks] == ["50", "%", "≥ 98"]
    # the worst run counts, and normal priority has no goal
    busy = "10 ms period, 4 busy loops, real time: ticks kept"
    assert goals[busy] == ["75", "%", "≥ 99.9"]


def test_soak_reports_points_that_do_not_add_up() -> None:
    rows = dict(_cells_of(table_account(SOAK))[2:])
    assert rows["neither written nor missing nor left"] == "1"  # 100 - 80 - 14 - 5
    goals = _goals(SoakPart(), {"soak": SOAK})
    assert goals["soak of 20 s: points in the store that differ from written"][0] == "1"
    assert goals["soak of 20 s: points twice, or impossible"][0] == "3"
    # The account misses no point of the third absent tick; a tick is 79 / 17 points.
    assert SOAK.ticks() == [*[(0, 0)] * 6, *[(2, 2)] * 8, *[(3, 1)] * 3]
    name = "ticks that store and account differ by, worst look"
    assert goals[f"soak of 20 s: {name}"] == ["2", "", "≤ 0"]
    name = "points that some idle processes lack, and others have"
    assert goals[f"soak of 20 s: {name}"] == ["1", "", "≤ 0"]


def test_points_of_series_without_a_name_do_not_add_up_to_a_tick() -> None:
    """At each absent tick, one more point is missing than the store had before it."""
    stamps = range(6060, 7020, 120)
    stored = replace(SOAK.stored, absent=[(stamp, 9) for stamp in stamps])
    moments = [m._replace(missed=10 * min((n + 1) // 2, 8)) for n, m in
               enumerate(MOMENTS)]  # fmt: skip
    found = replace(SOAK, moments=moments, stored=stored).ticks()
    assert found == [*[(n, n) for n in range(1, 8)], *[(8, 8)] * 5]


def test_memory_growth_is_judged_by_its_confidence_bound() -> None:
    """A noisy run does not get an easier goal, and a short run has none."""
    name = "bridge: growth of memory, at most (95 %)"
    assert _goals(SoakPart(), {"soak": SOAK})[name] == ["0", "MB/h", ""]
    grown = [m._replace(rss=50.0 + m.at / 100 + m.at % 3) for m in MOMENTS]
    found = replace(SOAK, seconds=1800.0, moments=grown)
    value, _, goal = _goals(SoakPart(), {"soak": found})[name]
    growth = found.growth()
    assert goal == "≤ 20" and float(value.replace(",", "")) > 36 + growth.within / 2
    assert growth.number == 17  # moments that are not calm are left out


def test_each_kill_reports_waiting_points_and_recovery_time() -> None:
    rows = _cells_of(table_kills(SOAK))[2:]
    assert rows == [
        ["PMCD", "0.4", "63", "9", "1"],  # not calm after 5 s, calm after 6
        ["the store", "10.0", "133", "19", "never"],
    ]


def test_cpu_is_from_calm_intervals_and_marked_when_scaled() -> None:
    assert SOAK.calm() == pytest.approx((5.0, 100_000.0))
    (measured,) = cpu_at_pace(5.0, 100_000.0)
    assert (measured.value, "SCALED" in measured.what) == (5.0, False)
    (scaled,) = cpu_at_pace(5.0, 50_000.0)
    assert (scaled.value, "SCALED from 50,000" in scaled.what) == (10.0, True)
    assert cpu_at_pace(0.0, 0.0) == []


def test_predictions_are_listed_next_to_measurements() -> None:
    rows = _cells_of(table_predicted(COST).partition("\n\n")[0])[2:]
    assert rows == [
        ["CPU of bridge", "%", "1.5", "1 to 2", "1.2", "yes"],
        ["disk", "kB", "9", "8 to 9", "7", "no"],
    ]
    assert table_predicted(None) == ""


@pytest.mark.parametrize(("times", "within"), [(1, True), (2, False)])
def test_run_with_calibrated_cost_is_within_prediction(
    times: float, within: bool
) -> None:
    """The calibration's machine has no noise, and exactly these coefficients."""
    asked = load(10, 2000, 2000, 200)
    run = measured("", asked)
    cpu = {"pmcd": run.cpu["pmcd"], "pmdalinux": run.cpu["linux"]}
    cpu |= {"pmdaproc": run.cpu["proc"], "bridge": run.cpu["bridge"]}
    usage = {name: Usage(times * of, run.rss["bridge"] / 1e6 * times)
             for name, of in {**cpu, "store": run.cpu["store"]}.items()}  # fmt: skip
    usage["store"] = usage["store"]._replace(rss=times * run.rss["store"] / 1e6)
    found = compared(calibration(), asked, _spent(usage, times))
    assert {one.what: one.within for one in found.figures} == dict.fromkeys(
        [
            *("CPU of PMCD and agents", "CPU of bridge", "memory of bridge"),
            *("CPU of store", "memory of store", "disk, this run", "disk, a day"),
        ],
        within,
    )


def _spent(usage: dict[str, Usage], times: float) -> Spent:
    """A day of 2,000 points a second in as many series."""
    points = 2000 * DAY
    bytes_of_points = times * (BYTES_A_POINT + BYTES_A_BLOCK / 8192) * points
    labels = int(times * LABELS * 2000)
    return Spent(points, 2000, DAY, int(bytes_of_points), labels, usage)


def test_table_of_hosts_shows_their_losses() -> None:
    (part, found) = next(one for one in FOUND if one[0].name == "hosts")
    (table,) = part.tables(found).values()
    assert _cells_of(table)[2] == [
        *("10", "1,000", "990", "1.00", "198", "12.50", "34", "12.50", "37.50"),
        *("49", "0.500", "1.500", "2.000"),
    ]


def test_every_ten_metrics_include_process_metrics() -> None:
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


def test_equal_figures_give_equal_plot_files(tmp_path: Path) -> None:
    draw = ThroughputPart().plots(CELLS)["throughput.svg"]
    for name in ("a.svg", "b.svg"):
        draw(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
