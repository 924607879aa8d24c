"""Tables 5.2 and 5.3: which of the requested points arrive, by frequency and metrics.

The bridge and pcp2influxdb take turns, each alone, with the same PMCD and the same
store; the bare pmFetch loop runs before and after them, and its better run counts. Only
points of our own idle processes count, as their number is known exactly; all others are
load.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.sampling.counting import OURS, PEERS, Counted, count, now_ms, ticks
from bench.sampling.ground import Ground, period_of, running_bridge, stop_bridge
from bench.sampling.idle import NAME
from bench.sampling.limit import fetches_a_second, never_zero
from bench.sampling.peer import DATABASE, Peer
from bench.sampling.usage import Meter, Usage, program_of
from core.linux.priority import NORMAL
from tests.servers import wait_until

# All from /proc/PID/stat: one file a process. The first, second and fifth stay above
# zero as long as a process lives.
METRICS = (
    "proc.psinfo.rss",
    "proc.psinfo.vsize",
    "proc.psinfo.utime",
    "proc.psinfo.stime",
    "proc.psinfo.start_time",
    "proc.psinfo.minflt",
)
# By the number of files that the agent reads of each process. The metrics from three
# files (stat, status, io) are the five of the thesis' appendix B and one more.
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
    """One competitor's points, the usage of it and its servers, and missing points.

    ``waiting`` points were fetched and not sent when the window ended, for example
    because the store is too slow.
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
        """Lost points in % of the expected; not negative when late points arrive."""
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
        """Requested points a second."""
        return self.ours.expected / self.ours.seconds

    @property
    def of_limit(self) -> float:
        """Our points relative to what is possible: as requested, or the bare loop's."""
        return self.ours.rate / min(self.asked, self.limit)


@dataclass(frozen=True)
class Race:
    """The conditions under which every cell is measured."""

    ground: Ground
    pids: Sequence[int]
    seconds: float

    def cell(self, hertz: int, number: int, files: int) -> Cell:
        """Both competitors and the limit at one frequency and number of metrics.

        The number of metrics decides which competitor runs first.
        """
        period_ms, metrics = period_of(hertz), SETS[files][:number]
        before = self._bare(metrics)
        if number % 2:
            peer = self._peers(metrics, period_ms)
            ours = self.ours(metrics, period_ms)
        else:
            ours = self.ours(metrics, period_ms)
            peer = self._peers(metrics, period_ms)
        limit = max(before, self._bare(metrics))
        return Cell(hertz, number, files, period_ms, ours, peer, limit)

    def _bare(self, metrics: Sequence[str]) -> float:
        """Points a second that the bare loop gets."""
        address, seconds = self.ground.pmcd.address, self.seconds / 4
        fetches = fetches_a_second(address, metrics, seconds)
        return fetches * len(metrics) * len(self.pids)

    def ours(
        self,
        metrics: Sequence[str],
        period_ms: int,
        reader: Path | None = None,
        priority: str = NORMAL,
    ) -> Side:
        """The bridge's points; ``reader`` reads the processes, by default PCP does."""
        with running_bridge(
            self.ground, metrics, period_ms, priority=priority, process_reader=reader
        ) as bridge:
            time.sleep(_WARM_UP)
            pids = {"bridge": bridge.pid}
            if reader is not None:
                pids["reader"] = program_of(bridge.pid, reader)
            start_ms = (now_ms() // period_ms + 1) * period_ms
            usage = self._watch(pids, period_ms)
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
            # its ticks have no common phase: start half a period before the first
            first, *_ = [*self._ticks_since(match, warm_ms)(), warm_ms]
            start_ms = first - period_ms // 2
            self._until_sent(match, start_ms + self._number(period_ms) * period_ms)
        return self._side(PEERS, metrics, period_ms, start_ms, usage, {})

    def _ticks_since(self, match: str, start_ms: int) -> Callable[[], list[int]]:
        store = self.ground.store
        return lambda: ticks(store, match, start_ms, now_ms() + 1000)

    def _until_sent(self, match: str, end_ms: int) -> None:
        """Wait for the window's points that are still being sent, as the bridge may."""
        beyond, until = self._ticks_since(match, end_ms), time.monotonic() + _PATIENCE
        while not beyond() and time.monotonic() < until:
            time.sleep(0.2)

    def _number(self, period_ms: int) -> int:
        """Number of ticks in a window."""
        return int(1000 * self.seconds) // period_ms

    def _watch(self, pids: Mapping[str, int], period_ms: int) -> dict[str, Usage]:
        """Wait for the window to end, and a second for points in transit."""
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
