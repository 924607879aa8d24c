"""Hours in minutes: 100,000 points a second while servers are killed.

The store is killed with -9 three times, once for long, and PMCD once. At the end, every
point of the store is counted and compared with the bridge's account.
"""

import math
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bench.sampling.counting import now_ms
from bench.sampling.ground import Ground, end_bridge, missing, running_bridge
from bench.sampling.profiles import Soak
from bench.sampling.stats import Estimate, slope
from bench.sampling.stored import Asked, Kill, Stored, stored
from bench.sampling.throughput import METRICS
from bench.sampling.usage import cpu_seconds, rss_mb
from sampling.account.reasons import GapReason
from tests.sampler_bridge.servers import BridgeProcess
from tests.servers import Server, wait_until

# Six metrics of 1,000 processes and the machine's own: just over 100,000 points/s.
PERIOD_MS = 60
PACE = 100_000
# When each server is killed, as a share of the time.
_STORE_AT, _LONG_AT, _PMCD_AT, _STORE_AGAIN_AT = 0.1, 0.2, 0.7, 0.85
# Reasons for which all points of a tick are missing at once.
_OF_WHOLE_TICKS = (
    *(GapReason.LATE, GapReason.SLOW, GapReason.DOWN, GapReason.REFUSED),
    *(GapReason.LOG_FULL, GapReason.LOG_FAILED, GapReason.LOG_DAMAGED),
)
_WARM_UP = 5.0
_DRAIN = 120.0


class Moment(NamedTuple):
    """One look: seconds since the start, CPU seconds, MB, and the bridge's counts.

    It is ``calm`` when both servers answer and nothing is re-sent or waits long.
    ``waiting`` points and ``log_bytes`` are in the log at ``ms`` (Unix). ``missed``
    counts the missing points of whole ticks up to ``tick_ms``, and perhaps of a few
    after it.
    """

    at: float
    cpu: float
    rss: float
    written: int
    resent: int
    calm: bool
    ms: int
    waiting: int
    log_bytes: int
    tick_ms: int
    missed: int


class Outage(NamedTuple):
    """A kill, and the most points and bytes that waited in the log after it.

    ``caught_up`` is the number of seconds from the restart until all is as before, to
    the second; None if another kill came first.
    """

    kill: Kill
    waiting: int
    log_bytes: int
    caught_up: float | None


@dataclass(frozen=True)
class Soaked:
    """The run, and the two accounts of it."""

    seconds: float
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
        """Points that the bridge's account does not explain."""
        known = self.written + self.waiting + sum(self.missing.values())
        return self.expected - known

    def ticks(self) -> list[tuple[int, int]]:
        """Whole ticks that the store lacks, and that the account misses, at each look.

        Only for looks that can be judged: the tick after the look's tick is present.
        Points become ticks from look to look: for a missing tick, more points are
        missing than the store has of the tick before it, because of series without a
        name; this surplus must not add up.
        """
        stamps = np.array([ms for ms, _ in self.stored.absent], np.int64)
        points = np.cumsum([0, *(points for _, points in self.stored.absent)])
        a_tick = self.stored.points / max(self._ticks_there, 1)
        found, lacked, missed, surplus = [], 0, 0, 0
        for moment in self.moments:
            if moment.tick_ms + PERIOD_MS not in stamps:
                lacks = int(np.searchsorted(stamps, moment.tick_ms, side="right"))
                more = moment.missed - int(points[lacks])
                missed += lacks - lacked + round((more - surplus) / a_tick)
                lacked, surplus = lacks, more
                found.append((lacked, missed))
        return found

    @property
    def _ticks_there(self) -> int:
        due = (self.stored.last_ms - self.stored.first_ms) // PERIOD_MS + 1
        return due - len(self.stored.absent)

    def calm(self) -> tuple[float, float]:
        """CPU in % of one core and points a second, over calm stretches only.

        Both are 0 if there was none.
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
        """Growth of memory in MB an hour over calm moments, without the first tenth."""
        late = [m for m in self.moments[len(self.moments) // 10 :] if m.calm]
        return slope([m.at / 3600 for m in late], [m.rss for m in late])

    def outages(self) -> list[Outage]:
        """The backlog after each kill."""
        ends = [*(kill.dead_ms for kill in self.kills[1:]), math.inf]
        return [
            _outage(kill, [m for m in self.moments if kill.dead_ms <= m.ms < end])
            for kill, end in zip(self.kills, ends, strict=True)
        ]


def _outage(kill: Kill, moments: Sequence[Moment]) -> Outage:
    back = (m.ms for m in moments if m.ms > kill.started_ms and m.calm)
    caught_up = next(back, None)
    return Outage(
        kill,
        max((m.waiting for m in moments), default=0),
        max((m.log_bytes for m in moments), default=0),
        None if caught_up is None else (caught_up - kill.started_ms) / 1000,
    )


def measure_soak(
    ground: Ground, processes: int, plan: Soak, say: Callable[[str], None]
) -> Soaked:
    """One run; the bridge's state is read at its end."""
    began_ms = now_ms()
    with running_bridge(ground, METRICS, PERIOD_MS) as bridge:
        time.sleep(_WARM_UP)
        moments: list[Moment] = []
        kills: list[Kill] = []
        for event in _events(ground, plan):
            _watch(bridge, moments, event.at)
            say(f"{event.what} killed after {event.at:.0f} s, for {event.down:.0f} s")
            kills.append(_kill(event, bridge, moments))
        _watch(bridge, moments, plan.seconds)
        wait_until(lambda: _is_drained(bridge), _DRAIN, "what waits in the log")
        status = end_bridge(bridge)
    say("counting what the store holds")
    asked = Asked(METRICS, PERIOD_MS, processes)
    return Soaked(
        plan.seconds,
        [m._replace(at=m.at - moments[0].at) for m in moments],
        kills,
        status["expected"],
        status["written"],
        status["resent"],
        status["queue"]["points"],
        missing(status),
        stored(ground.store, began_ms, kills, asked),
    )


class _Event(NamedTuple):
    at: float
    what: str
    server: Server
    down: float


def _events(ground: Ground, plan: Soak) -> list[_Event]:
    store, pmcd = ground.store, ground.pmcd
    return [
        _Event(_STORE_AT * plan.seconds, "the store", store, plan.down),
        _Event(_LONG_AT * plan.seconds, "the store", store, plan.outage),
        _Event(_PMCD_AT * plan.seconds, "PMCD", pmcd, plan.down),
        _Event(_STORE_AGAIN_AT * plan.seconds, "the store", store, plan.down),
    ]


def _watch(bridge: BridgeProcess, moments: list[Moment], until: float) -> None:
    """Look every second until this many seconds after the first look."""
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
        now_ms(),
        status["queue"]["points"],
        status["queue"]["bytes"],
        status["last_tick_ms"],
        sum(status["reasons"][why] for why in _OF_WHOLE_TICKS),
    )


def _kill(event: _Event, bridge: BridgeProcess, moments: list[Moment]) -> Kill:
    event.server.end(signal.SIGKILL)
    dead_ms = now_ms()
    _watch(bridge, moments, event.at + event.down)
    started_ms = now_ms()
    event.server.start()
    return Kill(event.what, dead_ms, started_ms)


def _is_drained(bridge: BridgeProcess) -> bool:
    """Whether all but the last few ticks are in the store."""
    status = bridge.status()
    return bool(status["store"]["up"] and status["queue"]["points"] < PACE)
