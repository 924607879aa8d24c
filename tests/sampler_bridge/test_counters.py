"""Counters at the ends of their ranges are stored as they are, wraps included."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import httpx
import pytest

from sampler_bridge.sampling.labelled import Labeller
from sampling.sources.pcp_source import PcpSource
from tests.sampler_bridge.servers import BridgeProcess, closes
from tests.servers import Pmcd, VictoriaMetrics

WRAPS = ["sample.wrap.ulong", "sample.wrap.long"]
STEPS = {"sample_wrap_ulong": 2**31 - 2, "sample_wrap_long": 2**30 - 2}
LIMITS = {
    "sample.ulong.write_me": [0, 2**31, 2**32 - 1],
    "sample.long.write_me": [-(2**31), -1, 2**31 - 1],
    "sample.longlong.write_me": [-(2**63), 2**53 + 1, 2**63 - 1],
    "sample.ulonglong.write_me": [2**53 + 1, 2**63, 2**64 - 1],
}


@pytest.mark.parametrize(("metric", "values"), LIMITS.items())
def test_counter_is_stored_as_the_nearest_float(
    pmcd: Pmcd, metric: str, values: list[int]
) -> None:
    source = PcpSource(pmcd.address)
    source.select([metric])
    source.connect()
    labeller = Labeller("n1", {metric: "a"})
    for value in values:
        pmcd.store(metric, str(value))
        (column,) = source.fetch().columns
        assert column.values.tolist() == [value]
        (row,) = labeller.of(source.fetch()).rows
        assert row.values.tolist() == [float(value)]
    source.close()


def test_wrap_is_stored_raw_and_undone_in_metricsql(
    own_pmcd: Pmcd, store: VictoriaMetrics, new_bridge: Callable[..., BridgeProcess]
) -> None:
    """The agent adds the same amount at every fetch, so counters wrap repeatedly."""
    bridge = new_bridge(own_pmcd.address, store.url)
    bridge.sample(WRAPS, 0.1)
    bridge.wait_for(lambda status: status["written"] > 60)
    assert bridge.end() == 0
    assert closes(bridge.status())
    for name, points in store.values().items():
        ticks = sorted(points)
        values = [int(points[ms]) for ms in ticks]
        steps = [(b - a) % 2**32 for a, b in pairwise(values)]
        # A late tick adds its step to the next one.
        assert steps.count(STEPS[name]) > len(steps) // 2
        assert any(b < a for a, b in pairwise(values[-20:]))
        # From the tick before the window on; a series that begins in it has none.
        within = [
            step
            for ms, step in zip(ticks[1:], steps, strict=True)
            if ms > ticks[-1] - 2050
        ]
        undone = f"delta({name}[2050ms]) + 2^32 * resets({name}[2050ms])"
        assert asked(store, undone, ticks[-1] / 1000) == sum(within)
        # If a wrap is taken for a start from 0, the count up to it is lost.
        counted = asked(store, f"increase_pure({name}[2050ms])", ticks[-1] / 1000)
        assert counted < sum(within)


def asked(store: VictoriaMetrics, query: str, at: float) -> float:
    """The single value that a query gives."""
    parameters: dict[str, Any] = {"query": query, "time": f"{at:.3f}", "nocache": 1}
    answer = httpx.get(f"{store.url}/api/v1/query", params=parameters)
    (found,) = answer.json()["data"]["result"]
    return float(found["value"][1])
