"""A control process that beats next to a bridge under test and shows machine stalls.

The bridge itself reports why a tick is missing. A late tick counts as excused only if a
process that does nothing but wake up was held up at the same time.
"""

import sys
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.servers import Server

# Delays of late beats add up, around a tick and over a longer span: the bridge also
# computes, and falls behind where the control only waits often. A period of a second
# leaves time for that.
_PART, _PART_OF_LONG = 1 / 8, 1 / 2
_WHILE_MS, _LONG_MS = 500, 1000
# What the bridge may miss although the control, which does so little, did not: one tick
# or this share of all; nothing for periods from one second on.
_MISSED, _SHARE = 1, 0.02
_PROGRAM = Path(__file__).with_name("beat.py")


class Heartbeat(Server):
    """The control process; it covers the time between its start and its end."""

    def start(self) -> None:
        self._beats = self.folder / "beats"
        self.launch([sys.executable, "-S", "-E", _PROGRAM, self._beats])
        self.ready(lambda: self._beats.exists() and self._beats.stat().st_size)

    def held_up(self, ticks: Iterable[int], period_ms: int) -> set[int]:
        """The ticks, of a period in ms, around which beats were late."""
        asked = np.array(sorted(ticks), np.int64)
        part = _PART_OF_LONG if period_ms >= _LONG_MS else _PART
        held_up = np.zeros(len(asked), np.bool_)
        for span_ms in (period_ms, max(period_ms, _WHILE_MS)):
            held_up |= self._late(asked, span_ms) > part * span_ms
        return {*asked[held_up].tolist()}

    def _late(
        self, ticks: npt.NDArray[np.int64], span_ms: int
    ) -> npt.NDArray[np.int64]:
        """Total delay in ms of the beats within a span around each tick."""
        raw = self._beats.read_bytes()
        due, done = np.frombuffer(raw[: len(raw) // 16 * 16], np.int64).reshape(-1, 2).T
        late = np.cumsum([0, *(done - due)])
        first = np.searchsorted(done, ticks - span_ms, side="right")
        return np.asarray(late[np.searchsorted(due, ticks + span_ms)] - late[first])

    def lost(
        self, due: Iterable[int], there: Collection[int], period_ms: int
    ) -> list[int]:
        """Ticks that are absent although the machine was not held up."""
        absent = {*due} - {*there}
        return sorted(absent - self.held_up(absent, period_ms))

    def assert_every_tick(
        self,
        points: Collection[int],
        period_ms: int,
        bounds: tuple[int, int] | None = None,
        strict: bool = False,
    ) -> None:
        """Assert that a series has every tick within bounds (ms), else within its own.

        Ticks may be absent where the machine was held up. If not ``strict``, periods
        below a second may also lack one tick or a fiftieth of all.
        """
        first, last = bounds or (min(points), max(points))
        due = range(first, last + 1, period_ms)
        assert due
        assert {ms for ms in points if first <= ms <= last} <= {*due}
        lost = self.lost(due, points, period_ms)
        none = strict or period_ms >= _LONG_MS
        assert len(lost) <= (0 if none else max(_MISSED, _SHARE * len(due))), lost
