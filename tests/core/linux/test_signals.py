"""Ending signals let a login be closed; children end with their parent."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.linux.signals import StopSignal, ends_with_us, signals_as_interrupt
from tests.servers import wait_until

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# Starts a child and is killed at once, before the child's setpriv has run.
_KILLED = """
import os, signal, subprocess
from core.linux.signals import ends_with_us
child = subprocess.Popen([*ends_with_us(), "sleep", "600"], stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


# Signals arrive at any moment of a wait. With threading.Event one of ten waits hung.
_STOPPED = """
import os, random, signal
from core.linux.signals import StopSignal
for _ in range(1000):
    stop = StopSignal()
    signal.signal(signal.SIGALRM, lambda *_: stop.set())
    signal.setitimer(signal.ITIMER_REAL, random.uniform(5e-5, 3e-4))
    while not stop.wait(1e-6):
        pass
    assert stop.wait(0)
    os.close(stop._wake), os.close(stop._write)
"""


def handled() -> list[object]:
    return [signal.getsignal(number) for number in ENDINGS]


@pytest.mark.usefixtures("handlers")
def test_signal_is_an_interrupt_and_later_ones_are_ignored() -> None:
    with pytest.raises(KeyboardInterrupt), signals_as_interrupt():
        os.kill(os.getpid(), signal.SIGTERM)
    assert handled() == [signal.SIG_IGN] * 3


def test_without_a_signal_the_handlers_are_restored() -> None:
    before = handled()
    with signals_as_interrupt():
        assert handled() != before
    assert handled() == before


def test_other_threads_do_not_handle_signals() -> None:
    before = handled()

    def work() -> list[object]:
        with signals_as_interrupt():
            return handled()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == before


def test_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_as_interrupt():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_child_ends_if_its_parent_is_killed_immediately() -> None:
    command = [sys.executable, "-c", _KILLED]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    child = Path("/proc", done.stdout.strip())
    wait_until(lambda: not child.exists(), what="the end of the child")


def test_command_is_not_started_without_its_parent() -> None:
    other = ["sh", "-c", '"$@"; exit $?', "sh", *ends_with_us(), "true"]
    assert subprocess.run(other, check=False).returncode == 1
    assert subprocess.run([*ends_with_us(), "true"], check=False).returncode == 0


def test_signal_at_any_moment_of_a_wait_ends_it() -> None:
    subprocess.run([sys.executable, "-c", _STOPPED], check=True, timeout=120)


def test_stop_signal_may_be_set_often() -> None:
    stop = StopSignal()
    assert not stop.wait(0)
    for _ in range(100_000):
        stop.set()
    assert stop.wait(0) and stop.wait(0)
    os.close(stop._wake)
    os.close(stop._write)
