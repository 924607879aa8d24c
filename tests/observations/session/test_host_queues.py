"""Work for several hosts: in order on each host, independent between hosts."""

import threading
from functools import partial
from threading import Event

import pytest

from observations.session.run_recorder import HostQueues
from tests.servers import wait_until


def test_hanging_host_delays_only_its_own_work() -> None:
    queues, go, done = HostQueues(), Event(), list[str]()
    queues.submit("away", lambda: assert_set(go))
    for number in range(50):
        for host in "away", "near", "other":
            queues.submit(host, partial(done.append, f"{host}{number}"))
    wait_until(lambda: queues.wait(0) == ["away"])
    expected = [f"near{number}" for number in range(50)]
    assert [one for one in done if one.startswith("near")] == expected
    assert not [one for one in done if one.startswith("away")]
    go.set()
    assert queues.wait(120) == []
    expected = [f"away{number}" for number in range(50)]
    assert [one for one in done if one.startswith("away")] == expected
    wait_until(lambda: not [t for t in threading.enumerate() if "recorder-" in t.name])


def assert_set(go: Event) -> None:
    assert go.wait(120)


def test_failure_is_logged_and_the_next_job_runs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    queues, done = HostQueues(), list[str]()

    def fail() -> None:
        raise OSError("no room")

    queues.submit("near", fail)
    queues.submit("near", lambda: done.append("after"))
    assert queues.wait(120) == []
    assert done == ["after"]
    assert "no room" in caplog.text
