"""Which runs a model is fitted to, and why others are left out."""

import pytest

from observations.errors import TooFewRunsError
from observations.models.runs import tagged_runs
from tests.observations.models.synthetic import grid, row, synthetic_rows, threads

ROWS = synthetic_rows(lambda threads, n: n / threads, grid([1, 2], [64, 128]), repeat=1)


def test_runs_that_did_not_complete_are_left_out() -> None:
    ended = [
        row(how, 1.0, outcome=how, threads=2, setting="n", value=64)
        for how in ("failed", "killed", "timed out", "cancelled", "broke off")
    ]
    found = tagged_runs("solver", "n1", [*ROWS, *ended, {**ended[0], "run": "again"}])
    assert len(found.runs) == 4
    assert found.left_out["failed"] == 2
    assert sum(found.left_out.values()) == 6


def test_run_without_a_setting_of_the_others_is_left_out() -> None:
    others = [row("a", 1.0, threads=2), row("b", 1.0, setting="n", value=64)]
    found = tagged_runs("solver", "n1", [*ROWS, *others])
    assert found.inputs == ("threads", "n")
    assert found.left_out == {"without n": 1, "without threads": 1}


def test_setting_of_few_runs_is_not_an_input() -> None:
    extra = {**ROWS[0], "setting": "try", "value": 2}
    found = tagged_runs("solver", "n1", [*ROWS, extra])
    assert found.inputs == ("threads", "n")
    assert not found.left_out


def test_setting_named_threads_is_the_number_of_threads() -> None:
    rows = [
        row(str(n), 1 / n, threads=64, setting="threads", value=n) for n in (1, 2, 3, 4)
    ]
    found = tagged_runs("solver", "n1", rows)
    assert found.ranges == {"threads": (1, 4)}


def test_setting_of_zero_is_not_a_setting() -> None:
    extra = row("zero", 1.0, threads=1, setting="n", value=0)
    found = tagged_runs("solver", "n1", [*ROWS, extra])
    assert found.left_out == {"without n": 1}


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        (ROWS[:3], "3 combinations of threads, n"),
        (synthetic_rows(lambda threads: 1.0, threads(2), repeat=9), "--threads"),
        ([row("a", 1.0), row("b", 1.0)], "have [01] combinations"),
        ([row("a", 1.0, outcome="failed")], "left out: 1 failed"),
    ],
)
def test_too_few_runs_are_counted(rows: list[dict[str, object]], word: str) -> None:
    with pytest.raises(TooFewRunsError, match=word) as caught:
        tagged_runs("solver", "n1", rows)
    assert caught.value.code == "too-few-runs"
