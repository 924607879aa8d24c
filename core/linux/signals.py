"""Signals that end a process: waiting for them, cleaning up, ending its children."""

import os
import select
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from shutil import which

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A parent that dies before setpriv has asked for the signal would leave the command
# behind: the shell starts it only while the parent is still there.
_IF_PARENT_LIVES = '[ "$PPID" = "$0" ] && exec "$@"'


def ends_with_us() -> tuple[str, ...]:
    """Return words to put before a command that must not outlive this process.

    The kernel sends it SIGTERM when the thread that started it ends, even by SIGKILL.
    Empty where util-linux's setpriv is not installed.
    """
    if setpriv := which("setpriv"):
        words = (setpriv, "--pdeathsig", "TERM", "--")
        return (*words, "/bin/sh", "-c", _IF_PARENT_LIVES, str(os.getpid()))
    return ()


class StopSignal:
    """An event that a signal handler may set.

    threading.Event may not: a handler that interrupts its wait() can deadlock in set().
    """

    def __init__(self) -> None:
        self._wake, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._poll = select.poll()
        self._poll.register(self._wake, select.POLLIN)

    def set(self) -> None:
        """End every wait, also those to come."""
        with suppress(BlockingIOError):  # it is full: it was set often enough
            os.write(self._write, b".")

    def wait(self, seconds: float) -> bool:
        """Wait until it is set, or for some time; return whether it is set."""
        return bool(self._poll.poll(1000 * seconds))


@contextmanager
def signals_as_interrupt() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt, so that cleanup code runs.

    In any other thread, as in the API's, it does nothing: only the main thread may
    handle signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    numbers = [one for one in _ENDINGS if one != signal.SIGHUP or not nohup]
    before = {number: signal.signal(number, _interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            # After a signal, this process ends: further signals stay ignored.
            if signal.getsignal(number) is _interrupt:
                signal.signal(number, handler)


def _interrupt(*_: object) -> None:
    for number in _ENDINGS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
