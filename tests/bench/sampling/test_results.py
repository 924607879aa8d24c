"""Results are saved step by step; means and slopes have correct intervals."""

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from bench.sampling import __main__ as command
from bench.sampling.__main__ import main
from bench.sampling.busy import kept
from bench.sampling.disk import OnDisk
from bench.sampling.overhead import Run, Stretch
from bench.sampling.parts.disk import DiskPart
from bench.sampling.parts.overhead import OverheadPart
from bench.sampling.parts.ticks import TicksPart
from bench.sampling.profiles import FULL, QUICK
from bench.sampling.report import Report
from bench.sampling.results import Results
from bench.sampling.stats import Estimate, changes, mean, slope, t_975, typical
from bench.sampling.ticks import Ticks, count_ticks
from bench.sampling.usage import Usage
from tests.servers import ROOT

TICKS = Ticks(8000, 8000, 7990, (0.1, 0.2, 0.3, 0.4))
DISK = OnDisk(1000, 10, 100, 45.0, 400, 100)
STRETCH = Stretch(
    [Run("nothing", {"ep": 1.5}, {122: 7}, {"pmcd": Usage(1.0, 2.0)}, 100.0)]
)


def test_measured_steps_are_resumed(tmp_path: Path) -> None:
    path = tmp_path / "overhead.json"
    Results(OverheadPart(), FULL, path).keep("1.1", STRETCH)
    again = Results(OverheadPart(), FULL.with_runs(40), path)
    again.resume()
    assert again.found == {"1.1": STRETCH}
    again.keep("1.2", STRETCH)
    again.keep("1.3", STRETCH)
    third = Results(OverheadPart(), FULL, path)
    third.resume()
    assert list(third.found) == ["1.1", "1.2", "1.3"]
    assert [run["steps"] for run in third.machines] == [1, 2]
    assert not list(tmp_path.glob("*.new"))


def test_without_resume_a_part_starts_from_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "ticks.json"
    Results(TicksPart(), QUICK, path).keep("nobody", TICKS)
    again = Results(TicksPart(), QUICK, path)
    again.keep("bridge", TICKS)
    kept = Results(TicksPart(), QUICK, path)
    kept.resume()
    assert list(kept.found) == ["bridge"]


def test_changed_settings_start_a_new_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Report(tmp_path).results(TicksPart(), FULL).keep("nobody", TICKS)
    with pytest.raises(SystemExit) as ended:
        main(["--only", "ticks", "--resume", "--out", str(tmp_path)])
    assert ended.value.code == 2
    printed = capsys.readouterr().err
    assert "ticks.json was measured with other settings" in printed
    assert printed.count("\n") == 1


def test_damaged_file_cannot_be_resumed(tmp_path: Path) -> None:
    path = tmp_path / "ticks.json"
    Results(TicksPart(), QUICK, path).keep("nobody", TICKS)
    text = path.read_text()
    for damaged in (text[:-9], text.replace("8000", '"many"'), "[]"):
        path.write_text(damaged)
        results = Results(TicksPart(), QUICK, path)
        assert not results.take_up() and not results.found


@pytest.mark.parametrize("words", [["--runs", "0"], ["--only", "everything"]])
def test_invalid_arguments_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2


def test_complete_part_is_reported_without_measuring(tmp_path: Path) -> None:
    """Nothing is started: the saved steps become tables again."""
    first, *others = TicksPart().steps(QUICK)
    Report(tmp_path).results(TicksPart(), QUICK).keep(first, TICKS)
    results = Report(tmp_path).results(TicksPart(), QUICK)
    results.resume()
    for step in others:
        results.keep(step, TICKS)
    main(["--only", "ticks", "--resume", "--out", str(tmp_path)])
    page = (tmp_path / "ticks.md").read_text()
    assert "8,000" in page
    assert re.findall(r"^- (\d steps?), 20.*, commit ", page, re.MULTILINE) == [
        "1 step",
        f"{len(others)} steps",
    ]
    assert "99.9" in (tmp_path / "sampling.md").read_text()


def test_goals_of_a_part_with_other_settings_are_omitted_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = Report(tmp_path)
    report.results(DiskPart(), QUICK).keep("disk", DISK)
    results = report.results(TicksPart(), FULL)
    for step in TicksPart().steps(FULL):
        results.keep(step, TICKS)
    main(["--full", "--only", "ticks", "--resume", "--out", str(tmp_path)])
    printed = [
        line for line in capsys.readouterr().out.splitlines() if "left out" in line
    ]
    (line,) = printed
    assert line.startswith(f"{tmp_path / 'disk.json'} was measured with other settings")
    assert "disk" not in (tmp_path / "sampling.md").read_text()


class Broken(TicksPart):
    """A part that fails after its first step."""

    name = "ticks"

    def measure(self, *_: object) -> Iterator[tuple[str, Ticks]]:
        yield "nobody", TICKS
        raise RuntimeError("it broke")


