"""Rates above the possible maximum are capped, and the measured value is reported."""

import json
import time
from typing import Any

import httpx
import pytest

from api.bounds import bounded, bounded_marks, bounded_sums
from api.metrics import metric_of
from api.observations.readings import RunGrid, window
from core.stores.fuseki import Binding, Row
from tests.api.watched import CPUS, IDLE, THREADS, Watched, write

PRESSURE = "kernel_all_pressure_cpu_some_total"
CPU = {"kernel_all_cpu_user": 2500, "kernel_all_cpu_sys": 1500}
IDLE_TIME = "kernel.percpu.cpu.idle"
LATE = 10  # the second whose tick was fetched 200 ms late


@pytest.fixture(scope="module")
def earlier(watched: Watched) -> int:
    """Write half a minute of a busy host; one tick was fetched late."""
    start = int(time.time()) - 7200
    seconds = {second: second + 0.2 * (second == LATE) for second in range(30)}
    rates = {PRESSURE: (None, 1_000_000), **{n: (None, r) for n, r in CPU.items()}}
    for name, (instance, rate) in rates.items():
        points = {start + at: round(rate * real) for at, real in seconds.items()}
        write(watched.store.url, name, {instance: points})
    idle = {
        cpu: {start + at: round(1000 * s) for at, s in seconds.items()} for cpu in CPUS
    }
    write(watched.store.url, IDLE, {**idle})
    return start


def drawn(watched: Watched, panel: str, start: int) -> dict[str, Any]:
    found = watched.series(panel, start=start, end=start + 29)
    assert found["step"] == 1
    return found


def test_share_is_at_most_one(watched: Watched, earlier: int) -> None:
    found = drawn(watched, "host-pressure", earlier)
    late = found["times"].index(earlier + LATE)
    (values,) = [column for column in found["values"] if any(column)]
    series = found["values"].index(values)
    assert values[late] == 1
    assert values[late + 1] == pytest.approx(0.8)
    assert found["bounded"] == [[series, late, pytest.approx(1.2)]]


@pytest.mark.parametrize(
    "name",
    [
        "metric:kernel.all.pressure.cpu.some.total",
        "series:kernel.percpu.cpu.idle:cpu1",
        "plan:monitor",
    ],
)
def test_charts_of_metrics_series_and_plans_have_bounds(
    watched: Watched, earlier: int, name: str
) -> None:
    panel = charted(watched, name)
    assert (panel["maximum"], panel["greatest"]) == (None, 1)
    found = points(watched, name, panel["id"], earlier)
    late = found["times"].index(earlier + LATE)
    assert {column[late] for column in found["values"]} == {1}
    expected = [[n, late, pytest.approx(1.2)] for n in range(len(panel["series"]))]
    assert found["bounded"] == expected


def test_chart_of_unlimited_metric_has_no_bound(watched: Watched) -> None:
    assert charted(watched, "metric:kernel.all.load")["greatest"] is None


def test_time_of_all_cpus_is_at_most_their_number(watched: Watched) -> None:
    start = int(time.time()) - 3600
    seconds = {second: second + 0.2 * (second == LATE) for second in range(30)}
    busy = {start + at: round(3600 * real) for at, real in seconds.items()}
    watched.write("kernel_all_cpu_idle", None, busy)
    name = "metric:kernel.all.cpu.idle"
    panel = charted(watched, name)
    assert (panel["maximum"], panel["greatest"]) == (None, THREADS)
    found = points(watched, name, panel["id"], start)
    late = found["times"].index(start + LATE)
    assert found["values"][0][late - 1] == pytest.approx(3.6)
    assert found["values"][0][late] == THREADS
    assert found["bounded"] == [[0, late, pytest.approx(4.32)]]


def charted(watched: Watched, name: str) -> dict[str, Any]:
    """Return the only panel of a chart, or the panel of idle time in a plan."""
    every = [p for each in watched.spec(name)["sections"] for p in each["panels"]]
    (found,) = (p for p in every if len(every) == 1 or p["title"] == IDLE_TIME)
    return dict(found)


