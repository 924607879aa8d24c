"""A source that is met again within a tick: no value is of another tick's time."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

import pytest

from sampler_bridge.account.reasons import DOWN
from sampler_bridge.log.batch import START
from sampler_bridge.plan.plan import Group
from sampler_bridge.sampling.journal import Journal
from sampler_bridge.sampling.sampler import Sampler
from sampler_bridge.sampling.scribe import Scribe
from sampler_bridge.sources.pcp_source import PcpSource
from tests.cable import Cable
from tests.sampler_bridge.test_change_over import Written
from tests.servers import Pmcd

pytestmark = pytest.mark.serial

PERIOD_MS = 1000
CLOCK = Group({"sample.milliseconds": "ms"})


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Written]:
    found = Written(tmp_path)
    yield found
    found.log.close()


def values(written: Written) -> Mapping[int, float]:
    entries = written.log.read(START, 1 << 20).entries
    return {entry.tick_ms: float(entry.rows.values[0]) for entry in entries}


def sleep_until(ms: int) -> None:
    time.sleep(max(0.0, ms / 1000 - time.time()))


@pytest.mark.parametrize(
    ("hangs_ms", "lost"), [(60, 0), (1300, 1)], ids=["in time", "too late"]
)
def test_a_fetch_that_hung_and_failed_gives_its_tick_no_later_value(
    pmcd: Pmcd, written: Written, hangs_ms: int, lost: int
) -> None:
    scribe = Scribe("n1")
    scribe.start()
    with Cable(pmcd.port) as cable:
        source, journal = PcpSource(cable.address), Journal("n1", written.recorder)
        sampler = Sampler(PERIOD_MS, source, journal, scribe)
        sampler.prepare(CLOCK)
        sampler.ready.wait(5.0)
        now_ms = time.time_ns() // 1_000_000
        sampler.plan(CLOCK, now_ms)
        hurt_ms = (now_ms // PERIOD_MS + 4) * PERIOD_MS
        sleep_until(hurt_ms - 100)
        cable.silence()
        sleep_until(hurt_ms + hangs_ms)
        cable.mend()
        cable.cut(0)
        sleep_until(hurt_ms + 4 * PERIOD_MS + 100)
        sampler.stop(5.0)
        scribe.stop(5.0, lambda: None)
    found = values(written)
    offsets = {ms: value - ms for ms, value in found.items()}
    usual = median(offsets.values())
    assert all(abs(off - usual) <= PERIOD_MS / 2 + 50 for off in offsets.values())
    assert (hurt_ms in found) == (not lost)
    figures = written.account.figures()
    assert figures["expected"] == figures["fetched"] + sum(figures["missing"].values())
    assert figures["reasons"][DOWN] == lost
