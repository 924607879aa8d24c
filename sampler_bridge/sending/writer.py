"""Sends waiting points from the logs to the store, and resends what it may have lost.

One sender serves all hosts and sends their points in one write, since hosts tick
together. While nobody reads the series, it sends several ticks together, which costs
little more than one. A killed store may lose what it acknowledged in its last seconds,
so a restarted store gets the last minute again; it keeps one of two equal points. While
the store is unreachable, everything waits in the logs.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from threading import Event
from typing import NamedTuple

from sampler_bridge.errors import StoreDownError
from sampler_bridge.log.batch import Batch
from sampler_bridge.sending.outbox import Outbox
from sampler_bridge.sending.readers import Readers
from sampler_bridge.sending.remote_write import cut
from sampler_bridge.sending.store import Refusal, StoreConnection
from sampler_bridge.worker import Worker
from sampling.account.cost import Latency

_LOG = logging.getLogger(__name__)

# Bytes of the log. The request has up to ten times as many if no series in it has two
# ticks.
BATCH_BYTES = 1024 * 1024
# Bytes of a request: VictoriaMetrics accepts 32 MiB, and a single tick may have more.
_MOST_BYTES = 16 * 1024 * 1024
# Between checks whether the store was restarted, and whether anybody reads from it.
_CHECK_SECONDS = 5.0
_SHOW_SECONDS = 0.8  # at least, between requests to show new points
# How long to gather points before sending: 50 times as long as the last write took, so
# that writes take a fiftieth of the time. The cost of a write depends on the number of
# its series more than on that of its ticks.
_LEAST_GATHER, _MOST_GATHER, _GATHER_FOR_EACH = 0.02, 0.5, 50.0
# While nobody reads: how long to gather points, unless a host has many of them by the
# first look, since points of the rest of the time would make a large request.
_FIRST_LOOK, _UNREAD_GATHER, _MANY_POINTS = 1.0, 5.0, 5000
_YOUNG_SECONDS = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0


class StoreState(NamedTuple):
    """The state of the store, for the status file."""

    url: str
    up: bool
    reason: str | None
    last_ack_ms: int | None


class _OutboxBatch(NamedTuple):
    """The part of a write that one outbox contributes."""

    box: Outbox
    batch: Batch
    request: bytes


class Writer(Worker):
    """Sends the points of all its outboxes; any thread may add one.

    ``latency`` is that of the store's writes.
    """

    def __init__(self, store: StoreConnection, latency: Latency) -> None:
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
        self._readers = Readers()
        self._show_at = 0.0
        self._unseen = False
        self._more = Event()
        self._stop = Event()
        self._drain_until = 0.0

    def add(self, box: Outbox) -> None:
        """Also send the points of this outbox; call `notify` when it has more."""
        if box not in self._boxes:
            self._boxes = (*self._boxes, box)
        self._check_at = 0.0  # its points may have gone to another run of the store
        self._more.set()

    def remove(self, box: Outbox) -> None:
        """Send nothing more from this outbox."""
        self._boxes = tuple(one for one in self._boxes if one is not box)

    def notify(self) -> None:
        """Note that there is more to send."""
        self._more.set()

    def stop(self, seconds: float) -> None:
        """Send waiting points while the store takes them, ``seconds`` at most."""
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
        """Wait until there is something to send, then gather more for a moment."""
        hurry = self._is_behind or self._stop.is_set()
        if not hurry and (self._has_more() or self._more.wait(seconds)):
            self._gather()
        self._more.clear()

    def _gather(self) -> None:
        """Wait for more points: longer while nobody reads them, unless many wait."""
        wanted = _GATHER_FOR_EACH * self._took
        self._stop.wait(min(max(wanted, _LEAST_GATHER), _MOST_GATHER))
        for pause in (_FIRST_LOOK, _UNREAD_GATHER - _FIRST_LOOK):
            if self._may_wait():
                self._stop.wait(pause)

    def _may_wait(self) -> bool:
        """Whether nobody misses the waiting points, and they are few."""
        if self._stop.is_set() or self._readers.are_there(time.monotonic()):
            return False
        return all(box.log.waiting < _MANY_POINTS for box in self._boxes)

    def _check(self) -> None:
        """Resend the last minute if the store was restarted; note who reads from it."""
        run, reads = self._store.run()
        self._check_at = time.monotonic() + _CHECK_SECONDS
        self._readers.count(reads, time.monotonic())
        suspect = self._suspect and _is_young(run)
        again = [box.met(run, suspect) for box in self._boxes]
        if any(again):
            _LOG.info("store %s was restarted: sending again", self._store.url)
        # If there is something to send, only the write shows whether the store accepts
        # points: its disk may be full.
        if not self._has_more():
            self._back()

    def _send(self) -> None:
        waiting = [box for box in self._boxes if box.is_due]
        together = [box for box in waiting if not box.is_isolating]
        doubted = [box for box in waiting if box.is_isolating]
        share = BATCH_BYTES // max(len(together), 1)
        self._is_behind = False
        parcels = list(self._parcels(together, share))
        refusal = self._write(b"".join(parcel.request for parcel in parcels))
        for parcel in parcels:
            # A bad request of one host must not lose the points of others.
            alone = len(parcels) == 1 or not refusal
            self._conclude(parcel, refusal if alone else self._write(parcel.request))
        for parcel in self._parcels(doubted, share):
            self._conclude(parcel, self._write(parcel.request))

    def _parcels(self, boxes: Sequence[Outbox], share: int) -> Iterator[_OutboxBatch]:
        """The next batch of each outbox with a readable log."""
        for box in boxes:
            batch = box.read(share)
            if batch is not None:
                self._is_behind |= box.leaves(batch)
                yield _OutboxBatch(box, batch, box.request(batch))

    def _write(self, request: bytes) -> Refusal | None:
        for part in cut(request, _MOST_BYTES):
            refusal = self._store.write(part)
            self._back()
            if refusal:
                return refusal
        return None

    def _conclude(self, parcel: _OutboxBatch, refusal: Refusal | None) -> None:
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
    """Whether two runs could have the same start time, which is in whole seconds."""
    return run is None or time.time() - run < _YOUNG_SECONDS
