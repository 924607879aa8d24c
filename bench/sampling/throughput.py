"""Tables 5.2 and 5.3: what arrives of what was asked for, by frequency and metrics.

The bridge and pcp2influxdb take turns, each alone, from the same PMCD into the same
store; the bare pmFetch loop runs before and after them, and its better run counts.
Counted are the points of our own idle processes, whose number is known exactly; all
others are load.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from bench.sampling.counting import OURS, PEERS, Counted, count, now_ms, ticks
from bench.sampling.ground import Ground, period_of, running_bridge, stop_bridge
from bench.sampling.idle import NAME
from bench.sampling.limit import fetches_a_second, never_zero
from bench.sampling.peer import DATABASE, Peer
from bench.sampling.usage import Meter, Usage
from tests.servers import wait_until

# All of /proc/PID/stat: one file a process. The first, second and fifth are above zero
# for as long as a process lives.
METRICS = (
    "proc.psinfo.rss",
    "proc.psinfo.vsize",
    "proc.psinfo.utime",
    "proc.psinfo.stime",
    "proc.psinfo.start_time",
    "proc.psinfo.minflt",
)
# By how many files the agent reads of each process. Those of three (stat, status, io)
# are the five of the thesis' appendix B and one more.
SETS = {
    1: METRICS,
    3: (
        "proc.psinfo.rss",
        "proc.psinfo.vctxsw",
        "proc.psinfo.utime",
        "proc.psinfo.stime",
        "proc.psinfo.nvctxsw",
        "proc.io.rchar",
    ),
}
_WARM_UP = 2.0
_PATIENCE = 10.0


@dataclass(frozen=True)
class Side:
    """What one competitor delivered, what it and its servers used, and its excuses.

    ``waiting`` points were fetched and not yet sent when the window ended: a store
    that is too slow shows there.
    """

    expected: int
    counted: Counted
    seconds: float
    usage: Mapping[str, Usage]
    missing: Mapping[str, int]
    waiting: int = 0

    @property
    def rate(self) -> float:
        """Points a second."""
        return self.counted.inserted / self.seconds

    @property
    def lost(self) -> float:
        """Lost points in % of the expected ones; who catches up may have more."""
        return max(100 * (1 - self.counted.inserted / self.expected), 0.0)


@dataclass(frozen=True)
class Cell:
    """One row of the table; ``limit`` is the bare loop's points a second.

    ``files`` is how many the agent reads of each process for these metrics.
    """

    hertz: int
    metrics: int
    files: int
    period_ms: int
    ours: Side
    peer: Side
    limit: float

    @property
    def asked(self) -> float:
        """Points a second that were asked for."""
        return self.ours.expected / self.ours.seconds

    @property
    def of_limit(self) -> float:
        """Our points over what can be had: as asked, or as the bare loop gets."""
        return self.ours.rate / min(self.asked, self.limit)


@dataclass(frozen=True)
class Race:
    """How every cell is measured."""

    ground: Ground
    pids: Sequence[int]
    seconds: float

    def cell(self, hertz: int, number: int, files: int) -> Cell:
        """Both competitors and the limit at one frequency and number of metrics.

        Who is first changes with the number of metrics.
        """
        period_ms, metrics = period_of(hertz), SETS[files][:number]
        before = self._bare(metrics)
        if number % 2:
            peer = self._peers(metrics, period_ms)
            ours = self._ours(metrics, period_ms)
        else:
            ours = self._ours(metrics, period_ms)
            peer = self._peers(metrics, period_ms)
        limit = max(before, self._bare(metrics))
        return Cell(hertz, number, files, period_ms, ours, peer, limit)

    def _bare(self, metrics: Sequence[str]) -> float:
        """Points a second that the bare loop gets."""
        address, seconds = self.ground.pmcd.address, self.seconds / 4
        fetches = fetches_a_second(address, metrics, seconds)
        return fetches * len(metrics) * len(self.pids)

    def _ours(self, metrics: Sequence[str], period_ms: int) -> Side:
        with running_bridge(self.ground, metrics, period_ms) as bridge:
            time.sleep(_WARM_UP)
            start_ms = (now_ms() // period_ms + 1) * period_ms
            usage = self._watch({"bridge": bridge.pid}, period_ms)
            waiting = bridge.status()["queue"]["points"]
            missing = stop_bridge(bridge)
        side = self._side(OURS, metrics, period_ms, start_ms, usage, missing)
        return replace(side, waiting=waiting)

    def _peers(self, metrics: Sequence[str], period_ms: int) -> Side:
        one = f"{METRICS[0].replace('.', '_')}__{self.pids[0]:06}_{NAME}(_.*)?"
        match, began_ms = f'{{__name__=~"{one}",db="{DATABASE}"}}', now_ms()
        seen = self._ticks_since(match, began_ms)
        folder, pmcd = self.ground.folder / "peer", self.ground.pmcd
        with Peer(folder, pmcd, self.ground.store, metrics, period_ms) as peer:
            wait_until(lambda: peer.ended() is not None or seen(), 60, "pcp2influxdb")
            assert peer.ended() is None, peer.output()[-2000:]
            time.sleep(_WARM_UP)
            warm_ms = now_ms()
            usage = self._watch({"pcp2influxdb": peer.pid}, period_ms)
            assert peer.ended() is None, peer.output()[-2000:]
            # its ticks have no common phase: half a period on either side of the first
            first, *_ = [*self._ticks_since(match, warm_ms)(), warm_ms]
            start_ms = first - period_ms // 2
            self._until_sent(match, start_ms + self._number(period_ms) * period_ms)
        return self._side(PEERS, metrics, period_ms, start_ms, usage, {})

    def _ticks_since(self, match: str, start_ms: int) -> Callable[[], list[int]]:
        store = self.ground.store
        return lambda: ticks(store, match, start_ms, now_ms() + 1000)

    def _until_sent(self, match: str, end_ms: int) -> None:
        """Let what was fetched in the window arrive, as the bridge may at its end."""
        beyond, until = self._ticks_since(match, end_ms), time.monotonic() + _PATIENCE
        while not beyond() and time.monotonic() < until:
            time.sleep(0.2)

    def _number(self, period_ms: int) -> int:
        """Ticks of a window."""
        return int(1000 * self.seconds) // period_ms

    def _watch(self, pids: Mapping[str, int], period_ms: int) -> dict[str, Usage]:
        """Let the window pass, and a second for what is under way."""
        meter = Meter(self.ground.parts() | pids)
        time.sleep(self.seconds + 2 * period_ms / 1000)
        usage = meter.read()
        time.sleep(1.0)
        return usage

    def _side(
        self,
        match: str,
        metrics: Sequence[str],
        period_ms: int,
        start_ms: int,
        usage: Mapping[str, Usage],
        missing: Mapping[str, int],
    ) -> Side:
        number = self._number(period_ms)
        end_ms = start_ms + number * period_ms
        store, address = self.ground.store, self.ground.pmcd.address
        sound = never_zero(address, metrics, self.pids)
        assert sound, f"none of {metrics} is above zero for every idle process"
        counted = count(store, match, start_ms, end_ms, sound)
        expected = number * len(metrics) * len(self.pids)
        seconds = number * period_ms / 1000
        return Side(expected, counted, seconds, usage, missing)
