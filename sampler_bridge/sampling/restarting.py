"""Restarts sampling after an unexpected error."""

import logging
import time
from abc import abstractmethod

from sampler_bridge.worker import Worker
from sampling.account.reasons import GapCause, GapReason

_LOG = logging.getLogger(__name__)

_PAUSE = 1.0  # seconds, so that a permanent fault does not fill the log


class RestartingWorker(Worker):
    """A worker with a thread that survives any error in its work."""

    def _work(self) -> None:
        while not self._run_once():
            time.sleep(_PAUSE)

    def _run_once(self) -> bool:
        """Sample until the end; False if an error interrupted it."""
        try:
            self._sample()
        except Exception as error:
            cause = fault(error)
            _LOG.exception("%s: %s; restarting", self._thread.name, cause.detail)
            self._on_failure(cause)
            return False
        return True

    @abstractmethod
    def _sample(self) -> None:
        """Sample until stopped; called again after an error."""

    @abstractmethod
    def _on_failure(self, cause: GapCause) -> None:
        """Release what may be in a bad state, and keep the cause of missing values."""


def fault(error: Exception) -> GapCause:
    """Describe an error in one line, as the reason why values are missing."""
    detail = f"sampling broke off ({type(error).__name__}: {error}): please report it"
    return GapCause(GapReason.BROKE_OFF, detail)
