"""`supertwin observe` is interrupted, or nothing reads the output of its command."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.observed import observing, outcome, plans, runs, wait_for_line
from tests.servers import wait_until
from tests.stack import Stack

pytestmark = pytest.mark.e2e

_TERMINATED = 128 + signal.SIGTERM
_SLEEPS = ("sh", "-c", "echo ready; exec sleep 987")


def _alive(stack: Stack, iri: str) -> bool:
    """Return whether the process in a run's first event still exists."""
    events = stack.home / "observations" / iri.rsplit("/", 1)[1] / "events.jsonl"
    started = json.loads(events.read_text().splitlines()[0])
    return Path(f"/proc/{started['pid']}").exists()


def _cancelled(stack: Stack, process: subprocess.Popen[str]) -> str:
    """Check that the only run was cancelled and its command ended; return its IRI."""
    _, error = process.communicate(timeout=120)
    assert process.returncode == _TERMINATED, error
    ((how, iri),) = runs(error)
    assert how == "cancelled"
    assert not _alive(stack, iri)
    return iri


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupt_ends_the_command(stack: Stack, number: signal.Signals) -> None:
    with observing(stack, "--", *_SLEEPS) as process:
        wait_for_line(process, "ready")
        process.send_signal(number)
        iri = _cancelled(stack, process)
    assert outcome(stack, iri) == "cancelled"


def test_interrupt_ends_all_repetitions_and_the_sampling(stack: Stack) -> None:
    sampled = ("--metric", "kernel.all.pswitch", "--every", "100ms")
    with observing(stack, *sampled, "--repeat", "3", "--", *_SLEEPS) as process:
        wait_for_line(process, "ready")
        assert len(plans(stack)) == 2
        process.send_signal(signal.SIGINT)
        _cancelled(stack, process)
    wait_until(lambda: plans(stack) == {"monitor"}, what="no plan is left")


def test_closed_output_pipe_ends_the_command(stack: Stack) -> None:
    script = "while :; do echo line; sleep 0.05; done"
    with observing(stack, "--", "sh", "-c", script) as process:
        wait_for_line(process, "line")
        assert process.stdout
        process.stdout.close()
        # `communicate` must not read the closed pipe.
        process.stdout = None
        _cancelled(stack, process)


def test_waiting_for_a_reader_can_be_interrupted(stack: Stack) -> None:
    with observing(stack, "--", "yes") as process:
        wait_for_line(process, "y")
        assert process.stdout
        blocked = _unmoved(lambda: _read_so_far(process.pid))
        wait_until(blocked, what="nothing is written any more")
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == _TERMINATED


def _read_so_far(pid: int) -> int:
    text = Path(f"/proc/{pid}/io").read_text()
    return int(text.split("wchar:")[1].split()[0])


def _unmoved(value: Callable[[], int]) -> Callable[[], bool]:
    """Return a check that a value has not changed for half a second."""
    seen: list[tuple[float, int]] = []

    def check() -> bool:
        now, figure = time.monotonic(), value()
        if not seen or seen[0][1] != figure:
            seen[:] = [(now, figure)]
        return now - seen[0][0] > 0.5

    return check


def test_large_output_is_passed_on_and_not_kept_in_memory(stack: Stack) -> None:
    size = 250_000_000
    before = _peak(stack.children()["api"]["pid"])
    with observing(stack, "--", "head", "-c", str(size), "/dev/zero") as process:
        assert process.stdout
        count, peak = 0, 0
        while piece := os.read(process.stdout.fileno(), 1 << 20):
            count += len(piece)
            assert not piece.strip(b"\0")
            if count < size:
                peak = _peak(process.pid)
        _, error = process.communicate(timeout=120)
    assert count == size
    assert [how for how, _ in runs(error)] == ["completed"]
    assert peak < 100 << 10
    assert _peak(stack.children()["api"]["pid"]) - before < 100 << 10


def _peak(pid: int) -> int:
    """Return the peak memory of a process, in KiB."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0])