def points(watched: Watched, name: str, panel: str, start: int) -> dict[str, Any]:
    query = {"host": "small", "panel": panel, "start": start, "end": start + 29}
    answer = watched.client.get(f"/dashboards/{name}/series", params=query)
    return dict(answer.raise_for_status().json())


def test_shares_add_up_to_one_at_most(watched: Watched, earlier: int) -> None:
    found = drawn(watched, "host-cpu-time", earlier)
    late = found["times"].index(earlier + LATE)
    sums = [sum(filter(None, column)) for column in zip(*found["values"], strict=True)]
    assert sums[late - 1] == sums[late] == pytest.approx(1)
    assert {place for _, place, _ in found["bounded"]} == {late}
    measured = [value for *_, value in found["bounded"]]
    expected = [1.2 * rate / 1000 / THREADS for rate in sorted(CPU.values())]
    assert sorted(measured) == pytest.approx(expected)


def test_remainder_of_a_share_is_not_negative(watched: Watched, earlier: int) -> None:
    found = drawn(watched, "threads-busy-threads-socket-0", earlier)
    late = found["times"].index(earlier + LATE)
    assert {column[late] for column in found["values"]} == {0}
    expected = [[n, late, pytest.approx(-0.2)] for n in range(THREADS)]
    assert found["bounded"] == expected


def test_unlimited_metric_is_shown_as_measured(watched: Watched) -> None:
    second = int(time.time()) - 60
    watched.write("kernel_all_load", "1 minute", {second: 1e9})
    found = watched.series("host-load-average", start=second - 1, end=second)
    assert 1e9 in found["values"][0] and found["bounded"] == []


def test_live_tick_marks_bounded_values(watched: Watched) -> None:
    now = int(time.time())
    growing = {now + at: round(1.2e6 * at) for at in range(-20, 60)}
    watched.write(PRESSURE, None, growing)
    params = {"host": "small", "seconds": "10"}
    with httpx.stream(
        "GET", f"{watched.api.url}/dashboards/monitor/live", params=params, timeout=60
    ) as answer:
        ticks = (
            json.loads(line.removeprefix("data: "))
            for line in answer.iter_lines()
            if line.startswith("data: ") and '"panels"' in line
        )
        tick = next(one for one in ticks if "host-pressure" in one["bounded"])
    (mark,) = tick["bounded"]["host-pressure"]
    assert mark[1:] == [0, pytest.approx(1.2)]
    assert tick["panels"]["host-pressure"][mark[0]] == 1


def test_chart_of_a_run_marks_bounded_values() -> None:
    metric = "kernel.percpu.cpu.user"
    greatest = metric_of(row(metric, "millisec")).greatest()
    assert greatest == pytest.approx(1)
    assert metric_of(row("disk.dev.read", "count")).greatest() is None
    summed = metric_of(row("kernel.all.cpu.user", "millisec"))
    assert summed.greatest() is None
    assert summed.greatest(4) == pytest.approx(4)
    measured = [[0.5, None, 1.5], [None, None, 1.0]]
    found = window(metric, RunGrid(0, 100, 3), measured, bounded(measured, greatest))
    assert found["values"] == [[0.5, 1.0], [None, 1.0]]
    assert found["bounded"] == [(0, 1, 1.5)]


def row(name: str, pcp: str) -> Row:
    cells = {"name": name, "db": name.replace(".", "_"), "pcp": pcp}
    cells["kind"] = "https://w3id.org/supertwin/ns#Counter"
    if pcp == "millisec":
        cells["unit"] = "http://qudt.org/vocab/unit/MilliSEC"
    return {key: Binding("literal", text) for key, text in cells.items()}


def test_rounding_marks_no_value_as_bounded() -> None:
    measured = [[1 + 1e-12, -1e-12, None]]
    assert bounded_marks(measured, bounded(measured, 1, 0)) == []
    thirds = [[1 / 3 + 1e-12]] * 3
    assert bounded_marks(thirds, bounded_sums(thirds, 1)) == []
