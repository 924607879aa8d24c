"""What the bridge itself costs at a pace of about 100,000 points a second."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.bench_sampling.ground import Ground, running_bridge, stop_bridge
from tests.bench_sampling.throughput import METRICS
from tests.bench_sampling.usage import cpu_seconds, rss_mb

PACE = 100_000
PERIOD_MS = 62
_WARM_UP = 5.0


@dataclass(frozen=True)
class Cost:
    """CPU in % of one core, points a second, and resident memory (MB) by second."""

    cpu: float
    rate: float
    rss: list[tuple[float, float]]
    missing: dict[str, int]

    @property
    def cpu_at_pace(self) -> float:
        """CPU scaled to the pace: what was sampled is a little off it."""
        return self.cpu * PACE / self.rate

    @property
    def most(self) -> float:
        """The largest memory seen."""
        return max(mb for _, mb in self.rss)

    @property
    def growth(self) -> float:
        """Mean memory of the last tenth of the time over that of the second tenth."""
        tenth = max(len(self.rss) // 10, 1)
        sizes = [mb for _, mb in self.rss]
        return sum(sizes[-tenth:]) / sum(sizes[tenth : 2 * tenth])


def measure_cost(ground: Ground, seconds: float, say: Callable[[str], None]) -> Cost:
    """Six metrics of every process, as long as told; memory at 60 moments."""
    with running_bridge(ground, METRICS, PERIOD_MS) as bridge:
        time.sleep(_WARM_UP)
        before, began = cpu_seconds(bridge.pid), time.monotonic()
        written, rss = bridge.status()["written"], []
        while (passed := time.monotonic() - began) < seconds:
            rss.append((passed, rss_mb(bridge.pid)))
            time.sleep(seconds / 60)
        took = time.monotonic() - began
        busy = cpu_seconds(bridge.pid) - before
        rate = (bridge.status()["written"] - written) / took
        missing = stop_bridge(bridge)
    say(f"bridge alone: {rate:,.0f} points/s for {took:.0f} s")
    return Cost(100 * busy / took, rate, rss, missing)
