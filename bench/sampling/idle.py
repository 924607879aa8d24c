"""Real processes that do nothing, as many as a busy server has."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers import wait_until

# By this name their series are found; whether arguments follow is up to PCP's version.
NAME = "twinidle"
INSTANCES = f"[0-9]+ {NAME}( .*)?"
_SLEEPS = ["bash", "-c", f"exec -a {NAME} sleep 86399"]
_TAKES = ["setpriv", "--pdeathsig", "KILL", *_SLEEPS]


@contextmanager
def idle_processes(count: int) -> Iterator[list[int]]:
    """Sleeping processes, by pid; they end with the block, and with this process.

    To be entered by the main thread: the kernel ends them when that thread does.
    """
    started: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            started.append(subprocess.Popen(_TAKES, stdin=subprocess.DEVNULL))
        wait_until(lambda: all(map(_sleeps, started)), 60, "idle processes")
        yield [process.pid for process in started]
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def _sleeps(process: subprocess.Popen[bytes]) -> bool:
    """Whether it is past setpriv and bash, so that its name holds from now on."""
    assert process.poll() is None, "an idle process ended: is there a limit on them?"
    return Path(f"/proc/{process.pid}/cmdline").read_text().startswith(f"{NAME}\0")
