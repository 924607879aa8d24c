"""Comparisons as text show differences, however long the values are."""

from collections.abc import Sequence

import pytest

from observations.comparison.compare import estimate
from observations.comparison.comparing import Measure, RunComparison, RunGroup, compare
from supertwin.cli.compare import lines

_RUN = {"command": "true", "host": "n1", "policy": "", "outcome": "completed"}
_FLAGS = "-O3 " * 40


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([["on"], ["off"]], ["on", "off"]),
        ([["on"], []], ["on", "nothing"]),
        ([["a", "b", "c"], ["a", "c", "d"]], ["b", "d"]),
        ([["a", "b"], ["a"]], ["b", "nothing else"]),
        (
            [[_FLAGS + "-g"], [_FLAGS + "-march=native"]],
            ["…O3 -O3 -O3 -O3 -O3 -g", "…O3 -O3 -O3 -O3 -O3 -march=native"],
        ),
        ([["x" * 70], ["y"]], ["x" * 60 + "…", "y"]),
        ([["x" * 70], []], ["x" * 60 + "…", "nothing"]),
    ],
)
def test_differences_of_properties_are_listed(
    values: Sequence[Sequence[str]], message: list[str]
) -> None:
    groups = [RunGroup("one", [_RUN], {}, {}), RunGroup("other", [_RUN], {}, {})]
    found = list(
        lines(RunComparison(groups, 0.05, [], {"http://here/ns#flags": values}))
    )
    assert found[-3:] == [
        "  flags",
        *(f"    {n}: {t}" for n, t in enumerate(message, 1)),
    ]


def test_verdicts_have_a_tolerance_and_context_has_none() -> None:
    def group(seconds: Sequence[float]) -> RunGroup:
        load = [
            {"run": f"r{n}", "total": None, "mean": 0.5, "unit": None} for n in range(3)
        ]
        runs = [{**_RUN, "run": f"r{n}", "seconds": s} for n, s in enumerate(seconds)]
        return RunGroup("g", runs, {("kernel.all.load", "1 minute"): load}, {})

    groups = [group(g) for g in ((1.8, 2.0, 2.2), (2.2, 2.7, 3.35), (4.0, 4.1, 3.9))]
    found = list(lines(compare(groups, 0.03)))
    start = found.index("duration")
    assert found[start + 1] == "  1: 2 s ± 496.8 ms"
    assert found[start + 2].endswith(
        "s  undecided: +37.5 % (-24.5 to +111.9 %), p = 0.142; tolerance ±3 %; "
        "8 runs in each group would decide it"
    )
    assert "s  worse: +100.0 % (" in found[start + 3]
    assert found[start + 3].endswith("; tolerance ±3 %")
    state = found.index("state of the machine meanwhile, without verdict:")
    assert found[state + 1 :] == [
        "kernel.all.load[1 minute], mean",
        *(f"  {place}: 0.5 ± 0" for place in (1, 2, 3)),
    ]


@pytest.mark.parametrize(
    ("unit", "values", "message"),
    [
        ("NUM", [1024601.0], "1.025 M"),
        ("KibiBYTE", [409_600_000.0, 409_600_000.0], "390.6 GiB ± 0 B"),
        ("MilliSEC", [1500.0], "1.5 s"),
        ("FLOPS", [0.5], "0.5 FLOPS"),
        (None, [17.0], "17"),
    ],
)
def test_values_have_units_that_people_read(
    unit: str | None, values: list[float], message: str
) -> None:
    groups = [RunGroup("one", [_RUN], {}, {}), RunGroup("other", [_RUN], {}, {})]
    iri = unit and f"http://qudt.org/vocab/unit/{unit}"
    found = estimate(values)
    measure = Measure("m", None, "mean", iri, False, [found, found], [None])
    shown = list(lines(RunComparison(groups, 0.03, [measure], {})))
    assert f"  1: {message}" in shown and f"  2: {message}" in shown
