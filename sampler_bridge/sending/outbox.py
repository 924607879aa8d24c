"""The log of one host, how far it was sent, and what became of its points."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock

from sampler_bridge.log.batch import START, Batch, Position
from sampler_bridge.log.log import Log
from sampler_bridge.sending.cursor import (
    Cursor,
    SentPositions,
    load_cursor,
    save_cursor,
)
from sampler_bridge.sending.remote_write import RequestWriter
from sampler_bridge.sending.store import Refusal
from sampling.account.account import LOG_FULL, REFUSED, UNREADABLE, Account

_LOG = logging.getLogger(__name__)

CURSOR_FILE, LOG_FOLDER = "cursor.json", "log"
_READ_AGAIN_SECONDS = 1.0  # until an unreadable log is tried again
_NO_RUN = 0.0  # equals no run of the store, so the next run gets the last minute again


class Outbox:
    """The points of one host in a folder; its cursor says what was acknowledged.

    ``notify`` is called when there is more to send; ``sent_bytes`` counts the bytes
    that the store acknowledged. Raises StateError if the folder is unusable.
    """

    def __init__(
        self, folder: Path, max_bytes: int, notify: Callable[[], None]
    ) -> None:
        self._cursor_path = folder / CURSOR_FILE
        cursor = load_cursor(self._cursor_path)
        self._more, self._cursor_lock = notify, Lock()
        self._replaced = 0
        self.log = Log(
            folder / LOG_FOLDER, max_bytes, cursor.taken, notify=self._on_record
        )
        self.account = Account(self.log.waiting)
        self.sent_bytes = 0
        self._unread: str | None = None
        self._folder = folder / LOG_FOLDER
        self._read_at = 0.0
        self._requests = RequestWriter()
        self._reserve(cursor)
        self._next = self.log.taken
        self._sent = SentPositions(min(cursor.again, self.log.taken), time.monotonic())
        self._run = cursor.store  # the run of the store that acknowledged last
        self._resend_until = START
        self._one_by_one_until = START

    @property
    def has_more(self) -> bool:
        """Whether there is something to send."""
        return self.log.has_more(self._next)

    @property
    def reason(self) -> str | None:
        """Why the log cannot be written or read, with the fix; None if it works."""
        failure = self.log.failure
        if self._unread or failure is None:
            return self._unread
        where = failure.filename or self._folder
        return (
            f"the log {where} cannot be written ({failure.strerror}): make room on its "
            "disk, or fix it; points are lost until then"
        )

    @property
    def is_due(self) -> bool:
        """Whether there is something to send now; an unreadable log has to wait."""
        return time.monotonic() >= self._read_at and self.has_more

    @property
    def is_isolating(self) -> bool:
        """Whether the record that the store refused is being searched for."""
        return self._next < self._one_by_one_until

    def read(self, max_bytes: int) -> Batch | None:
        """The next batch to send; None if the log cannot be read at present."""
        try:
            batch = self.log.read(self._next, 1 if self.is_isolating else max_bytes)
        except OSError as error:
            self._postpone(error)
            return None
        self._unread = None
        self._follow()
        return batch

    def leaves(self, batch: Batch) -> bool:
        """Whether more follows a batch: it is full, or at the end of a segment."""
        return self.log.has_more(batch.end)

    def doubt(self, batch: Batch) -> None:
        """Send a batch record by record next, to find the refused one."""
        self._one_by_one_until = batch.end

    def request(self, batch: Batch) -> bytes:
        """Encode a batch for the store."""
        return self._requests.of(batch)

    def settle(self, batch: Batch, size: int, refusal: Refusal | None) -> None:
        """Account for a batch of ``size`` bytes that the store took, or never will."""
        with self.account.moment():
            taken = self.log.take(batch)
            self.account.lost(taken.lost, UNREADABLE)
            if refusal:
                self.account.lost(taken.fresh, REFUSED)
            elif batch.entries:
                self.account.sent(taken.fresh, taken.again)
                self.account.arrived(taken.gone, LOG_FULL)
        if not refusal:
            self.sent_bytes += size
        self._sent.add(self._next, time.monotonic())
        self._next = batch.end
        self._keep_cursor()

    def met(self, run: float | None, suspect: bool) -> bool:
        """Note which run of the store answers; return whether to resend to it.

        The last minute is sent again if this is another run than before. ``suspect``
        says that it may be another run although its start time is the same.
        """
        if run == self._run and not suspect:
            return False
        known, self._run = self._run, run
        self._resend_until = max(self._resend_until, self._next)
        self._next = min(self._sent.again, self._next)
        return known is not None

    def restart_account(self) -> None:
        """Start a new account, for samplers that take over from others.

        Waiting points count as expected in it, as after a start.
        """
        with self.account.moment():
            self.account = Account(self.log.waiting)

    def _on_record(self) -> None:
        self._follow()
        self._more()

    def _follow(self) -> None:
        """Save the cursor if the records that it points at have moved to a new file."""
        if self.log.replaced != self._replaced:
            self._replaced = self.log.replaced
            self._keep_cursor()

    def _keep_cursor(self) -> None:
        # The cursor does not say how far resending has come. If this process ends now,
        # the next one begins it again.
        run = _NO_RUN if self._next < self._resend_until else self._run
        cursor = Cursor(self.log.taken, self._sent.again, run)
        try:
            with self._cursor_lock:
                save_cursor(self._cursor_path, cursor)
        except OSError as error:  # the next start sends more than necessary
            _LOG.warning("%s cannot be written: %s", self._cursor_path, error.strerror)
        self._forget(cursor.again)

    def _forget(self, before: Position) -> None:
        try:
            self.log.forget(before)
        except OSError as error:  # the next call tries again
            _LOG.warning("%s cannot be removed: %s", error.filename, error.strerror)

    def _reserve(self, cursor: Cursor) -> None:
        """Reserve both blocks of the cursor before the log can fill the disk."""
        with suppress(OSError):
            for _ in range(2):
                save_cursor(self._cursor_path, cursor)

    def _postpone(self, error: OSError) -> None:
        reason = (
            f"the log {error.filename or self._folder} cannot be read "
            f"({error.strerror}): fix its disk; what is in it waits"
        )
        if reason != self._unread:
            _LOG.error("%s", reason)
        self._unread = reason
        self._read_at = time.monotonic() + _READ_AGAIN_SECONDS
