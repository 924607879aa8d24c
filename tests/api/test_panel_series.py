"""A panel shows exactly the points of the store."""

import time
from itertools import pairwise
from typing import Any

import pytest

from tests.api.watched import CPUS, IDLE, LOAD, LOADS, SMALL, Watched, write

NUMBERS = "host-load-average"
RATES = "threads-busy-threads-socket-0"


@pytest.fixture(scope="module")
def hour_ago(watched: Watched) -> int:
    """Write a minute of load and idle time with gaps; return its start.

    Second 20 of all series is missing, and cpu1 and "5 minute" end with second 40.
    """
    start = int(time.time()) - 3600
    for name, instances in ((LOAD, LOADS), (IDLE, CPUS)):
        seconds = [second for second in range(60) if second != 20]
        points: dict[str | None, dict[float, Any]] = {
            instance: {
                start + second: value(number, second)
                for second in seconds
                if second <= 40 or instance not in ("cpu1", "5 minute")
            }
            for number, instance in enumerate(instances)
        }
        write(watched.store.url, name, points)
    return start


def value(number: int, second: int) -> int:
    """Return idle time in ms: the threads idle by 100, 200, … ms a second."""
    return (number + 1) * 100 * second


def test_values_equal_those_in_the_store(watched: Watched, hour_ago: int) -> None:
    found = watched.series(NUMBERS, start=hour_ago - 1, end=hour_ago + 59)
    assert found["panel"] == NUMBERS and found["step"] == 1 and found["why"] == []
    assert found["times"] == list(range(hour_ago, hour_ago + 60))
    assert (found["start"], found["end"]) == (hour_ago, hour_ago + 59)
    assert len(found["values"]) == len(LOADS)
    for number, values in enumerate(found["values"]):
        for second, shown in enumerate(values):
            missing = second == 20 or (number == 1 and second > 40)
            assert shown == (None if missing else value(number, second))


def test_rates_are_neither_smoothed_nor_extrapolated(
    watched: Watched, hour_ago: int
) -> None:
    found = watched.series(RATES, start=hour_ago - 1, end=hour_ago + 59)
    drawn = [s["instname"] for s in panel(watched, RATES)["series"]]
    assert sorted(drawn) == sorted(CPUS)
    for instance, values in zip(drawn, found["values"], strict=True):
        share = 1 - (CPUS.index(instance) + 1) * 0.1
        for second, shown in enumerate(values):
            gone = instance == "cpu1" and second > 40
            if second in (0, 20) or gone:
                assert shown is None, (instance, second)
            else:
                assert shown == pytest.approx(share), (instance, second)


def test_longer_step_covers_all_its_points(watched: Watched, hour_ago: int) -> None:
    found = watched.series(RATES, start=hour_ago - 1, end=hour_ago + 99, points=11)
    assert found["step"] == 10
    drawn = [s["instname"] for s in panel(watched, RATES)["series"]]
    values = dict(zip(drawn, found["values"], strict=True))
    held = [t for t in found["times"] if hour_ago + 10 <= t < hour_ago + 40]
    for instance in CPUS:
        share = 1 - (CPUS.index(instance) + 1) * 0.1
        shown = dict(zip(found["times"], values[instance], strict=True))
        assert [shown[t] for t in held] == pytest.approx([share] * len(held))
        assert shown[found["times"][-1]] is None


def panel(watched: Watched, id_: str) -> Any:
    sections = watched.spec()["sections"]
    return next(p for s in sections for p in s["panels"] if p["id"] == id_)


def test_series_can_be_limited_to_a_component(watched: Watched, hour_ago: int) -> None:
    times = {"start": hour_ago - 1, "end": hour_ago + 19}
    component = next(
        c for c in watched.spec()["components"] if len(c["instances"]) == 2
    )
    whole = watched.series(RATES, **times)
    found = watched.series(RATES, component=component["id"], **times)
    for series, all_, narrowed in zip(
        panel(watched, RATES)["series"], whole["values"], found["values"], strict=True
    ):
        inside = series["instname"] in component["instances"]
        assert narrowed == (all_ if inside else [None] * 20)
    other = watched.series(NUMBERS, component=component["id"], **times)
    assert other["values"] == watched.series(NUMBERS, **times)["values"]


