"""The sender waits longer for points while nobody reads them from the store."""

import itertools
import time
from pathlib import Path

import numpy as np
import pytest

from sampler_bridge.log.log import Log
from sampler_bridge.log.rows import LogRows
from sampler_bridge.sending.outbox import Outbox
from sampler_bridge.sending.remote_write import labels
from tests.sampler_bridge.test_writer import T0, CountingStore, row, writing
from tests.servers import VictoriaMetrics, wait_until


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a sender soon assume that nobody reads, and soon notice who does."""
    monkeypatch.setattr("sampler_bridge.sending.writer._CHECK_SECONDS", 0.2)
    monkeypatch.setattr("sampler_bridge.sending.readers._LOOKED_SECONDS", 2.0)


def is_sent_within(seconds: float, log: Log, tick: int) -> bool:
    """Whether a new tick has left the log when this time is over."""
    log.append(*row(tick))
    time.sleep(seconds)
    return log.waiting == 0


@pytest.mark.serial
@pytest.mark.usefixtures("quick")
def test_ticks_are_sent_together_while_nobody_reads(
    tmp_path: Path, store: VictoriaMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting, ticks = CountingStore(store.url), itertools.count()
    with writing(counting) as writer:
        box = Outbox(tmp_path, 10**9, writer.notify)
        writer.add(box)
        wait_until(lambda: not is_sent_within(1.0, box.log, next(ticks)))
        before = counting.requests
        for _ in range(50):
            box.log.append(*row(next(ticks)))
            time.sleep(0.2)
        assert 1 <= counting.requests - before <= 3
        monkeypatch.undo()

        def are_quick() -> bool:
            assert store.values()
            return all(is_sent_within(0.7, box.log, next(ticks)) for _ in range(5))

        wait_until(are_quick)


@pytest.mark.usefixtures("quick")
def test_many_points_are_sent_even_if_nobody_reads(
    tmp_path: Path, store: VictoriaMetrics
) -> None:
    heads = [labels({"__name__": f"a{at}", "hostname": "n1"}) for at in range(5000)]
    counting = CountingStore(store.url)
    with writing(counting) as writer:
        box = Outbox(tmp_path, 10**9, writer.notify)
        writer.add(box)
        wait_until(lambda: not is_sent_within(1.0, box.log, 1))
        before = counting.requests
        for tick in range(50):
            box.log.append(T0 + tick, [LogRows(heads, np.ones(5000))])
            time.sleep(0.1)
        assert counting.requests - before >= 4
