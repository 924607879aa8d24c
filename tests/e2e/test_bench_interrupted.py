"""Benchmarks that are interrupted, or that wait for CPUs."""

import signal
from itertools import islice

import pytest

from tests.observed import commanding, observing, runs, states
from tests.servers import wait_until
from tests.stack import Stack

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_the_benchmark(stack: Stack, number: signal.Signals) -> None:
    words = ("mix", "--intensity", "200", "--footprint", "400000000")
    with commanding(stack, *words) as process:
        wait_until(lambda: "running" in states(stack))
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode
    wait_until(lambda: "running" not in states(stack))


def test_benchmark_says_which_observation_it_waits_for(stack: Stack) -> None:
    words = ("--pin", "compact", "--threads", "1", "--", "sleep", "600")
    with observing(stack, *words) as other:
        wait_until(lambda: "running" in states(stack))
        with commanding(stack, "bench", "stream", "--threads", "1") as process:
            assert process.stderr
            says = "waiting for CPUs: observation "
            (line,) = islice((one for one in process.stderr if says in one), 1)
            process.terminate()
            process.communicate(timeout=60)
        other.terminate()
        ((_, iri),) = runs(other.communicate(timeout=120)[1])
    assert iri.rpartition("/")[2] in line
    wait_until(lambda: "queued" not in states(stack))
