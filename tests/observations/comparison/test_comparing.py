"""Comparison of groups, from rows as the saved queries give them."""

from typing import Any

from observations.comparison.compare import VerdictWord
from observations.comparison.comparing import RunGroup, compare


def run(number: int, seconds: float, outcome: str = "completed") -> dict[str, Any]:
    return {"run": f"r{number}", "seconds": seconds, "outcome": outcome}


def figure(number: int, total: float | None, mean: float = 1.0) -> dict[str, Any]:
    return {"run": f"r{number}", "total": total, "mean": mean, "unit": None}


def group(seconds: list[float], figures: dict[Any, Any] | None = None) -> RunGroup:
    return RunGroup("g", [run(*each) for each in enumerate(seconds)], figures or {}, {})


def test_first_group_is_the_reference() -> None:
    found = compare([group([2, 2.1, 1.9]), group([1, 1.1, 0.9]), group([3, 3.1, 2.9])])
    (duration,) = found.measures
    assert [v.word for v in duration.verdicts if v] == [
        VerdictWord.BETTER,
        VerdictWord.WORSE,
    ]


def test_interrupted_runs_are_ignored() -> None:
    quick = RunGroup("g", [run(0, 2.0), run(1, 2.1), run(2, 0.1, "killed")], {}, {})
    assert quick.durations == [2.0, 2.1]
    (duration,) = compare([group([2, 2.1, 1.9]), quick]).measures
    assert [v.word for v in duration.verdicts if v] == [VerdictWord.UNDECIDED]
    nothing = RunGroup("g", [run(0, 0.1, "timed out")], {}, {})
    (duration,) = compare([group([2, 2.1]), nothing]).measures
    assert (duration.estimates[1], duration.verdicts) == (None, [None])


def test_machine_state_gets_no_verdict() -> None:
    def measured(by: float) -> RunGroup:
        series = {
            ("kernel.all.load", "1 minute"): [figure(n, None, by) for n in range(3)],
            ("proc.memory.rss", None): [figure(n, None, by) for n in range(3)],
            ("IPC", None): [{**figure(n, None, by), "figure": "IPC"} for n in range(3)],
            ("disk.all.read", None): [figure(n, 10 * by) for n in range(3)],
        }
        return group([1, 1.1, 0.9], series)

    before, after = measured(1), measured(2)
    *results, load = compare([before, after]).measures
    assert (load.metric, load.is_context, load.verdicts) == (
        "kernel.all.load",
        True,
        [None],
    )
    assert [e.mean for e in load.estimates if e] == [1, 2]
    assert {
        one.metric: [v.word for v in one.verdicts if v]
        for one in results
        if not one.is_context
    } == {
        "duration": [VerdictWord.UNDECIDED],
        "IPC": [VerdictWord.BETTER],
        "disk.all.read": [VerdictWord.MORE],
        "proc.memory.rss": [VerdictWord.MORE],
    }
    assert before.is_context("kernel.all.load")
    assert not before.is_context("disk.all.read")
    assert not before.is_context("no.such")


def test_tolerance_applies_to_every_measure() -> None:
    def counted(by: float) -> RunGroup:
        series = {("disk.read", "sda"): [figure(n, by * (1000 + n)) for n in range(3)]}
        return group([1, 1.01, 0.99], series)

    for tolerance, word in ((0.3, VerdictWord.EQUIVALENT), (0.1, VerdictWord.MORE)):
        found = compare([counted(1), counted(1.2)], tolerance)
        assert found.tolerance == tolerance
        assert {v.tolerance for m in found.measures for v in m.verdicts if v} == {
            tolerance
        }
        assert [v.word for v in found.measures[1].verdicts if v] == [word]


def test_metric_without_a_better_direction_is_only_different() -> None:
    def counted(by: float) -> RunGroup:
        series = {("disk.read", "sda"): [figure(n, by * (100 + n)) for n in range(3)]}
        return group([1, 1.1, 0.9], series)

    _, read = compare([counted(1), counted(2)]).measures
    assert (read.metric, read.instance, read.what) == ("disk.read", "sda", "total")
    assert [v.word for v in read.verdicts if v] == [VerdictWord.MORE]


def test_processes_of_a_run_are_summed() -> None:
    def faults(of: list[dict[str, Any]]) -> RunGroup:
        return group([1, 1.1], {("proc.psinfo.minflt", None): of})

    before = faults([figure(0, 10.0), figure(0, 5.0), figure(1, 16.0)])
    after = faults([figure(0, 30.0), figure(1, 32.0), figure(1, 1.0)])
    _, found = compare([before, after]).measures
    assert [e.mean for e in found.estimates if e] == [15.5, 31.5]
    assert before.totals("proc.psinfo.minflt") == [15.0, 16.0]


def test_figures_of_a_single_group_are_not_compared() -> None:
    figures = {("m", None): [figure(0, 1.0)]}
    assert len(compare([group([1, 2], figures), group([1, 2])]).measures) == 1
