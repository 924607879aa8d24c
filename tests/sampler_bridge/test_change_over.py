"""Change from one sampler to the next: each tick once, none lost, all counted."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from sampler_bridge.log.batch import START
from sampler_bridge.log.log import Log
from sampler_bridge.sampling import samplers as module
from sampler_bridge.sampling.journal import Journal
from sampler_bridge.sampling.recorder import Recorder
from sampler_bridge.sampling.sampler import Sampler
from sampler_bridge.sampling.samplers import Samplers
from sampler_bridge.sampling.writer_thread import WriterThread
from sampling.account.account import Account
from sampling.errors import SourceDownError
from sampling.plan_file.plan import FetchGroup, SamplingPlan, make_plan
from sampling.sources.source import Sample, SampleColumn, Series
from tests.sampler_bridge.heartbeat import Heartbeat
from tests.sampler_bridge.wire import named
from tests.servers import wait_until

pytestmark = pytest.mark.serial


class Paced:
    """A source of ones; a fetch takes ``seconds``, and ``reach`` delays connecting."""

    def __init__(
        self, seconds: float = 0.0, reach: Callable[[], object] = lambda: None
    ) -> None:
        self.fetches, self.connected, self.fails = 0, False, False
        self.began, self.ended, self.is_busy = 0.0, 0.0, False
        # Fetches that the machine held up, or that followed too long a pause.
        self.held_up = 0
        self._seconds, self._reach = seconds, reach
        self._series: tuple[Series, ...] = ()

    def connect(self) -> None:
        self._reach()
        self.connected = True

    def close(self) -> None:
        pass

    def select(self, metrics: Sequence[str]) -> None:
        self._series = tuple(Series(metric, None) for metric in metrics)

    def fetch(self) -> Sample:
        if self.fails:
            raise SourceDownError("it is unreachable")
        self.began, self.is_busy = time.time(), True
        waited = self.began - (self.ended or self.began)
        self._fetch()
        self.ended = time.time()
        longest = max(self.ended - self.began, waited)
        self.held_up += longest > 3 * self._seconds
        self.fetches, self.is_busy = self.fetches + 1, False
        return Sample((SampleColumn(self._series, np.ones(len(self._series))),), {})

    def _fetch(self) -> None:
        time.sleep(self._seconds)


class Held(Paced):
    """A source whose fetches block until the test releases them."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on, self.is_held = Event(), False
        self.goes_on.set()

    def _fetch(self) -> None:
        self.is_held = not self.goes_on.is_set()
        self.goes_on.wait()


class Written:
    """What samplers record: a log, and the account of its points."""

    def __init__(self, folder: Path) -> None:
        self.log, self.account = Log(folder, 1 << 20, START), Account(0)
        self.recorder = Recorder(self.log, self.account, lambda: False)

    def ticks(self) -> Mapping[str, list[int]]:
        """The ticks of each series in log order; asserts that the account closes."""
        batch = self.log.read(START, 1 << 20)
        found: dict[str, list[int]] = {}
        for entry in batch.entries:
            for place in entry.rows.places.tolist():
                name = named(batch.heads[place])["__name__"]
                found.setdefault(name, []).append(entry.tick_ms)
        figures = self.account.figures()
        missing = sum(figures["reasons"].values())
        assert figures["expected"] == figures["fetched"] + missing
        assert figures["fetched"] == sum(map(len, found.values()))
        return found


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Written]:
    found = Written(tmp_path)
    yield found
    found.log.close()


def plan(period_ms: int, *metrics: str) -> SamplingPlan:
    rows = [{"samplerName": name, "dbName": name} for name in metrics]
    return make_plan([{**row, "period": period_ms / 1000} for row in rows])


def lacking(ticks: Sequence[int], period_ms: int) -> int:
    """How many ticks between the first and the last are absent; none occurs twice."""
    assert max(Counter(ticks).values()) == 1
    return (max(ticks) - min(ticks)) // period_ms + 1 - len(ticks)


