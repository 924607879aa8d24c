"""Plan requests, checked before any store is contacted."""

from dataclasses import replace

import pytest

from ingest.errors import PlanRequestError
from sampling.plans.request import PlanRequest, check_request, parse_period
from sampling.plans.store import free_name

GOOD = PlanRequest("n1", "fast", ("kernel.all.load",), 10)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        *(("1ms", 1), ("10 ms", 10), ("0.5s", 500), ("1s", 1000), (" 2min ", 120_000)),
        *(("1h", 3_600_000), ("0.25min", 15_000), ("1.5s", 1500)),
    ],
)
def test_periods_are_parsed(text: str, milliseconds: int) -> None:
    assert parse_period(text) == milliseconds


@pytest.mark.parametrize(
    "text", ["0ms", "0s", "0.0h", "0.5ms", "1.0005s", "2h", "61min", "999999999h"]
)
def test_impossible_period_names_the_possible_ones(text: str) -> None:
    with pytest.raises(PlanRequestError, match="not possible: give whole milli.*1h"):
        parse_period(text)


@pytest.mark.parametrize(
    "text",
    ["", "1", "-1s", "1d", "1e3s", "s", "1s\n2", "NaN s", "1,5s", "1٣s", "1" * 99],
)
def test_invalid_period_is_refused(text: str) -> None:
    with pytest.raises(PlanRequestError, match="cannot be read: write 10ms"):
        parse_period(text)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"name": "a.b"}, "not a valid plan name"),
        ({"name": ""}, "not a valid plan name"),
        ({"name": "a\n"}, "not a valid plan name"),
        ({"name": "x" * 65}, "not a valid plan name"),
        ({"name": "monitor"}, "comes with every host"),
        ({"metrics": ()}, "has no metric"),
        ({"period_ms": 0}, "not possible"),
        ({"period_ms": 3_600_001}, "not possible"),
        ({"instances": ("cpu0\ncpu1",)}, "line break"),
        ({"instances": ("\x7f",)}, "line break or another character"),
        ({"instances": ("",)}, "has no name"),
        ({"query": "a/b", "instances": ("cpu0",)}, "leave one out"),
        ({"parameters": {"socket": "0"}}, "parameter socket has no query"),
    ],
)
def test_impossible_request_is_refused(changed: dict[str, object], reason: str) -> None:
    check_request(GOOD)
    with pytest.raises(PlanRequestError, match=reason):
        check_request(replace(GOOD, **changed))  # type: ignore[arg-type]


def test_first_free_name_is_used() -> None:
    assert free_name([]) == "plan-1"
    assert free_name(["monitor", "plan-1", "plan-3"]) == "plan-2"
