"""The load of plans, exact to the point."""

from typing import Any

import pytest

from sampling.cost.load import AgentLoad, FetchSize, SamplingLoad, load_of, terms_of
from sampling.plan_file.plan import make_plan

SIZES = {
    "kernel.percpu.cpu.user": FetchSize("linux", 4),
    "perfevent.hwcounters.msr.tsc.value": FetchSize("perfevent", 4),
    "kernel.percpu.cpu.sys": FetchSize("linux", 4),
    "mem.util.free": FetchSize("linux", 1),
    "proc.psinfo.rss": FetchSize("proc", 100),
    "proc.io.rchar": FetchSize("proc", 100),
    "supertwin.bridge.points.missing": FetchSize("unknown", 15),
}


def asked(metric: str, period: str, *instances: str) -> list[dict[str, Any]]:
    row = {"samplerName": metric, "dbName": metric.replace(".", "_"), "period": period}
    if not instances:
        return [row]
    return [{**row, "some": True, "instname": name} for name in instances]


def load(*plans: list[dict[str, Any]]) -> SamplingLoad:
    return load_of(make_plan([row for plan in plans for row in plan]), SIZES)


def test_each_period_has_one_fetch() -> None:
    found = load(
        asked("kernel.percpu.cpu.user", "0.1"),
        asked("mem.util.free", "0.1"),
        asked("kernel.percpu.cpu.sys", "1"),
    )
    assert found.fetches == pytest.approx(11)
    assert (found.points, found.values) == pytest.approx((54, 54))
    assert found.series == 9
    assert found.agents["linux"].fetches == pytest.approx(11)


def test_finer_plan_of_a_series_counts() -> None:
    user = "kernel.percpu.cpu.user"
    found = load(asked(user, "0.1", "cpu0"), asked(user, "1"))
    assert found.points == pytest.approx(10 + 3)
    # PMCD gives all four values at both periods.
    assert found.values == pytest.approx(40 + 4)
    assert found.series == 4
    assert load(asked(user, "0.1"), asked(user, "1")).points == pytest.approx(40)


def test_process_metric_families_are_files() -> None:
    one = load(asked("proc.psinfo.rss", "1"))
    both = load(asked("proc.psinfo.rss", "1"), asked("proc.io.rchar", "1"))
    assert one.agents["proc"] == AgentLoad(1, 100, 100)
    assert both.agents["proc"] == AgentLoad(1, 200, 200)


def test_own_metrics_of_the_bridge_need_no_fetch() -> None:
    found = load(asked("supertwin.bridge.points.missing", "1"))
    assert (found.points, found.fetches, found.values) == (15, 0, 0)
    assert found.agents == {}


def test_counters_are_fetched_from_their_own_pmcd() -> None:
    found = load(
        asked("perfevent.hwcounters.msr.tsc.value", "1"), asked("mem.util.free", "1")
    )
    assert (found.points, found.fetches, found.values) == (5, 2, 5)
    assert found.agents["perfevent"] == AgentLoad(1, 4, 4)


def test_metrics_of_unknown_size_are_named() -> None:
    found = load(asked("hotproc.psinfo.rss", "1"), asked("mem.util.free", "1"))
    assert found.unknown == {"hotproc.psinfo.rss"}
    assert found.points == 1


def test_loads_add_up() -> None:
    one = load(asked("proc.psinfo.rss", "0.5"), asked("mem.util.free", "1"))
    three = one.plus(one, 2)
    assert three.points == pytest.approx(3 * one.points)
    assert three.agents["proc"].reads == pytest.approx(3 * one.agents["proc"].reads)
    assert not any(one.plus(one, -1).terms("bridge"))


def test_accumulated_points_are_sent_together() -> None:
    """There are at most five sends a second, however many fetches there are."""
    names = terms_of("bridge")
    sends = [
        load(asked("mem.util.free", period)).terms("bridge")[names.index("sends")]
        for period in ("10", "1", "0.1", "0.001")
    ]
    assert sends[0] == pytest.approx(0.1, rel=0.05)
    assert sends == sorted(sends)
    assert 4.9 < sends[-1] < 5
