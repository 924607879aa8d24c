"""A clock that is set back while samplers wait: the new time applies at once."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler_bridge.sampling.journal import Journal
from sampler_bridge.sampling.sampler import Sampler
from sampler_bridge.sampling.writer_thread import WriterThread
from sampling.plan_file.plan import FetchGroup
from tests.sampler_bridge.test_change_over import Paced, Written, lacking
from tests.servers import wait_until

pytestmark = pytest.mark.serial

PERIOD_MS, HOUR_MS = 200, 3_600_000
GROUP = FetchGroup({"a": "a"})


class SetClock:
    """The system clock plus an offset: the real clock belongs to the whole machine."""

    def __init__(self) -> None:
        self.ahead_ms = 0

    def __call__(self) -> int:
        return time.time_ns() + self.ahead_ms * 1_000_000

    @property
    def ms(self) -> int:
        return self() // 1_000_000


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Written]:
    found = Written(tmp_path)
    yield found
    found.log.close()


@pytest.fixture
def writer() -> Iterator[WriterThread]:
    found = WriterThread("n1")
    found.start()
    yield found
    found.stop(5.0, lambda: None)


def sampler(
    written: Written, writer: WriterThread, clock: SetClock
) -> tuple[Sampler, Paced]:
    source, journal = Paced(), Journal("n1", written.recorder)
    made = Sampler(PERIOD_MS, source, journal, writer, clock)
    made.prepare(GROUP)
    return made, source


def test_wait_for_a_tick_follows_a_clock_set_far_back(
    written: Written, writer: WriterThread, clock: SetClock
) -> None:
    one, source = sampler(written, writer, clock)
    one.plan(GROUP, clock.ms)
    wait_until(lambda: source.fetches > 3)
    clock.ahead_ms = -HOUR_MS
    back_ms = clock.ms
    fetches = source.fetches
    wait_until(lambda: source.fetches > fetches + 4)
    one.stop(120.0)
    writer.stop(120.0, lambda: None)
    before = [ms for ms in written.ticks()["a"] if ms > back_ms + HOUR_MS // 2]
    after = [ms for ms in written.ticks()["a"] if ms not in before]
    assert before and min(after) <= back_ms + 10 * PERIOD_MS
    figures = written.account.figures()
    lost = lacking(before, PERIOD_MS) + lacking(after, PERIOD_MS)
    assert lost <= figures["late"]
    assert figures["expected"] - figures["fetched"] == figures["late"]


def test_change_over_after_a_clock_change_is_immediate(
    written: Written, writer: WriterThread, clock: SetClock
) -> None:
    old, source = sampler(written, writer, clock)
    new, following = sampler(written, writer, clock)
    old.plan(GROUP, clock.ms)
    wait_until(lambda: source.fetches > 3)
    moment_ms = clock.ms + 500
    old.end(moment_ms)
    new.plan(GROUP, moment_ms)
    clock.ahead_ms = -HOUR_MS
    wait_until(lambda: following.fetches > 4)
    assert not old.alive
    new.stop(120.0)
    writer.stop(120.0, lambda: None)
    assert max(Counter(written.ticks()["a"]).values()) == 1
