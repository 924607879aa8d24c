"""Writes the rows of a tick to the log and accounts for them."""

import logging
from collections.abc import Callable, Iterable

from sampler_bridge.errors import NotLoggedError
from sampler_bridge.log.log import Log
from sampler_bridge.sampling.labelled import Labelled
from sampling.account.account import LOG_FULL, Account
from sampling.account.reasons import GapCause, GapReason
from sampling.sources.source import Gap

_LOG = logging.getLogger(__name__)


class Recorder:
    """Writes the ticks of all samplers of a host to its log.

    ``pack`` is called at each tick and returns whether to compress. While the store is
    down, the log only grows; compressed, it holds about ten times as many ticks.
    """

    def __init__(self, log: Log, account: Account, pack: Callable[[], bool]) -> None:
        self._log = log
        self._account = account
        self._pack = pack
        self._broken = False

    def record(self, tick_ms: int, labelled: Labelled, gaps: Iterable[Gap]) -> None:
        """Log a tick's rows; a full log or disk loses points but not later ticks."""
        with self._account.moment():
            self._account.ticked(tick_ms, labelled.points, gaps)
            if labelled.points:
                self._append(tick_ms, labelled)

    def _append(self, tick_ms: int, labelled: Labelled) -> None:
        try:
            dropped = self._log.append(tick_ms, labelled.rows, self._pack())
        except NotLoggedError as error:
            self._account.lost(error.dropped, LOG_FULL)
            self._fail(labelled.points, error)
        else:
            self._account.lost(dropped, LOG_FULL)
            self._broken = False

    def skip(self, points: int, cause: GapCause) -> None:
        """Account for points of ticks that gave no values at all."""
        if points:
            self._account.skipped(points, cause)

    def _fail(self, points: int, error: NotLoggedError) -> None:
        self._account.lost(points, GapCause(GapReason.LOG_FAILED, str(error)))
        if not self._broken:
            _LOG.error("%s; sampling continues", error)
        self._broken = True
