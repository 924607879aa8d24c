"""A sampler whose source needs longer than a period keeps each answer."""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sampler_bridge.log.batch import START
from sampler_bridge.log.log import Log
from sampler_bridge.sampling.recorder import Recorder
from sampler_bridge.sampling.samplers import Samplers
from sampling.account.account import Account
from sampling.plan_file.plan import SamplingPlan, make_plan
from sampling.sources.source import Sample, SampleColumn, Series
from tests.servers import wait_until

pytestmark = pytest.mark.serial

PERIOD_MS = 15
SLOW = 0.04  # seconds
PAUSE_NS = 2_000_000
SERIES = (Series("slow.clock", None),)


class SlowSource:
    """Gives the middle of each fetch as its value, in ms of Unix time."""

    def __init__(self) -> None:
        self.fetches, self.connected = 0, False
        # Fetches that the machine held up, and pauses between two fetches.
        self.held_up, self.paused = 0, 0
        self._ended = 0

    def connect(self) -> None:
        self.connected = True

    def close(self) -> None:
        pass

    def select(self, metrics: Sequence[str]) -> None:
        pass

    def fetch(self) -> Sample:
        began = time.time_ns()
        # The sampler is expected to fetch again at once.
        self.paused += bool(self._ended) and began - self._ended > PAUSE_NS
        time.sleep(SLOW)
        self.fetches += 1
        self._ended = ended = time.time_ns()
        self.held_up += ended - began > 3 * SLOW * 1e9
        middle = np.array([(began + ended) // 2_000_000])
        return Sample((SampleColumn(SERIES, middle),), {})


def plan() -> SamplingPlan:
    row = {"samplerName": "slow.clock", "dbName": "slow_clock"}
    return make_plan([{**row, "period": PERIOD_MS / 1000}])


def test_answers_of_a_slow_source_are_stored_at_their_ticks(
    tmp_path: Path,
) -> None:
    source, log = SlowSource(), Log(tmp_path, 1 << 20, START)
    account = Account(0)
    samplers = Samplers("n1", lambda _: source, Recorder(log, account, lambda: False))
    samplers.apply(plan())
    wait_until(lambda: source.fetches > 30)
    samplers.stop(120.0)
    points = [
        (value, entry.tick_ms)
        for entry in log.read(START, 1 << 20).entries
        for value in entry.rows.values.tolist()
    ]
    log.close()
    stamps = [ms for _, ms in points]
    # The first fetch only tries the source out; held-up fetches give no value.
    held_up = source.held_up + 2 * source.paused
    assert source.fetches - 1 - held_up <= len(points) <= source.fetches - 1
    assert stamps == sorted(set(stamps))
    assert all(ms % PERIOD_MS == 0 for ms in stamps)
    # Around a pause, the sampler cannot know when in the fetch the value was read.
    elsewhen = [ms for value, ms in points if abs(value - ms) > PERIOD_MS / 2 + 1]
    assert len(elsewhen) <= 2 * source.paused
    figures = account.figures()
    ticks = (stamps[-1] - stamps[0]) // PERIOD_MS + 1
    assert figures["fetched"] == len(points)
    assert figures["expected"] == figures["fetched"] + sum(figures["reasons"].values())
    assert figures["expected"] >= ticks
    assert figures["reasons"]["slow source"] > 0
    assert set(figures["missing"]) <= {"slow source", "late"}
