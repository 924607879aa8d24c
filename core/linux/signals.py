"""Signals that end a process, which first undoes what it began."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Whatever ends us lets the login be closed, and what was begun undone.

    Signals are the main thread's: any other, as the API's, is let to finish by it.
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
            signal.signal(number, handler)


def _interrupt(*_: object) -> None:
    for number in _ENDINGS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