def test_times_are_multiples_of_the_step(watched: Watched) -> None:
    now = time.time()
    found = watched.series(NUMBERS, start=now - 5000, end=now - 1000, points=1000)
    assert found["step"] == 5 and len(found["times"]) <= 1000
    assert all(after - before == 5 for before, after in pairwise(found["times"]))
    assert found["times"][0] % 5 == 0


def test_step_below_a_second_is_refused(watched: Watched) -> None:
    second = int(time.time())
    earlier: dict[str | None, dict[float, Any]] = {
        name: {second - ago: 1 for ago in range(1, 20)} for name in LOADS
    }
    write(watched.store.url, LOAD, earlier)
    watched.write(LOAD, LOADS[0], {second: 2})
    found = watched.series(NUMBERS, start=second - 10, end=second + 1)
    assert found["end"] == second - 1
    assert all(None not in values for values in found["values"])
    for name in LOADS[1:]:
        watched.write(LOAD, name, {second: 2})
    found = watched.series(NUMBERS, start=second - 10, end=second + 1)
    assert found["end"] >= second
    at = found["times"].index(second)
    assert [values[at] for values in found["values"]] == [2, 2, 2]


def test_default_range_is_the_last_five_minutes(watched: Watched) -> None:
    found = watched.series(NUMBERS)
    assert found["step"] == 1
    assert 290 <= found["times"][-1] - found["times"][0] <= 300
    assert time.time() - found["end"] < 120


def test_empty_panel_says_why(watched: Watched) -> None:
    found = watched.series("host-memory")
    assert all(v is None for values in found["values"] for v in values)
    assert len(found["why"]) == 1 and "bridge" in found["why"][0]
    early = watched.series(NUMBERS, start=1_600_000_000, end=1_600_000_300)
    assert len(early["values"]) == 3 and early["why"]


def test_no_value_is_infinite(watched: Watched) -> None:
    at = int(time.time()) - 7200
    watched.write(LOAD, LOADS[0], {at: "+Inf", at + 1: 3})
    found = watched.series(NUMBERS, start=at - 1, end=at + 1)
    assert found["values"][0] == [None, 3]


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ({"start": 5, "end": 5}, 400, "not before"),
        ({"start": 2e9, "end": 1.9e9}, 400, "not before"),
        ({"start": "nan"}, 422, "finite number"),
        ({"end": "inf"}, 422, "finite number"),
        ({"start": "-inf"}, 422, "finite number"),
        ({"end": 4e9}, 400, "future"),
        ({"start": 4e9, "end": 4.1e9}, 400, "future"),
        ({"start": 5}, 400, "20 years"),
        ({"start": -1e300}, 422, "greater than or equal to 0"),
        ({"start": "yesterday"}, 422, "start"),
        ({"points": 0}, 422, "points"),
        ({"points": 5001}, 422, "points"),
        ({"points": "1.5"}, 422, "points"),
        ({"panel": "no-such"}, 404, "host-load-average"),
        ({"panel": '"}'}, 404, "no panel"),
        ({"component": "thread/999"}, 404, "thread/999"),
        ({"component": ".*"}, 404, "no component"),
        ({"host": "nobody"}, 404, "known: large, small"),
        ({"host": ""}, 400, "large, small"),
    ],
)
def test_invalid_requests_are_refused(
    watched: Watched, query: dict[str, Any], status: int, message: str
) -> None:
    answer = watched.ask(**{"panel": NUMBERS, **query})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert message in answer.json()["detail"]


def test_panel_must_be_named_and_have_series(watched: Watched) -> None:
    assert watched.ask().status_code == 422
    panels = [p for s in watched.spec("inventory")["sections"] for p in s["panels"]]
    table = next(p["id"] for p in panels if p["picture"] == "table")
    answer = watched.client.get(
        "/dashboards/inventory/series", params={"host": SMALL, "panel": table}
    )
    assert answer.status_code == 400 and "table" in answer.json()["detail"]


def test_unknown_dashboard_is_404(watched: Watched) -> None:
    answer = watched.client.get("/dashboards/no/series", params={"panel": "x"})
    assert answer.status_code == 404
    assert "monitor" in answer.json()["detail"]


def test_numbers_keep_their_stored_form(watched: Watched, hour_ago: int) -> None:
    answer = watched.ask(panel=NUMBERS, start=hour_ago - 1, end=hour_ago + 4)
    assert "[[0,100,200,300,400]," in answer.text
