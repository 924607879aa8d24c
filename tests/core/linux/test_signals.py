"""Ending signals let a login be closed, in the thread that receives signals."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.linux.signals import ended_in_order


def handled() -> list[object]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return [signal.getsignal(number) for number in numbers]


def test_a_signal_is_an_interrupt_and_is_what_it_was_afterwards() -> None:
    before = handled()
    with pytest.raises(KeyboardInterrupt), ended_in_order():
        os.kill(os.getpid(), signal.SIGTERM)
    assert handled() == before


def test_other_threads_leave_signals_alone() -> None:
    before = handled()

    def work() -> list[object]:
        with ended_in_order():
            return handled()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == before


def test_what_was_ignored_is_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_in_order():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
