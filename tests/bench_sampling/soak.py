"""Hours in minutes: 100,000 points a second while servers are killed.

The store is killed twice with -9, PMCD once; at the end every point of the store is
counted and set against the bridge's account.
"""

import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tests.bench_sampling.counting import blocks, now_ms
from tests.bench_sampling.ground import (
    HOST,
    Ground,
    end_bridge,
    missing,
    running_bridge,
)
from tests.bench_sampling.stats import Estimate, slope
from tests.bench_sampling.throughput import METRICS
from tests.bench_sampling.usage import cpu_seconds, rss_mb
from tests.sampler_bridge.servers import BridgeProcess
from tests.servers import Server, VictoriaMetrics, wait_until

# Six metrics of 1,000 processes and the machine's own: 100,000 points/s and some.
PERIOD_MS = 60
PACE = 100_000
_WINDOW_MS = 20_000
# When what is killed, as a share of the time.
_STORE_AT, _PMCD_AT, _STORE_AGAIN_AT = 0.25, 0.5, 0.7
_WARM_UP = 5.0
_DRAIN = 120.0


class Moment(NamedTuple):
    """One look: seconds since the start, CPU seconds, MB, and the bridge's counts.

    It is ``calm`` when both servers answer and nothing is sent again or waits long.
    """

    at: float
    cpu: float
    rss: float
    written: int
    resent: int
    calm: bool


class Kill(NamedTuple):
    """What was killed, when it was dead, and when it was started again (Unix ms)."""

    what: str
    dead_ms: int
    started_ms: int


@dataclass
class Stored:
    """What the store holds of the host.

    ``impossible`` points have a metric that was not asked for, fall on no multiple of
    the period, or into the time in which there was no PMCD. ``first_ms`` and
    ``last_ms`` are the ends of all.
    """

    points: int = 0
    series: int = 0
    twice: int = 0
    impossible: int = 0
    first_ms: int = 0
    last_ms: int = 0