def test_early_tick_is_fetched_by_one_sampler_only(
    written: Written, heartbeat: Heartbeat
) -> None:
    """A source that needs longer than its period is fetched before the tick is due."""
    slow, quick = Paced(0.25), Paced()
    sources = iter([slow, quick])
    samplers = Samplers("n1", lambda _: next(sources), written.recorder)
    samplers.apply(plan(200, "a"))
    wait_until(lambda: slow.fetches > 4)

    def is_early() -> bool:
        before = 0.2 - slow.began % 0.2
        return slow.is_busy and before < 0.12 and time.time() - slow.began < 0.02

    until = time.monotonic() + 120
    while not is_early():
        assert time.monotonic() < until
        time.sleep(0.001)
    samplers.apply(plan(200, "a", "b"))
    wait_until(lambda: quick.fetches > 5)
    samplers.stop(120.0)
    ticks = written.ticks()
    assert max(Counter(ticks["a"] + ticks["b"]).values()) <= 2
    first, last = ticks["b"][0], ticks["b"][-1]
    assert len(heartbeat.lost(range(first, last + 1, 200), ticks["b"], 200)) <= 1
    # The slow source gave about every second tick.
    assert len(heartbeat.lost(range(first - 400, last + 1, 200), ticks["a"], 200)) <= 2


def test_every_tick_is_expected_once(written: Written) -> None:
    """Fetches that run beyond the end of their plan belong to no tick."""
    period_ms, group = 15, FetchGroup({"a": "a"})
    writer = WriterThread("n1")
    writer.start()
    now_ms = time.time_ns() // 1_000_000
    moments = [now_ms + ahead_ms for ahead_ms in (200, 333, 471, 608, 745, 882)]
    chain = []
    for begin_ms, end_ms in zip(moments, moments[1:], strict=False):
        journal = Journal("n1", written.recorder)
        sampler = Sampler(period_ms, Paced(0.04), journal, writer)
        sampler.prepare(group)
        sampler.plan(group, begin_ms)
        sampler.end(end_ms)
        chain.append(sampler)
    wait_until(lambda: not any(sampler.alive for sampler in chain))
    writer.stop(120.0, lambda: None)
    assert max(Counter(written.ticks().get("a", [0])).values()) == 1
    ticks = moments[-1] // period_ms - moments[0] // period_ms
    figures = written.account.figures()
    assert figures["fetched"] < figures["expected"] == ticks


def test_plan_change_in_one_sampler_keeps_each_tick_once(
    written: Written,
) -> None:
    """A sampler that loses a metric continues with its source."""
    source = Paced(0.04)
    samplers = Samplers("n1", lambda _: source, written.recorder)
    for metrics in (("a", "b"), ("a",), ("a",)):
        samplers.apply(plan(15, *metrics))
        fetches = source.fetches
        wait_until(lambda least=fetches + 8: source.fetches > least)
    samplers.stop(120.0)
    ticks = written.ticks()
    assert max(Counter(ticks["a"]).values()) == 1
    assert max(ticks["b"]) < min(ms for ms in ticks["a"] if ms not in ticks["b"])
    # One fetch tried the source out, one may have been in progress at the change. Where
    # nothing changed, only ticks at which the machine was held up were lost.
    least = source.fetches - 2 - source.held_up
    assert least <= len(ticks["a"]) <= source.fetches - 1


def take_over(written: Written, first: Paced, second: Paced) -> None:
    """Ask one source for a metric, then another for that metric and one more."""
    sources = iter([first, second])
    samplers = Samplers("n1", lambda _: next(sources), written.recorder)
    samplers.apply(plan(50, "a"))
    wait_until(lambda: first.fetches > 3)
    samplers.apply(plan(50, "a", "b"))
    wait_until(lambda: second.fetches > 5)
    samplers.stop(120.0)


