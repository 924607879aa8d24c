"""Many hosts in one bridge: one PMCD under many names, each with the same plan."""

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bench.sampling.counting import blocks, now_ms
from bench.sampling.ground import HOST, Ground, running_bridge, stop_bridge
from bench.sampling.overhead import SERIES
from bench.sampling.ticks import CLOCK
from bench.sampling.usage import Meter, Usage
from tests.servers import VictoriaMetrics, wait_until

_WARM_UP = 2.0
_CLOCK = CLOCK.replace(".", "_")
_ALL = f'{{__name__=~"{_CLOCK}|{SERIES.replace(".", "_")}"}}'


@dataclass(frozen=True)
class ManyHosts:
    """Points of all hosts in a time span, and what the processes used.

    ``spread`` are the ms between the first and the last host's fetch of a tick: median,
    99 % quantile and maximum over the ``whole_ticks``, which all hosts have.
    """

    hosts: int
    seconds: float
    expected: int
    inserted: int
    whole_ticks: int
    spread: tuple[float, float, float]
    usage: Mapping[str, Usage]


def measure_hosts(
    ground: Ground, number: int, series: int, period_ms: int, seconds: float
) -> ManyHosts:
    """Measure with one number of hosts."""
    ground.pmcd.store("sample.many.count", str(series))
    names = [HOST, *(f"{HOST}-{n}" for n in range(2, number + 1))]
    others = dict.fromkeys(names[1:], ground.pmcd.address)
    began_ms = now_ms()
    with running_bridge(ground, (CLOCK, SERIES), period_ms, others=others) as bridge:
        store = ground.store
        wait_until(lambda: _hosts(store, began_ms) == number, 60, "all hosts")
        time.sleep(_WARM_UP)
        ticks = int(1000 * seconds) // period_ms
        start_ms = (now_ms() // period_ms + 1) * period_ms
        meter = Meter(ground.parts() | {"bridge": bridge.pid})
        time.sleep(seconds + 2 * period_ms / 1000)
        usage = meter.read()
        stop_bridge(bridge)
    end_ms = start_ms + ticks * period_ms
    inserted, off = _count(store, start_ms, end_ms)
    whole = [max(tick) - min(tick) for tick in off.values() if len(tick) == number]
    quantiles = [float(np.quantile(whole or [0.0], q)) for q in (0.5, 0.99, 1.0)]
    return ManyHosts(
        number,
        ticks * period_ms / 1000,
        ticks * number * (series + 1),
        inserted,
        len(whole),
        (quantiles[0], quantiles[1], quantiles[2]),
        usage,
    )


def _hosts(store: VictoriaMetrics, since_ms: int) -> int:
    """How many hosts have points since a moment."""
    found = blocks(store, _CLOCK, since_ms, now_ms() + 1000)
    return len({block.labels["hostname"] for block in found if len(block.stamps)})


def _count(
    store: VictoriaMetrics, start_ms: int, end_ms: int
) -> tuple[int, dict[int, list[float]]]:
    """The number of points, and the clock's values of each tick."""
    inserted, clocks = 0, defaultdict(list)
    for block in blocks(store, _ALL, start_ms, end_ms):
        inserted += len(np.unique(block.stamps))
        if block.labels["__name__"] == _CLOCK:
            for stamp, value in zip(block.stamps, block.values, strict=True):
                clocks[int(stamp)].append(float(value))
    return inserted, clocks
