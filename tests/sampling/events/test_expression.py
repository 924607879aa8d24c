"""Formulas as MetricsQL, evaluated by a real store on made-up counters."""

import time
from collections.abc import Iterable
from decimal import Decimal

import httpx
import pytest

from sampling.events.choice import RoleFormula
from sampling.events.event import PmuEvent
from sampling.events.expression import (
    dutycycle_expression,
    role_expression,
    role_series,
)
from sampling.events.host import CounterLocation, HostPmus
from tests.servers import VictoriaMetrics

HOST = HostPmus("h", {})
A, B = PmuEvent("m", "A"), PmuEvent("m", "B:U")
ROLE = RoleFormula("R", "thread", "", ((Decimal(8), A), (Decimal(-1), B)))


def test_role_needs_values_and_duty_cycles() -> None:
    assert role_series(ROLE) == [
        "perfevent_hwcounters_m__A_value",
        "perfevent_hwcounters_m__A_dutycycle",
        "perfevent_hwcounters_m__B_U_value",
        "perfevent_hwcounters_m__B_U_dutycycle",
    ]


def test_tiny_weight_is_written_out() -> None:
    joules = RoleFormula("J", "thread", "", ((Decimal("2.3283e-10"), A),))
    assert role_expression(HOST, joules).startswith("0.00000000023283 * (rate(")


def lines(series: str, cpu: str, slope: float, start: int) -> Iterable[str]:
    """Two minutes of a counter, or of a constant if the slope is below 1."""
    for second in range(121):
        value = slope if slope < 1 else 1000 + slope * second
        name = f'{series}{{hostname="h",instname="{cpu}"}}'
        yield f"{name} {value} {(start + second) * 1000}"


@pytest.fixture
def counted(store: VictoriaMetrics) -> tuple[VictoriaMetrics, int]:
    """The counters of four threads: two exact, one multiplexed, one that never ran."""
    start = int(time.time()) - 130
    text: list[str] = []
    for cpu, slope_a, slope_b, duty in (
        ("cpu0", 100, 10, 1.0 - 1e-9),
        ("cpu1", 200, 20, 1.0 - 1e-9),
        ("cpu2", 300, 30, 0.5),
        ("cpu3", 0, 0, 0.0),
    ):
        text += lines(A.value_series, cpu, slope_a, start)
        text += lines(B.value_series, cpu, slope_b, start)
        text += lines(A.dutycycle_series, cpu, duty, start)
        text += lines(B.dutycycle_series, cpu, 1.0 - 1e-9, start)
    # cpu4 has only one of the events.
    text += lines(A.value_series, "cpu4", 5, start)
    text += lines(A.dutycycle_series, "cpu4", 1.0 - 1e-9, start)
    url = f"{store.url}/api/v1/import/prometheus"
    httpx.post(url, content="\n".join(text), trust_env=False).raise_for_status()
    httpx.get(f"{store.url}/internal/force_flush", trust_env=False)
    return store, start + 120


def ask(counted: tuple[VictoriaMetrics, int], expression: str) -> dict[str, float]:
    store, end = counted
    answer = httpx.get(
        f"{store.url}/api/v1/query",
        params={"query": expression, "time": end},
        trust_env=False,
    ).json()
    assert answer["status"] == "success", answer
    return {
        row["metric"]["instname"]: round(float(row["value"][1]), 6)
        for row in answer["data"]["result"]
    }


def test_formula_is_the_sum_if_every_event_counted(
    counted: tuple[VictoriaMetrics, int],
) -> None:
    assert ask(counted, role_expression(HOST, ROLE, window="60s")) == {
        "cpu0": 790,
        "cpu1": 1580,
        "cpu2": 2370,
    }
    strict = role_expression(HOST, ROLE, window="60s", least=0.9)
    assert ask(counted, strict) == {"cpu0": 790, "cpu1": 1580}


def test_lowest_duty_cycle_decides_exactness(
    counted: tuple[VictoriaMetrics, int],
) -> None:
    found = ask(counted, dutycycle_expression(HOST, ROLE))
    assert found == {"cpu0": 1, "cpu1": 1, "cpu2": 0.5, "cpu3": 0, "cpu4": 1}


def test_socket_is_one_of_the_instances(
    counted: tuple[VictoriaMetrics, int],
) -> None:
    places = {
        "socket": [CounterLocation("s0", 0, True), CounterLocation("s1", 2, True)]
    }
    host = HostPmus("h", {}, places)
    role = RoleFormula("R", "socket", "", ROLE.terms)
    assert ask(counted, role_expression(host, role, window="60s")) == {
        "cpu0": 790,
        "cpu2": 2370,
    }
    assert ask(counted, dutycycle_expression(host, role)) == {"cpu0": 1, "cpu2": 0.5}
