"""Sends what waits in the log to the store, and again what the store may have lost.

The store may lose what it acknowledged in its last seconds when it is killed, so a
store that was started anew is sent the last minute again; it keeps one of two equal
points. While it is away, everything waits in the log.
"""

import logging
import time
from pathlib import Path
from threading import Event
from typing import NamedTuple

from sampler_bridge.account import LOG_FULL, REFUSED, UNREADABLE, Account
from sampler_bridge.batch import Batch
from sampler_bridge.cursor import Cursor, Sent, save_cursor
from sampler_bridge.errors import StoreDownError
from sampler_bridge.log import Log
from sampler_bridge.store import Refusal, Store
from sampler_bridge.worker import Worker

_LOG = logging.getLogger(__name__)

BATCH_BYTES = 4 * 1024 * 1024
_CHECK_SECONDS = 5.0  # how often the store is asked whether it was started anew
_SHOW_SECONDS = 0.8  # at most how often it is asked to show new points
_YOUNG_SECONDS = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0


class StoreState(NamedTuple):
    """How the store does, for the status file."""

    url: str
    up: bool
    reason: str | None
    last_ack_ms: int | None


class Writer(Worker):
    """The sender of a log; ``cursor_path`` keeps what the store acknowledged."""

    def __init__(
        self,
        log: Log,
        store: Store,
        account: Account,
        cursor: Cursor,
        cursor_path: Path,
    ) -> None:
        super().__init__("writer")
        self.state = StoreState(store.url, False, "not reached yet", None)
        self._log = log
        self._store = store
        self._account = account
        self._cursor_path = cursor_path
        self._next = log.taken
        self._sent = Sent(min(cursor.again, log.taken), time.monotonic())
        self._run = cursor.store  # the run of the store that acknowledged last
        self._suspect = False
        self._one_by_one_until = log.taken
        self._pause = _FIRST_PAUSE
        self._check_at = 0.0
        self._show_at = 0.0
        self._unseen = False
        self._stop = Event()
        self._drain_until = 0.0

    def stop(self, seconds: float) -> None:
        """Send what waits while the store takes it, ``seconds`` at most, and end."""
        self._drain_until = time.monotonic() + seconds
        self._stop.set()
        self._log.end_waiting()
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
        more = self._unseen or self._log.wait(self._next, 0.0)
        return self.state.up and more and not late

    def _step(self) -> None:
        if time.monotonic() >= self._check_at:
            self._check()
        due = self._show_at if self._unseen else self._check_at
        if self._log.wait(self._next, max(due - time.monotonic(), 0.0)):
            self._send()
        if self._unseen and (time.monotonic() >= self._show_at or self._stop.is_set()):
            self._show()

    def _check(self) -> None:
        """Start the last minute again where the store was started anew."""
        run = self._store.started()
        self._check_at = time.monotonic() + _CHECK_SECONDS
        if run != self._run or (self._suspect and _is_young(run)):
            self._send_again(run)
        self._back()

    def _send_again(self, run: float | None) -> None:
        if self._run is not None:
            _LOG.info("store %s was started anew: sending again", self._store.url)
        self._next = min(self._sent.again, self._next)
        self._run = run

    def _send(self) -> None:
        single = self._next < self._one_by_one_until
        batch = self._log.read(self._next, 1 if single else BATCH_BYTES)
        refusal = None
        if batch.entries:
            payload = b"".join(entry.payload for entry in batch.entries)
            refusal = self._store.write(payload)
            self._back()
        if refusal and len(batch.entries) > 1:  # find the record that is at fault
            self._one_by_one_until = batch.end
            return
        self._settle(batch, refusal)
        self._next = batch.end
        self._keep_cursor()

    def _settle(self, batch: Batch, refusal: Refusal | None) -> None:
        """Account for a batch that the store took, or will never take."""
        with self._account.moment():
            taken = self._log.take(batch)
            self._account.lost(taken.lost, UNREADABLE)
            if refusal:
                self._account.lost(taken.fresh, REFUSED)
            elif batch.entries:
                self._account.sent(taken.fresh, taken.again)
                self._account.arrived(taken.gone, LOG_FULL)
        if refusal:
            _LOG.warning("store %s refused points: %s", self._store.url, refusal.reason)
        elif batch.entries:
            self.state = self.state._replace(last_ack_ms=time.time_ns() // 1_000_000)
            self._unseen = True
        self._sent.add(self._next, time.monotonic())

    def _keep_cursor(self) -> None:
        cursor = Cursor(self._log.taken, self._sent.again, self._run)
        try:
            save_cursor(self._cursor_path, cursor)
            self._log.forget(cursor.again)
        except OSError as error:  # the next start sends more than it needs to
            _LOG.warning("%s cannot be written: %s", self._cursor_path, error.strerror)

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