def test_old_samplers_continue_until_the_new_ones_are_ready(
    written: Written, monkeypatch: pytest.MonkeyPatch, heartbeat: Heartbeat
) -> None:
    monkeypatch.setattr(module, "_READY_SECONDS", 0.1)
    first, second = Paced(), Paced(reach=lambda: time.sleep(1.0))
    take_over(written, first, second)
    ticks = written.ticks()
    for name in ("a", "b"):
        assert max(Counter(ticks[name]).values()) == 1
        due = range(min(ticks[name]), max(ticks[name]) + 1, 50)
        assert len(heartbeat.lost(due, ticks[name], 50)) <= 2


@pytest.mark.parametrize(("fails", "longest"), [(False, 1.5), (True, 60.0)])
def test_plan_applies_even_if_its_source_is_late(
    written: Written,
    monkeypatch: pytest.MonkeyPatch,
    heartbeat: Heartbeat,
    fails: bool,
    longest: float,
) -> None:
    """The wait is prolonged only while there are values to lose."""
    monkeypatch.setattr(module, "_READY_SECONDS", 0.1)
    monkeypatch.setattr(module, "_LONGEST_READY_SECONDS", longest)
    there = Event()
    first, second = Paced(), Paced(reach=there.wait)
    sources = iter([first, second])
    samplers = Samplers("n1", lambda _: next(sources), written.recorder)
    samplers.apply(plan(50, "a"))
    wait_until(lambda: first.fetches > 3)
    first.fails = fails
    wait_until(lambda: bool(samplers.reason) == fails)
    began = time.monotonic()
    samplers.apply(plan(50, "b"))
    assert (time.monotonic() - began < longest) == fails
    changed_ms = time.time_ns() // 1_000_000
    time.sleep(0.2)
    there.set()
    wait_until(lambda: second.fetches > 4)
    samplers.stop(120.0)
    ticks = written.ticks()
    assert max(ticks["a"]) < changed_ms + 100 < min(ticks["b"])
    due = range(min(ticks["b"]), max(ticks["b"]) + 1, 50)
    assert len(heartbeat.lost(due, ticks["b"], 50)) <= 2


def test_silent_new_source_ends_no_other_sampler(
    written: Written, heartbeat: Heartbeat
) -> None:
    attempts: list[float] = []

    def answers_later() -> None:
        attempts.append(time.time())
        if len(attempts) < 4:
            raise SourceDownError("it is unreachable")

    first, second = Paced(), Paced(reach=answers_later)
    take_over(written, first, second)
    ticks = written.ticks()["a"]
    # Includes the pauses between attempts to reach a source that is unreachable.
    assert len(attempts) == 4 and attempts[3] - attempts[0] > 0.6
    due = range(min(ticks), max(ticks) + 1, 50)
    assert len(heartbeat.lost(due, ticks, 50)) <= 2


def test_start_does_not_wait_for_silent_sources_only(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ticks of the silent source are missing from the beginning."""
    monkeypatch.setattr(module, "_READY_SECONDS", 60.0)

    def answers_never() -> None:
        raise SourceDownError("it is unreachable")

    source = Paced(reach=answers_never)
    samplers = Samplers("n1", lambda _: source, written.recorder)
    began = time.monotonic()
    samplers.apply(plan(50, "a"))
    assert time.monotonic() - began < module._READY_SECONDS
    wait_until(lambda: written.account.figures()["expected"] > 4)
    samplers.stop(120.0)
    assert written.ticks() == {}


def test_tick_in_flight_is_recorded_without_waiting(written: Written) -> None:
    source = Held()
    samplers = Samplers("n1", lambda _: source, written.recorder)
    samplers.apply(plan(200, "a"))
    wait_until(lambda: source.fetches > 1)
    source.goes_on.clear()
    wait_until(lambda: source.is_held)
    fetches = source.fetches
    samplers.stop(0.0)
    assert not samplers.ended
    source.goes_on.set()
    wait_until(lambda: samplers.ended)
    assert source.fetches == fetches + 1
    # The first fetch only tries the source out. Each other fetch belongs to a tick,
    # which has its value, or is missing where the machine held it up.
    assert written.ticks()
    assert written.account.figures()["expected"] >= fetches
