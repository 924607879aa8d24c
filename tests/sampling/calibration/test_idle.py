"""When the machine counts as idle, from real readings of /proc/stat."""

import asyncio
import subprocess
import sys
import time

import pytest

from sampling.calibration.idle import IdleRule, idle_machine
from sampling.cost.usage import machine_seconds
from tests.servers import ENDS_WITH_US, wait_until

BUSY_LOOP = (*ENDS_WITH_US, sys.executable, "-c", "while True: pass")


@pytest.mark.parametrize(
    ("readings", "idle"),
    [
        ([(0, 50)], False),
        ([(0, 50), (9.9, 50)], False),
        ([(0, 50), (10, 50)], True),
        # 20 % of a core is below the limit, 30 % is not.
        ([(0, 50), (5, 51), (10, 52)], True),
        ([(0, 50), (5, 51.5), (10, 52)], False),
        ([(0, 50), (5, 51.5), (10, 52), (15, 52)], True),
        ([(0, 50), (5, 50), (9, 54), (18, 54), (19, 54)], True),
        ([(0, 50), (5, 50), (9, 54), (18, 54)], False),
        # A clock that does not advance gives no information.
        ([(0, 50), (0, 60), (10, 60)], True),
    ],
)
def test_machine_is_idle_after_enough_time_below_the_limit(
    readings: list[tuple[float, float]], idle: bool
) -> None:
    rule = IdleRule(limit=25, seconds=10)
    answers = [rule.is_idle(now, used) for now, used in readings]
    assert answers == [False] * (len(readings) - 1) + [idle]


def test_busy_loop_shows_in_the_kernel_counters() -> None:
    def is_seen() -> bool:
        rule = IdleRule(limit=25, seconds=0.1)
        rule.is_idle(time.monotonic(), machine_seconds())
        began = machine_seconds()
        # The kernel counts in steps of 10 ms.
        while machine_seconds() - began < 1:
            time.sleep(0.05)
        idle = rule.is_idle(time.monotonic(), machine_seconds())
        return not idle and rule.percent > 25

    with subprocess.Popen(BUSY_LOOP) as process:
        try:
            # On a machine that gives time to others, a loop gets less than that.
            wait_until(is_seen, what="a busy loop")
        finally:
            process.kill()


def test_wait_for_an_idle_machine_reports_its_reason() -> None:
    messages: list[str] = []
    asyncio.run(idle_machine(1e9, 0.5, messages.append))
    assert messages
    assert "waits until the machine is idle for 0.5 s" in messages[0]
    assert "of a core is in use, the limit is 1000000000 %" in messages[0]


def test_wait_lasts_while_the_machine_is_busy() -> None:
    async def waited() -> str:
        messages: list[str] = []
        task = asyncio.create_task(idle_machine(1e-6, 0.5, messages.append))
        # No machine meets this limit: some process has always run.
        while len(messages) < 3:
            await asyncio.sleep(0.05)
        assert not task.done()
        task.cancel()
        return messages[-1]

    with subprocess.Popen(BUSY_LOOP) as process:
        try:
            assert "waits" in asyncio.run(waited())
        finally:
            process.kill()
