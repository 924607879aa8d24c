"""Real processes that do nothing, as many as a busy server has."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers import wait_until

# Their series are found by this name; PCP's version decides whether arguments follow.
NAME = "twinidle"
INSTANCES = f"[0-9]+ {NAME}( .*)?"
_SLEEPS = ["bash", "-c", f"exec -a {NAME} sleep 86399"]
_TAKES = ["setpriv", "--pdeathsig", "KILL", *_SLEEPS]


@contextmanager
def idle_processes(count: int) -> Iterator[list[int]]:
    """Pids of sleeping processes; they end with the block, and with this process.

    Enter it from the main thread: the kernel ends them when that thread ends.
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
    """Whether the process has its final name and memory, and has fallen asleep.

    While it is still being loaded, the kernel may count its resident pages as 0.
    """
    assert process.poll() is None, "an idle process ended: is there a limit on them?"
    folder = Path(f"/proc/{process.pid}")
    is_named = (folder / "cmdline").read_text().startswith(f"{NAME}\0")
    return is_named and ") S " in (folder / "stat").read_text()