def test_failed_part_keeps_its_steps_and_affects_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Report(tmp_path).results(DiskPart(), QUICK)
    whole.keep("disk", DISK)
    monkeypatch.setattr(command, "PARTS", (Broken, DiskPart))
    with pytest.raises(SystemExit, match="not measured: ticks"):
        main(["--resume", "--out", str(tmp_path)])
    kept = Report(tmp_path).results(TicksPart(), QUICK)
    kept.resume()
    assert list(kept.found) == ["nobody"]
    assert "8,000" in (tmp_path / "ticks.md").read_text()
    assert "disk" in (tmp_path / "sampling.md").read_text()


def test_every_part_is_documented() -> None:
    page = (ROOT / "docs/benchmarks.md").read_text()
    assert not [p.name for p in command.PARTS if f"| `{p.name}` |" not in page]


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "docs/benchmarks").glob("*.json")),
    ids=lambda path: path.stem,
)
def test_every_saved_table_has_commit_and_date(path: Path) -> None:
    page = (ROOT / "docs/benchmarks.md").read_text()
    for run in json.loads(path.read_text())["machines"]:
        link = f"[{path.stem}](benchmarks/{path.stem}.md)"
        assert f"| {link} | {run['commit']} | {run['date']} |" in page


def test_published_plots_are_small() -> None:
    plots = list((ROOT / "docs").rglob("*.svg"))
    assert plots
    assert not [plot for plot in plots if plot.stat().st_size > 100_000]


def test_students_t_is_that_of_the_tables() -> None:
    published = {1: 12.706, 5: 2.571, 10: 2.228, 11: 2.201, 29: 2.045, 120: 1.980}
    for freedom, value in published.items():
        assert t_975(freedom) == pytest.approx(value, abs=0.001)


def test_mean_has_its_interval() -> None:
    found = mean([9.0, 10.0, 11.0])
    assert found.value == 10 and found.within == pytest.approx(4.303 / math.sqrt(3))
    assert math.isnan(mean([1.0]).within) and str(mean([1.0])) == "1.00"


def test_pseudo_median_has_wilcoxons_interval() -> None:
    assert typical([1.0, 2.0, 4.0]).value == pytest.approx(2.25)  # of 1 1.5 2 2.5 3 4
    assert math.isnan(typical([1.0, 2.0, 3.0, 4.0, 5.0]).within)
    # Published critical values of the signed-rank test, two-sided 5 %: 0, 8, 137.
    for number, critical in ((6, 0), (10, 8), (30, 137)):
        values = [2.0**n for n in range(number)]
        means = sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])
        found = typical(values)
        assert (found.low, found.high) == (means[critical], means[-critical - 1])
    assert str(typical([2.0**n for n in range(6)])) == "8.50 (1.00 to 32.00)"


def test_outliers_do_not_hide_a_change() -> None:
    quiet = np.random.default_rng(6).normal(1.0, 0.1, 30).tolist()
    found = typical([*quiet[:27], 60.0, 70.0, -50.0])
    assert found.low < 1.0 < found.high < found.low + 0.2
    assert mean([*quiet, 60.0]).within > 1


@pytest.mark.parametrize(("of", "number"), [(mean, 5), (typical, 10)])
def test_intervals_cover_the_truth_at_their_confidence(
    of: Callable[[Sequence[float]], Estimate], number: int
) -> None:
    drawn = np.random.default_rng(5)
    hits = 0
    for _ in range(2000):
        found = of(drawn.normal(3.0, 1.0, number).tolist())
        hits += found.low <= 3.0 <= found.high
    assert 0.93 < hits / 2000 < 0.98


def test_noise_is_not_a_change() -> None:
    there_and_back = changes([math.log(2.0), math.log(0.5)])
    assert there_and_back.value == pytest.approx(0.0)
    assert changes([math.log(1.01)] * 3).value == pytest.approx(1.0)


def test_slope_has_its_interval() -> None:
    times = np.arange(0.0, 1.0, 0.001)
    drawn = np.random.default_rng(1).normal(0.0, 1.0, 1000)
    flat, steep = slope(times, drawn), slope(times, 5 * times + drawn)
    assert abs(flat.value) < flat.within
    assert abs(steep.value - 5) < steep.within < 1.5
    assert steep.number == 30


def test_tick_is_in_time_within_one_millisecond() -> None:
    found = count_ticks(5, np.array([0.2, -1.0, 1.01, 0.0]))
    assert (found.due, found.arrived, found.within) == (5, 4, 3)
    assert found.in_time == 60 and found.off[-1] == 1.01
    assert count_ticks(5, np.zeros(0)).in_time == 0


def test_tick_is_kept_within_half_a_period() -> None:
    found = kept(5, np.array([0.2, -5.0, 5.01, 0.0]), 10)
    assert (found.due, found.arrived, found.kept, found.share) == (5, 4, 3, 60)
    assert kept(5, np.zeros(0), 10).share == 0
