"""Overhead on applications: order, pairs, intervals, tables, and the noise loop."""

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from bench.sampling.applications import hpl_input, lacking
from bench.sampling.overhead import (
    AGAIN,
    NOTHING,
    Cell,
    Run,
    Stretch,
    rounded,
    step_names,
    stretches,
)
from bench.sampling.parts import sensors
from bench.sampling.parts.overhead import (
    AIM,
    OverheadPart,
    cells_of,
    quantile,
    table_noise,
    table_overhead,
)
from bench.sampling.profiles import FULL, QUICK
from bench.sampling.slowdown import labels, longer, overall
from bench.sampling.usage import Usage

CELLS = cells_of(FULL.overhead)
_USED = {name: Usage(2.0, 50.0) for name in ("pmcd", "pmdalinux", "store", "bridge")}


def test_times_of_the_noise_loop_are_kept_in_steps_of_two_percent() -> None:
    pieces = {1: 1, 105: 2, 106: 3, 20_000: 4}
    kept = rounded(pieces)
    assert kept.total() == 10
    assert all(any(abs(k / us - 1) <= 0.01 for k in kept) for us in pieces)
    assert len(rounded(dict.fromkeys(range(1000, 2000), 1))) == 36


def _run(cell: str, triad: float, ep: float) -> Run:
    return Run(cell, {"triad": triad, "ep": ep}, {100: 9, 200: 1}, _USED, 99.0)


SLOW = Cell(1000, metrics=8)
FAST = Cell(1, metrics=24, shipped=False)
FOUND = [
    Stretch([_run(SLOW.label, 1.01, 2.0), _run(NOTHING, 1.0, 2.0)]),
    Stretch([_run(NOTHING, 2.0, 4.0), _run(AGAIN, 2.0, 4.0)]),
    Stretch([_run(NOTHING, 3.0, 1.0), _run(SLOW.label, 3.03, 1.0)]),
    Stretch([_run(FAST.label, 3.0, 1.0), _run(NOTHING, 3.0, 1.0)]),
]


def test_repetition_has_every_cell_and_a_baseline_in_each_part() -> None:
    drawn = stretches(CELLS, 4, 1)
    met = Counter(cell for stretch in drawn for cell in stretch)
    assert met.pop(NOTHING) == len(drawn) == 7
    assert met.pop(AGAIN) == 1
    assert met == Counter(cell for cell in CELLS if cell)


def test_order_is_random_and_reproducible() -> None:
    orders = [stretches(CELLS, 4, repetition) for repetition in range(1, 6)]
    assert stretches(CELLS, 4, 3) == orders[2]
    assert all(a != b for a, b in zip(orders, orders[1:], strict=False))
    places = {stretch.index(NOTHING) for order in orders for stretch in order}
    assert places == {0, 1, 2, 3, 4}  # NOTHING is not always first


def test_steps_name_repetition_and_part() -> None:
    assert step_names(CELLS[:3], 2, 2) == ["1.1", "1.2", "2.1", "2.2"]
    assert len(OverheadPart().steps(FULL)) == 7 * 30


def test_number_of_runs_is_not_part_of_the_settings() -> None:
    part = OverheadPart()
    assert part.settings(FULL.with_runs(3)) == part.settings(FULL)
    assert part.settings(QUICK) != part.settings(FULL)


def test_cells_cover_all_required_combinations() -> None:
    wanted = {(c.period_ms, c.metrics, c.shipped) for c in CELLS if c and c.metrics}
    assert len(wanted) == 4 * 3 * 2 and None in CELLS and AIM in CELLS
    grid = sensors.cells_of(FULL.sensors)
    assert len([cell for cell in grid if cell]) == 25


def test_cell_is_compared_with_the_baseline_of_its_part() -> None:
    triad = longer(FOUND, SLOW.label, "triad")
    assert triad and triad.value == pytest.approx(1.0) and triad.number == 2
    both = overall(FOUND, SLOW.label)
    assert both and both.value == pytest.approx(100 * (math.sqrt(1.01) - 1))
    assert overall(FOUND, "4 metrics every 7 ms") is None


def test_table_has_one_row_per_cell_slowest_first() -> None:
    assert labels(FOUND) == [AGAIN, SLOW.label, FAST.label]
    lines = table_overhead(FOUND).splitlines()
    assert "triad" in lines[0] and "0.50 ± 0.00" in lines[3]
    assert "nan" not in table_overhead(FOUND)


def test_noise_is_counted_over_all_runs() -> None:
    lines = table_noise(FOUND).splitlines()
    cells = [cell.strip() for cell in lines[2].split("|")[1:-1]]
    assert cells[:6] == [NOTHING, "40", "100", "200", "200", "200"]
    assert float(cells[6]) == pytest.approx(100 * (1 - 1000 / 1100), abs=0.01)
    assert quantile({1: 50, 2: 49, 9: 1}, 0.5) == 1
    assert quantile({1: 50, 2: 49, 9: 1}, 0.99) == 2


def test_noise_run_is_compared_with_its_quickest_piece() -> None:
    """A run on a processor half as fast loses no more than the other."""
    runs = [replace(FOUND[0].runs[1], noise=noise) for noise in ({100: 9}, {200: 7})]
    line = table_noise([Stretch([run]) for run in runs]).splitlines()[2]
    assert line.split("|")[-2].strip() == "0.00"


def test_plots_are_written(tmp_path: Path) -> None:
    found = {str(n): stretch for n, stretch in enumerate(FOUND)}
    for name, draw in OverheadPart().plots(found).items():
        draw(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000


def test_grid_has_one_row_per_number_of_series(tmp_path: Path) -> None:
    some = [
        Cell(period_ms, series=n) for period_ms in (1000, 100) for n in (10, 10_000)
    ]
    runs = [_run(cell.label, 1.0, 1.0) for cell in some]
    found = {"1.1": Stretch([*runs, _run(NOTHING, 1.0, 1.0)])}
    part = sensors.SensorsPart()
    table = part.tables(found)["CPU of the bridge, % of a core"].splitlines()
    assert [c.strip() for c in table[0].split("|")[1:-1]] == [
        *("series", "1000 ms", "100 ms")
    ]
    assert [c.strip() for c in table[3].split("|")[1:-1]] == ["10,000", "2.00", "2.00"]
    part.plots(found)["sensors.svg"](tmp_path / "sensors.svg")


def test_missing_programs_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert lacking(["triad", "hpl", "ep"]) == {
        **{"triad": "likwid-bench", "hpl": "hpcc and mpirun", "ep": "gcc"}
    }
    found = OverheadPart().tables({"1.1": FOUND[0]})["Not measured"]
    assert "- hpl: there is no hpcc and mpirun" in found and "triad" not in found


def test_hpl_gets_a_grid_of_all_processes() -> None:
    lines = hpl_input(2500, 6).splitlines()
    assert (lines[5], lines[10], lines[11]) == ("2500", "2", "3")
