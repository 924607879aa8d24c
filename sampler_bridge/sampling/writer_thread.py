"""Does what is to be done with fetched values in a thread beside those that fetch.

Text and log take a while, in which the next values can be fetched already.
"""

import time
from collections.abc import Callable
from queue import SimpleQueue

from sampler_bridge.worker import Worker

Job = Callable[[], None]

# Beyond it, as while the log's disk hangs, those who fetch have to wait.
_MOST_WAITING = 256
_LOOK_SECONDS = 0.001


class Scribe(Worker):
    """Does the jobs of one host's samplers, in the order in which they are given."""

    def __init__(self, host: str) -> None:
        super().__init__(f"scribe-{host}")
        # It takes no lock of Python's, so that a tick is handed over in no time.
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()

    def give(self, job: Job) -> None:
        """Have a job done after all that were given before."""
        while self._jobs.qsize() >= _MOST_WAITING and self.alive:
            time.sleep(_LOOK_SECONDS)
        self._jobs.put(job)

    def stop(self, seconds: float, wait: Job) -> None:
        """Do what was given, and what still is until ``wait`` returns, and end.

        It is waited for so many seconds; it ends by itself where that takes longer.
        """
        self._jobs.put(wait)
        self._jobs.put(lambda: self._jobs.put(None))
        self._join(seconds)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
