"""Figures of several passes, and how far the passes differ."""

from decimal import Decimal

import pytest

from observations.comparison.compare import DEFAULT_TOLERANCE
from observations.derived import HostRole, WeightedEvent
from observations.passes import (
    MOST_SPREAD,
    PassCounts,
    agreement_of,
    figures_across,
    spread,
)
from observations.record import PassAgreement, RunRequest, RunSpec, Summary
from observations.session.pass_counts import describe_agreement
from observations.statistics import Statistics
from sampling.events.event import PmuEvent
from sampling.events.passes import CountingPass

COMMON = "skx::INST"


def role(name: str, *events: str) -> HostRole:
    found = [PmuEvent("skx", event) for event in events]
    terms = (WeightedEvent(str(e), Decimal(2), e.value, e.dutycycle) for e in found)
    return HostRole(name, "", tuple(terms))


def counts(
    number: int, seconds: float, totals: dict[str, float], duty: float = 1.0
) -> PassCounts:
    series = {}
    for name, total in totals.items():
        event = PmuEvent("skx", name)
        shares = Statistics(0, median=duty)
        figures = Statistics(0, total=total, covered=seconds)
        for metric, one in ((event.value, figures), (event.dutycycle, shares)):
            series[metric, "cpu0"] = Summary(metric, "", "cpu0", one)
    return PassCounts(number, seconds, seconds / 2, series)


PASSES = [
    counts(1, 2.0, {"INST": 100.0, "A": 3.0, "B": 4.0}),
    counts(2, 2.2, {"INST": 101.0, "C": 5.0, "CYC": 50.0}, duty=0.5),
]


def test_role_is_summed_over_passes() -> None:
    roles = [role("FLOPs", "A", "B", "C"), role("FLOPsDouble", "A", "B")]
    found = {one.name: one for one in figures_across(roles, PASSES, COMMON, [0])}
    assert found.keys() == {"FLOPs", "FLOP rate"}
    flops, rate = found["FLOPs"], found["FLOP rate"]
    assert (flops.value, flops.passes) == (24.0, (1, 2))
    assert flops.events == ("skx::A", "skx::B", "skx::C")
    assert (flops.covered, flops.dutycycle) == (2.0, 0.5)
    assert rate.value == pytest.approx(24.0 / 2.1)
    assert flops.spread == rate.spread == pytest.approx(100 * 0.2 / 2.1)


def test_figures_of_one_pass_are_left_to_its_run() -> None:
    roles = [role("Instructions", "INST"), role("Cycles", "CYC")]
    assert figures_across(roles, PASSES, COMMON, []) == []


def test_event_that_no_pass_counted_gives_a_reason() -> None:
    (found,) = figures_across([role("L1Misses", "A", "X")], PASSES, COMMON, [])
    assert found.reason == "skx::X was not counted in this run"


def test_agreement_is_the_range_in_percent() -> None:
    found = agreement_of(PASSES, COMMON, [0])
    assert found.duration == found.cpu_time == pytest.approx(100 * 0.2 / 2.1)
    assert found.event == pytest.approx(100 / 100.5)
    assert found.largest == found.duration
    assert agreement_of(PASSES, "skx::NONE", []).event is None
    assert (spread([1.0, None]), spread([0.0, 0.0])) == (None, 0.0)


def test_warning_begins_where_compare_sees_a_change() -> None:
    assert MOST_SPREAD == 100 * DEFAULT_TOLERANCE


def test_large_differences_are_shown_without_an_exponent() -> None:
    spec = RunSpec("n1", ("x",), passes=(CountingPass(),) * 2)
    differ, uncertain = describe_agreement(spec, PassAgreement(150.4, None, 1.26))
    assert differ.startswith("the 2 passes differ by: wall time 150 %, ")
    assert differ.endswith(" 1.3 %")
    assert "uncertain by 150 %, more than 5 %" in uncertain


def test_passes_of_a_round_follow_each_other() -> None:
    passes = (CountingPass(("A",)), CountingPass((), ("x::B",)))
    request = RunRequest(RunSpec("n1", ("x",), passes=passes, repeat=2))
    runs = [request.one_of("g", number).spec for number in range(1, 5)]
    assert request.spec.runs == 4
    assert [(one.repetition, one.pass_number) for one in runs] == [
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
    ]
    assert [one.counted for one in runs] == [*passes, *passes]
    assert [one.is_last_pass for one in runs] == [False, True] * 2
