"""Does what is to be done with fetched values in a thread beside those that fetch.

Text and log take a while, in which the next values can be fetched already.
"""

import contextlib
import time
from collections.abc import Callable
from queue import Full, Queue

from sampler_bridge.worker import Worker

Job = Callable[[], None]

# Beyond it, as while the log's disk hangs, those who fetch have to wait.
_MOST_WAITING = 256


class Scribe(Worker):
    """Does the jobs of one host's samplers, in the order in which they are given."""

    def __init__(self, host: str) -> None:
        super().__init__(f"scribe-{host}")
        self._jobs: Queue[Job | None] = Queue(_MOST_WAITING)

    def give(self, job: Job) -> None:
        """Have a job done after all that were given before."""
        self._jobs.put(job)

    def stop(self, seconds: float) -> None:
        """Do what was given, within ``seconds``, and end."""
        until = time.monotonic() + seconds
        with contextlib.suppress(Full):
            self._jobs.put(None, timeout=seconds)
        self._thread.join(max(0.0, until - time.monotonic()))

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
