"""Sends what waits in the logs to the store, and again what the store may have lost.

One sender for all hosts: what their logs hold goes in one write, since hosts tick
together. The store may lose what it acknowledged in its last seconds when it is killed,
so a store that was started anew is sent the last minute again; it keeps one of two
equal points. While it is away, everything waits in the logs.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from threading import Event
from typing import NamedTuple

from sampler_bridge.errors import StoreDownError
from sampler_bridge.log.batch import Batch
from sampler_bridge.sending.outbox import Outbox
from sampler_bridge.sending.remote_write import cut
from sampler_bridge.sending.store import Refusal, Store
from sampler_bridge.worker import Worker
from sampling.account.cost import Latency

_LOG = logging.getLogger(__name__)

# Of the log; a request has up to ten times as many where no series has two ticks in it.
BATCH_BYTES = 1024 * 1024
# Of a request: VictoriaMetrics takes 32 MiB, and a single tick may have more.
_MOST_BYTES = 16 * 1024 * 1024
_CHECK_SECONDS = 5.0  # how often the store is asked whether it was started anew
_SHOW_SECONDS = 0.8  # at most how often it is asked to show new points
# How long those who tick meanwhile are waited for: until sending takes a fiftieth of
# the time, since what it costs is told by series more than by ticks.
_LEAST_GATHER, _MOST_GATHER, _GATHER_FOR_EACH = 0.02, 0.5, 50.0
_YOUNG_SECONDS = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0


class StoreState(NamedTuple):
    """How the store does, for the status file."""

    url: str
    up: bool
    reason: str | None
    last_ack_ms: int | None


class _Parcel(NamedTuple):
    """What is sent of one outbox at once."""

    box: Outbox
    batch: Batch
    request: bytes


class Writer(Worker):
    """The sender of all outboxes that it was given; any thread may give some.

    ``latency`` is that of the store's writes.
    """

    def __init__(self, store: Store, latency: Latency) -> None:
        super().__init__("writer")
        self.latency = latency
        self.state = StoreState(store.url, False, "not reached yet", None)
        self._store = store
        self._boxes: tuple[Outbox, ...] = ()
        self._suspect = False
        self._pause = _FIRST_PAUSE
        self._took = 0.0
        self._is_behind = False
        self._check_at = 0.0
        self._show_at = 0.0
        self._unseen = False
        self._more = Event()
        self._stop = Event()
        self._drain_until = 0.0

    def add(self, box: Outbox) -> None:
        """Send what is in this one, too; `told` is to be called when there is more."""
        if box not in self._boxes:
            self._boxes = (*self._boxes, box)
        self._check_at = 0.0  # it may have been sent to another run of the store
        self._more.set()

    def remove(self, box: Outbox) -> None:
        """Send nothing more of this one."""
        self._boxes = tuple(one for one in self._boxes if one is not box)

    def told(self) -> None:
        """There is more to send."""
        self._more.set()

    def stop(self, seconds: float) -> None:
        """Send what waits while the store takes it, ``seconds`` at most, and end."""
        self._drain_until = time.monotonic() + seconds
        self._stop.set()
        self._more.set()
        self._thread.join(seconds + 1.0)

    def _work(self) -> None:
        while self._goes_on():
            try:
                self._step()
            except StoreDownError as error:
                self._away(error)
        self._store.close()

    def _goes_on(self) -> bool:
        if not self._stop.is_set():
            return True
        late = time.monotonic() >= self._drain_until
        more = self._unseen or self._has_more()
        return self.state.up and more and not late

    def _step(self) -> None:
        if time.monotonic() >= self._check_at:
            self._check()
        due = self._show_at if self._unseen else self._check_at
        self._wait(max(due - time.monotonic(), 0.0))
        began = time.monotonic()
        self._send()
        self._took = time.monotonic() - began
        if self._unseen and (time.monotonic() >= self._show_at or self._stop.is_set()):
            self._show()

    def _has_more(self) -> bool:
        return any(box.is_due for box in self._boxes)

    def _wait(self, seconds: float) -> None:
        """Wait until there is something to send, and what comes with it."""
        hurry = self._is_behind or self._stop.is_set()
        if not hurry and (self._has_more() or self._more.wait(seconds)):
            wanted = _GATHER_FOR_EACH * self._took
            self._stop.wait(min(max(wanted, _LEAST_GATHER), _MOST_GATHER))
        self._more.clear()

    def _check(self) -> None:
        """Start the last minute again where the store was started anew."""
        run = self._store.started()
        self._check_at = time.monotonic() + _CHECK_SECONDS
        suspect = self._suspect and _is_young(run)
        again = [box.met(run, suspect) for box in self._boxes]
        if any(again):
            _LOG.info("store %s was started anew: sending again", self._store.url)
        if not self._has_more():  # else it is a write that tells: its disk may be full
            self._back()

    def _send(self) -> None:
        waiting = [box for box in self._boxes if box.is_due]
        together = [box for box in waiting if not box.is_doubted]
        doubted = [box for box in waiting if box.is_doubted]
        share = BATCH_BYTES // max(len(together), 1)
        self._is_behind = False
        parcels = list(self._parcels(together, share))
        refusal = self._write(b"".join(parcel.request for parcel in parcels))
        for parcel in parcels:
            # What one host has is no reason to lose that of the others.
            alone = len(parcels) == 1 or not refusal
            self._conclude(parcel, refusal if alone else self._write(parcel.request))
        for parcel in self._parcels(doubted, share):
            self._conclude(parcel, self._write(parcel.request))

    def _parcels(self, boxes: Sequence[Outbox], share: int) -> Iterator[_Parcel]:
        """What is sent of each next, as far as its log can be read."""
        for box in boxes:
            batch = box.read(share)
            if batch is not None:
                self._is_behind |= box.leaves(batch)
                yield _Parcel(box, batch, box.request(batch))

    def _write(self, request: bytes) -> Refusal | None:
        for part in cut(request, _MOST_BYTES):
            refusal = self._store.write(part)
            self._back()
            if refusal:
                return refusal
        return None

    def _conclude(self, parcel: _Parcel, refusal: Refusal | None) -> None:
        box, batch, request = parcel
        if refusal and len(batch.entries) > 1:
            box.doubt(batch)
            return
        box.settle(batch, len(request), refusal)
        if refusal:
            _LOG.warning("store %s refused points: %s", self._store.url, refusal.reason)
        elif batch.entries:
            self.state = self.state._replace(last_ack_ms=time.time_ns() // 1_000_000)
            self._unseen = True

    def _show(self) -> None:
        self._store.show()
        self._show_at = time.monotonic() + _SHOW_SECONDS
        self._unseen = False

    def _back(self) -> None:
        if not self.state.up:
            _LOG.info("store %s takes points", self._store.url)
        self.state = self.state._replace(up=True, reason=None)
        self._pause = _FIRST_PAUSE
        self._suspect = False

    def _away(self, error: StoreDownError) -> None:
        if self.state.up or self._pause == _FIRST_PAUSE:
            _LOG.warning("%s", error)
        self.state = self.state._replace(up=False, reason=str(error))
        self._suspect = True
        self._check_at = 0.0
        self._stop.wait(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)


def _is_young(run: float | None) -> bool:
    """Whether two runs may have started in the same second, which is all they tell."""
    return run is None or time.time() - run < _YOUNG_SECONDS
