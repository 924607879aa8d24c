"""The control beats while it runs, and excuses only what the machine held up."""

import os
import signal
import time

import pytest

from tests.sampler_bridge.heartbeat import Heartbeat
from tests.servers import wait_until

pytestmark = pytest.mark.serial

PERIOD_MS = 200


def test_tick_is_excused_if_the_heartbeat_was_stopped(
    heartbeat: Heartbeat,
) -> None:
    began_ms = time.time_ns() // 1_000_000
    os.kill(heartbeat.pid, signal.SIGSTOP)
    time.sleep(0.3)
    os.kill(heartbeat.pid, signal.SIGCONT)
    before, meanwhile, after = (began_ms + n for n in (-1000, 150, 350))
    ticks = [before, meanwhile, after]
    wait_until(lambda: after in heartbeat.held_up(ticks, PERIOD_MS))
    # Includes the time less than a period after its end.
    assert heartbeat.held_up(ticks, PERIOD_MS) == {meanwhile, after}
    assert heartbeat.lost(ticks, [], PERIOD_MS) == [before]
    # The stall was shorter than a second.
    assert heartbeat.lost(ticks, [], 2000) == ticks


@pytest.mark.parametrize(
    ("period_ms", "number", "most"),
    [(1000, 100, 0), (200, 40, 1), (200, 100, 2), (10, 100, 2)],
)
def test_missing_tick_is_lost(
    heartbeat: Heartbeat, period_ms: int, number: int, most: int
) -> None:
    """The tick lies long before the control began, so nothing excuses it."""
    ticks = [*range(0, number * period_ms, period_ms)]
    heartbeat.assert_every_tick(ticks, period_ms, strict=True)
    heartbeat.assert_every_tick([ticks[0], *ticks[most + 1 :]], period_ms)
    with pytest.raises(AssertionError):
        heartbeat.assert_every_tick([ticks[0], *ticks[most + 2 :]], period_ms)
    with pytest.raises(AssertionError):
        heartbeat.assert_every_tick([ticks[0], *ticks[2:]], period_ms, strict=True)
