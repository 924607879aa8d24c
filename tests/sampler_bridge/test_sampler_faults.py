"""An unforeseen fault costs ticks, which are counted, and never the sampler."""

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sampler_bridge.log.batch import START
from sampler_bridge.log.log import Log
from sampler_bridge.sampling.recorder import Recorder
from sampler_bridge.sampling.samplers import Samplers
from sampling.account.account import Account
from sampling.account.reasons import GapReason
from sampling.plan_file.plan import make_plan
from sampling.sources.source import LateSample, Sample, SampleColumn, Series
from tests.servers import wait_until

PERIOD_MS = 20
SERIES = (Series("broken.clock", None),)
REASON = "sampling broke off (IndexError: too high): please report it"


class BrokenSource:
    """Raises an unexpected exception in some of its fetches."""

    def __init__(self, broken: range, late: bool) -> None:
        self.connected, self.fetches = False, 0
        self._broken, self._late = broken, late

    def connect(self) -> None:
        self.connected = True

    def close(self) -> None:
        self.connected = False

    def select(self, metrics: Sequence[str]) -> None:
        pass

    def fetch(self) -> Sample:
        self.fetches += 1
        sample = Sample((SampleColumn(SERIES, np.array([self.fetches])),), {})
        if self.fetches not in self._broken:
            return sample
        if self._late:
            return LateSample(self._fail, 0.0)
        return self._fail()

    def _fail(self) -> Sample:
        raise IndexError("too high")


@pytest.mark.parametrize("late", [False, True], ids=["in fetch", "in decoding"])
@pytest.mark.parametrize("first", [1, 4], ids=["at the trial", "while it samples"])
def test_fault_is_a_counted_gap_and_sampling_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, late: bool, first: int
) -> None:
    source = BrokenSource(range(first, first + 2), late)
    log, account = Log(tmp_path, 1 << 20, START), Account(0)
    samplers = Samplers("n1", lambda _: source, Recorder(log, account, lambda: False))
    row = {"samplerName": "broken.clock", "dbName": "broken_clock"}
    with caplog.at_level(logging.ERROR):
        samplers.apply(make_plan([{**row, "period": PERIOD_MS / 1000}]))
        wait_until(lambda: source.fetches > first + 20)
        assert samplers.alive
        samplers.stop(120.0)
    stamps = [entry.tick_ms for entry in log.read(START, 1 << 20).entries]
    log.close()
    figures = account.figures()
    assert REASON in caplog.text
    assert figures["expected"] == figures["fetched"] + sum(figures["reasons"].values())
    ticks = (stamps[-1] - stamps[0]) // PERIOD_MS + 1
    if first > 1:
        assert figures["missing"]["sampling broke off"][REASON] >= 2
        assert figures["losing"]["reasons"][GapReason.BROKE_OFF] >= 2
        # Before the first and after the last stamp, a busy machine may miss ticks.
        reasons = figures["reasons"]
        missed = reasons.get(GapReason.LATE, 0) + reasons.get(GapReason.SLOW, 0)
        assert 0 <= figures["expected"] - ticks <= missed
    assert stamps == sorted(set(stamps))