@dataclass(frozen=True)
class Soaked:
    """The run, and the two accounts of it."""

    seconds: float
    processes: int
    moments: Sequence[Moment]
    kills: Sequence[Kill]
    expected: int
    written: int
    resent: int
    waiting: int
    missing: dict[str, int]
    stored: Stored

    @property
    def open(self) -> int:
        """Points of which the bridge's account does not say where they are."""
        known = self.written + self.waiting + sum(self.missing.values())
        return self.expected - known

    @property
    def due(self) -> int:
        """Points that were due by the clock of the idle processes alone.

        A bridge that forgets to expect what it loses expects fewer.
        """
        ticks = (self.stored.last_ms - self.stored.first_ms) // PERIOD_MS + 1
        return ticks * len(METRICS) * self.processes

    def calm(self) -> tuple[float, float]:
        """CPU in % of one core and points a second, of the calm stretches alone.

        Both are 0 where there was none.
        """
        pairs = [
            (a, b)
            for a, b in zip(self.moments, self.moments[1:], strict=False)
            if a.calm and b.calm and a.resent == b.resent
        ]
        took = sum(b.at - a.at for a, b in pairs)
        if not took:
            return 0.0, 0.0
        cpu = 100 * sum(b.cpu - a.cpu for a, b in pairs) / took
        return cpu, sum(b.written - a.written for a, b in pairs) / took

    def growth(self) -> Estimate:
        """Change of memory in MB an hour, the first tenth left out."""
        late = self.moments[len(self.moments) // 10 :]
        return slope([m.at / 3600 for m in late], [m.rss for m in late])


def measure_soak(
    ground: Ground,
    processes: int,
    seconds: float,
    away: float,
    say: Callable[[str], None],
) -> Soaked:
    """One run; the bridge's state is that of its end."""
    began_ms = now_ms()
    with running_bridge(ground, METRICS, PERIOD_MS) as bridge:
        time.sleep(_WARM_UP)
        moments: list[Moment] = []
        kills: list[Kill] = []
        for kill in _events(ground, seconds, away):
            _watch(bridge, moments, kill.at)
            if kill.server is not None:
                say(f"{kill.what} killed after {kill.at:.0f} s")
                kills.append(_kill(kill, bridge, moments))
        wait_until(lambda: _is_drained(bridge), _DRAIN, "what waits in the log")
        status = end_bridge(bridge)
    say("counting what the store holds")
    return Soaked(
        seconds,
        processes,
        [m._replace(at=m.at - moments[0].at) for m in moments],
        kills,
        status["expected"],
        status["written"],
        status["resent"],
        status["queue"]["points"],
        missing(status),
        stored(ground.store, began_ms, kills, METRICS, PERIOD_MS),
    )


class _Event(NamedTuple):
    at: float
    what: str
    server: Server | None
    away: float


def _events(ground: Ground, seconds: float, away: float) -> list[_Event]:
    store, pmcd = ground.store, ground.pmcd
    return [
        _Event(_STORE_AT * seconds, "the store", store, away),
        _Event(_PMCD_AT * seconds, "PMCD", pmcd, away),
        _Event(_STORE_AGAIN_AT * seconds, "the store", store, away),
        _Event(seconds, "", None, 0.0),
    ]


def _watch(bridge: BridgeProcess, moments: list[Moment], until: float) -> None:
    """Look every second until so many seconds after the first look."""
    first = moments[0].at if moments else time.monotonic()
    while time.monotonic() - first < until:
        moments.append(_look(bridge))
        time.sleep(1.0)


def _look(bridge: BridgeProcess) -> Moment:
    status = bridge.status()
    answers = status["store"]["up"] and status["pcp"]["connected"]
    return Moment(
        time.monotonic(),
        cpu_seconds(bridge.pid),
        rss_mb(bridge.pid),
        status["written"],
        status["resent"],
        bool(answers and status["queue"]["points"] < PACE),
    )


def _kill(event: _Event, bridge: BridgeProcess, moments: list[Moment]) -> Kill:
    assert event.server
    event.server.end(signal.SIGKILL)
    dead_ms = now_ms()
    _watch(bridge, moments, event.at + event.away)
    started_ms = now_ms()
    event.server.start()
    return Kill(event.what, dead_ms, started_ms)


def _is_drained(bridge: BridgeProcess) -> bool:
    """All but the last few ticks are in the store."""
    status = bridge.status()
    return bool(status["store"]["up"] and status["queue"]["points"] < PACE)


def stored(
    store: VictoriaMetrics,
    since_ms: int,
    kills: Sequence[Kill],
    metrics: Sequence[str],
    period_ms: int,
) -> Stored:
    """Count every point of the host, a stretch of time after the other."""
    gaps = [(k.dead_ms, k.started_ms) for k in kills if k.what == "PMCD"]
    allowed = {name.replace(".", "_") for name in metrics}
    found, series = Stored(), set()
    for labels, stamps in _series(store, since_ms - period_ms):
        series.add(labels)
        once = np.unique(stamps)
        found.points += len(once)
        found.twice += len(stamps) - len(once)
        if len(once):
            found.first_ms = min(found.first_ms or int(once[0]), int(once[0]))
            found.last_ms = max(found.last_ms, int(once[-1]))
        wrong = once % period_ms != 0
        for dead_ms, started_ms in gaps:
            wrong |= (once > dead_ms) & (once < started_ms)
        wrong |= labels[0] not in allowed
        found.impossible += int(np.count_nonzero(wrong))
    found.series = len(series)
    return found


def _series(
    store: VictoriaMetrics, since_ms: int
) -> Iterator[tuple[tuple[str, ...], npt.NDArray[np.int64]]]:
    """Name, labels and stamps of each series in each stretch, up to now and beyond."""
    end_ms = now_ms() + 60_000
    for start_ms in range(since_ms, end_ms, _WINDOW_MS):
        stamps = defaultdict(list)
        until_ms = min(start_ms + _WINDOW_MS, end_ms)
        for block in blocks(store, f'{{hostname="{HOST}"}}', start_ms, until_ms):
            rest = sorted(f"{k}={v}" for k, v in block.labels.items() if k[:2] != "__")
            stamps[(block.labels["__name__"], *rest)].append(block.stamps)
        for labels, pieces in stamps.items():
            yield labels, np.concatenate(pieces)
