"""Sends what waits in the logs to the store, and again what the store may have lost.

One sender for all hosts: what their logs hold goes in one write, since hosts tick
together. The store may lose what it acknowledged in its last seconds when it is killed,
so a store that was started anew is sent the last minute again; it keeps one of two
equal points. While it is away, everything waits in the logs.
"""

import logging
import time
from threading import Event
from typing import NamedTuple

from sampler_bridge.account.cost import Latency
from sampler_bridge.errors import StoreDownError
from sampler_bridge.log.batch import Batch
from sampler_bridge.sending.outbox import Outbox, payload
from sampler_bridge.sending.store import Refusal, Store
from sampler_bridge.worker import Worker

_LOG = logging.getLogger(__name__)

BATCH_BYTES = 4 * 1024 * 1024
_CHECK_SECONDS = 5.0  # how often the store is asked whether it was started anew
_SHOW_SECONDS = 0.8  # at most how often it is asked to show new points
_GATHER_SECONDS = 0.02  # how long those who tick meanwhile are waited for
_YOUNG_SECONDS = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0


class StoreState(NamedTuple):
    """How the store does, for the status file."""

    url: str
    up: bool
    reason: str | None
    last_ack_ms: int | None


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
        self._check_at = 0.0
        self._show_at = 0.0
        self._unseen = False
        self._more = Event()
        self._stop = Event()
        self._drain_until = 0.0

    def add(self, box: Outbox) -> None:
        """Send what is in this one, too; `told` is to be called when there is more."""
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
        self._send()
        if self._unseen and (time.monotonic() >= self._show_at or self._stop.is_set()):
            self._show()

    def _has_more(self) -> bool:
        return any(box.has_more for box in self._boxes)

    def _wait(self, seconds: float) -> None:
        """Wait until there is something to send, and what comes with it."""
        idle = not (self._has_more() or self._stop.is_set())
        if idle and self._more.wait(seconds):
            self._stop.wait(_GATHER_SECONDS)
        self._more.clear()

    def _check(self) -> None:
        """Start the last minute again where the store was started anew."""
        run = self._store.started()
        self._check_at = time.monotonic() + _CHECK_SECONDS
        suspect = self._suspect and _is_young(run)
        again = [box.met(run, suspect) for box in self._boxes]
        if any(again):
            _LOG.info("store %s was started anew: sending again", self._store.url)
        self._back()

    def _send(self) -> None:
        waiting = [box for box in self._boxes if box.has_more]
        together = [box for box in waiting if not box.is_doubted]
        share = BATCH_BYTES // max(len(together), 1)
        parcels = [(box, box.read(share)) for box in together]
        refusal = self._write(b"".join(payload(batch) for _, batch in parcels))
        for box, batch in parcels:
            # What one host has is no reason to lose that of the others.
            alone = len(parcels) == 1 or not refusal
            self._conclude(box, batch, refusal if alone else self._try(batch))
        for box in waiting:
            if box not in together:
                batch = box.read(share)
                self._conclude(box, batch, self._try(batch))

    def _try(self, batch: Batch) -> Refusal | None:
        return self._write(payload(batch))

    def _write(self, lines: bytes) -> Refusal | None:
        if not lines:
            return None
        refusal = self._store.write(lines)
        self._back()
        return refusal

    def _conclude(self, box: Outbox, batch: Batch, refusal: Refusal | None) -> None:
        if refusal and len(batch.entries) > 1:
            box.doubt(batch)
            return
        box.settle(batch, refusal)
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
