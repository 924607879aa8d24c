"""Processes fetched values in a separate thread, so that fetches do not wait for it.

Encoding and logging take a while, in which the next values can be fetched.
"""

import time
from collections.abc import Callable
from queue import SimpleQueue

from sampler_bridge.worker import Worker

Job = Callable[[], None]

# With this many waiting jobs, as while the log's disk hangs, fetching threads wait.
_MOST_WAITING = 256
_LOOK_SECONDS = 0.001


class WriterThread(Worker):
    """Runs the jobs of one host's samplers, in the order in which they are given."""

    def __init__(self, host: str) -> None:
        super().__init__(f"writer-{host}")
        # It takes no Python lock, so a tick is handed over without delay.
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()

    def give(self, job: Job) -> None:
        """Run a job after all jobs that were given before."""
        while self._jobs.qsize() >= _MOST_WAITING and self.alive:
            time.sleep(_LOOK_SECONDS)
        self._jobs.put(job)

    def stop(self, seconds: float, wait: Job) -> None:
        """Run the jobs given so far and those given until ``wait`` returns, then end.

        Waits for the end up to ``seconds``; if that takes longer, the thread ends by
        itself.
        """
        self._jobs.put(wait)
        self._jobs.put(lambda: self._jobs.put(None))
        self._join(seconds)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
