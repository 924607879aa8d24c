"""A source that reconnects within a tick: no value gets the time of another tick."""

import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

import pytest

from sampler_bridge.log.batch import START
from sampler_bridge.sampling.journal import Journal
from sampler_bridge.sampling.sampler import Sampler
from sampler_bridge.sampling.writer_thread import WriterThread
from sampling.account.reasons import GapReason
from sampling.plan_file.plan import FetchGroup
from sampling.sources.pcp_source import PcpSource
from tests.cable import Cable
from tests.sampler_bridge.heartbeat import Heartbeat
from tests.sampler_bridge.test_change_over import Written
from tests.servers import Pmcd

pytestmark = pytest.mark.serial

PERIOD_MS = 1000
CLOCK = FetchGroup({"sample.milliseconds": "ms"})


def values(written: Written) -> Mapping[int, float]:
    entries = written.log.read(START, 1 << 20).entries
    return {entry.tick_ms: float(entry.rows.values[0]) for entry in entries}


def sleep_until(ms: int) -> None:
    time.sleep(max(0.0, ms / 1000 - time.time()))


@pytest.mark.parametrize(
    ("hangs_ms", "lost"), [(60, 0), (1300, 1)], ids=["in time", "too late"]
)
def test_failed_fetch_gets_no_later_value(
    pmcd: Pmcd, tmp_path: Path, heartbeat: Heartbeat, hangs_ms: int, lost: int
) -> None:
    """The test repeats when the machine held up what had to be in time."""
    for number in range(10):
        written = Written(tmp_path / f"{number}")
        hurt_ms = hurt(pmcd, written, hangs_ms)
        lacks = written.account.figures()["reasons"][GapReason.DOWN]
        if ((hurt_ms in values(written)) == (not lost)) and lacks == lost:
            break
        # Only half a period is available, so even a short stall counts.
        assert heartbeat.held_up(range(hurt_ms - 1000, hurt_ms + 3000, 200), 200)
        written.log.close()
    found = values(written)
    offsets = {ms: value - ms for ms, value in found.items()}
    usual = median(offsets.values())
    assert all(abs(off - usual) <= PERIOD_MS / 2 + 50 for off in offsets.values())
    assert (hurt_ms in found) == (not lost)
    figures = written.account.figures()
    assert figures["expected"] == figures["fetched"] + sum(figures["reasons"].values())
    assert figures["reasons"][GapReason.DOWN] == lost
    written.log.close()


def hurt(pmcd: Pmcd, written: Written, hangs_ms: int) -> int:
    """Sample over a connection that hangs at a tick, then is cut; return the tick."""
    writer = WriterThread("n1")
    writer.start()
    with Cable(pmcd.port) as cable:
        source, journal = PcpSource(cable.address), Journal("n1", written.recorder)
        sampler = Sampler(PERIOD_MS, source, journal, writer)
        sampler.prepare(CLOCK)
        assert sampler.ready.wait(120.0)
        now_ms = time.time_ns() // 1_000_000
        sampler.plan(CLOCK, now_ms)
        hurt_ms = (now_ms // PERIOD_MS + 4) * PERIOD_MS
        sleep_until(hurt_ms - 100)
        cable.silence()
        sleep_until(hurt_ms + hangs_ms)
        cable.fix()
        cable.cut(0)
        sleep_until(hurt_ms + 4 * PERIOD_MS + 100)
        sampler.stop(120.0)
        writer.stop(120.0, lambda: None)
    return hurt_ms
