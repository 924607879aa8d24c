"""Sampling that begins again after a fault which nobody foresaw."""

import logging
import time
from abc import abstractmethod

from sampler_bridge.worker import Worker

_LOG = logging.getLogger(__name__)

_PAUSE = 1.0  # seconds, so that a fault that stays does not fill the log


class Restarting(Worker):
    """A worker whose thread outlives any error of what it does."""

    def _work(self) -> None:
        while not self._is_through():
            # Another error while waiting would be one of this class alone.
            time.sleep(_PAUSE)

    def _is_through(self) -> bool:
        """Sample until the end; False where it broke off."""
        try:
            self._sample()
        except Exception as error:
            reason = fault(error)
            _LOG.exception("%s: %s; it begins again", self._thread.name, reason)
            self._broke(reason)
            return False
        return True

    @abstractmethod
    def _sample(self) -> None:
        """Sample until told to stop; called again where it broke off."""

    @abstractmethod
    def _broke(self, reason: str) -> None:
        """Let go of what may be damaged, and keep the reason for what is missing."""


def fault(error: Exception) -> str:
    """What broke, in one line, as the reason why values are missing."""
    return f"sampling broke off ({type(error).__name__}: {error}): please report it"
