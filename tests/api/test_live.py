"""A live stream sends each step once, as stored, even if services die meanwhile."""

import asyncio
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.dashboards.watcher import Tick, Watcher
from api.services import make_services
from core.settings.settings import Settings
from tests.api.watched import (
    BASE,
    HOSTILE,
    LOADS,
    SMALL,
    Sent,
    Watched,
    events,
    fed,
    publish,
    small_document,
    value,
    watched,
)
from tests.servers import Fuseki, wait_until

LOAD, BUSY = "host-load-average", "threads-busy-threads-socket-0"
STREAMS = 64
_LONGEST = 60.0  # seconds; streams do not end by themselves


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, hosts: Fuseki) -> Iterator[Watched]:
    """Start an API with a store that gets points every second."""
    with (
        watched(tmp_path_factory.mktemp("live"), hosts) as found,
        fed(found.store),
    ):
        yield found


@contextmanager
def stream(live: Watched, **query: Any) -> Iterator[Iterator[Sent]]:
    """Return the events of a stream of the small host."""
    url = f"{live.api.url}/dashboards/monitor/live"
    query = {"host": SMALL, "seconds": 20, **query}
    with httpx.stream("GET", url, params=query, timeout=120) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield events(response)


def until(sent: Iterator[Sent], name: str, count: int = 1) -> list[Sent]:
    """Return the events up to the given occurrence of a name."""
    found = []
    deadline = time.monotonic() + _LONGEST
    for event in sent:
        found.append(event)
        assert time.monotonic() < deadline, f"no {count} {name} among {found[-50:]}"
        if sum(one.name == name for one in found) == count:
            return found
    raise AssertionError(f"the stream ended after {found}")


def named(sent: list[Sent], name: str) -> list[Any]:
    return [event.data for event in sent if event.name == name]


def drawn(live: Watched) -> list[str]:
    """Return the panels that have series."""
    sections = live.spec()["sections"]
    return [p["id"] for s in sections for p in s["panels"] if p["series"]]


def test_stream_sends_windows_then_each_second_once(live: Watched) -> None:
    with stream(live) as sent:
        found = until(sent, "tick", 6)
    windows = {window["panel"]: window for window in named(found, "window")}
    assert list(windows) == drawn(live)
    assert [event.name for event in found] == ["window"] * len(windows) + ["tick"] * 6
    ticks = named(found, "tick")
    times = [*windows[LOAD]["times"], *(tick["time"] for tick in ticks)]
    assert all(after - before == 1 for before, after in pairwise(times))
    assert len(windows[LOAD]["times"]) >= 18
    for number, instance in enumerate(LOADS):
        shown = [*windows[LOAD]["values"][number]]
        shown += [tick["panels"][LOAD][number] for tick in ticks]
        assert shown == [value(instance, at) for at in times]
    assert windows["host-memory"]["why"] and not windows[LOAD]["why"]
    assert ticks[0]["panels"]["host-memory"] == [None] * 8


def test_ticks_equal_what_is_stored_later(live: Watched) -> None:
    with stream(live) as sent:
        ticks = named(until(sent, "tick", 5), "tick")
    span = {"start": ticks[0]["time"] - 1, "end": ticks[-1]["time"]}
    for id_ in (LOAD, BUSY):
        later = live.series(id_, **span)
        assert later["times"] == [tick["time"] for tick in ticks]
        panel_ticks = [tick["panels"][id_] for tick in ticks]
        assert later["values"] == [
            list(column) for column in zip(*panel_ticks, strict=True)
        ]
        assert all(v is not None for values in panel_ticks for v in values)


def test_ticks_arrive_soon(live: Watched) -> None:
    """Within two seconds, unless the machine is held up."""
    late: list[float] = []
    ends = time.monotonic() + _LONGEST
    with stream(live) as sent:
        until(sent, "tick", 2)
        for event in sent:
            if event.name == "tick":
                late.append(time.time() - event.data["time"])
            if late and late[-1] < 2.0:
                return
            assert time.monotonic() < ends, late
    raise AssertionError(f"the stream ended: {late}")


def test_stream_can_be_limited_to_a_component(live: Watched) -> None:
    component = next(c for c in live.spec()["components"] if len(c["instances"]) == 2)
    panels = [p for s in live.spec()["sections"] for p in s["panels"]]
    series = next(p["series"] for p in panels if p["id"] == BUSY)
    inside = [one["instname"] in component["instances"] for one in series]
    with stream(live, component=component["id"]) as sent:
        tick = named(until(sent, "tick"), "tick")[0]
    assert [v is not None for v in tick["panels"][BUSY]] == inside
    assert None not in tick["panels"][LOAD]


def test_step_may_be_longer_than_a_second(live: Watched) -> None:
    with stream(live, seconds=20, points=10) as sent:
        found = until(sent, "tick", 2)
    times = [tick["time"] for tick in named(found, "tick")]
    assert times[1] - times[0] == 2 and times[0] % 2 == 0
    window = next(w for w in named(found, "window") if w["panel"] == LOAD)
    assert window["step"] == 2 and window["end"] == times[0] - 2


def test_watchers_share_one_poll_until_the_last_leaves(
    live: Watched,
) -> None:
    feeds, shared, alone, left = asyncio.run(_polls(live))
    assert feeds == [1, 1]
    # Separate polls would be ten times as many; a poll may bring several ticks.
    assert 0 < shared < 5 * alone
    assert left == 0


async def _polls(live: Watched) -> tuple[list[int], int, int, int]:
    """Count feeds with 10 watchers and with 1; and queries with 10, 1 and none."""
    settings = {"fuseki_url": live.fuseki.url, "store_read_url": live.store.url}
    services = make_services(Settings(**{"base": BASE, **settings}))
    store = services.store.client
    spec = await services.specs.get("monitor", SMALL)
    feeds, found = [], []
    for watchers in (10, 1):
        joined = [services.feeds.join(spec, None, 1) for _ in range(watchers)]
        feeds.append(len({id(feed) for feed, _ in joined}))
        for _, watcher in joined:
            await _ticks(watcher, 1)
        before = store.requests
        for _, watcher in joined:
            await _ticks(watcher, 4)
        found.append(store.requests - before)
        for feed, watcher in joined:
            services.feeds.leave(feed, watcher)
    await asyncio.sleep(0.1)
    before = store.requests
    await asyncio.sleep(2.5)
    left = store.requests - before
    await services.aclose()
    return feeds, found[0], found[1], left


async def _ticks(watcher: Watcher, count: int) -> None:
    while count:
        count -= isinstance(await watcher.next(10), Tick)


def test_too_many_streams_are_refused(live: Watched) -> None:
    query = {"host": SMALL, "seconds": 1}
    url = f"{live.api.url}/dashboards/monitor/live"
    limits = httpx.Limits(max_connections=None)
    with httpx.Client(limits=limits, timeout=120) as client:
        with ExitStack() as stack:
            opened = [
                stack.enter_context(client.stream("GET", url, params=query))
                for _ in range(STREAMS)
            ]
            assert all(one.status_code == 200 for one in opened)
            refused = client.get(url, params=query)
            assert refused.status_code == 503
            assert refused.headers["content-type"] == "application/problem+json"
            assert "64 live streams" in refused.json()["detail"]
            assert live.client.get("/health").status_code in (200, 503)
        wait_until(lambda: _accepted(url, query), what="a stream after others ended")


def _accepted(url: str, query: dict[str, Any]) -> bool:
    with httpx.stream("GET", url, params=query, timeout=120) as response:
        return response.status_code == 200


def test_stream_recovers_after_the_store_is_killed(live: Watched) -> None:
    with stream(live) as sent:
        until(sent, "tick", 2)
        live.store.end(signal.SIGKILL)
        problem = until(sent, "problem")[-1]
        assert live.store.url in problem.data["detail"]
        live.store.start()
        found = until(sent, "recovered")
        assert not named(found, "tick")
        after = until(sent, "tick", 3)
    windows = {window["panel"]: window for window in named(after, "window")}
    ticks = named(after, "tick")
    assert list(windows) == drawn(live)
    assert ticks[0]["time"] == windows[LOAD]["end"] + 1
    assert all(b["time"] - a["time"] == 1 for a, b in pairwise(ticks))


def test_stream_starts_without_the_store(live: Watched) -> None:
    live.store.end()
    try:
        with stream(live, seconds=22) as sent:
            first = next(sent)
            assert first.name == "problem" and live.store.url in first.data["detail"]
            live.store.start()
            found = until(sent, "tick")
            assert [event.name for event in found][0] == "recovered"
            assert len(named(found, "window")) == len(drawn(live))
    finally:
        if live.store.ended() is not None:
            live.store.start()


def test_late_points_are_shown(live: Watched) -> None:
    """A point is late if it arrives after its tick was sent.

    The feed does not look for points that are more than GRACE_S late. On a busy
    machine one may be that late, so the test writes a point for every tick.
    """
    ends = time.monotonic() + _LONGEST
    with stream(live, seconds=23) as sent:
        for event in sent:
            if event.name == "tick":
                live.write("mem_util_used", None, {event.data["time"]: 5})
            elif event.name == "window" and event.data["panel"] == "host-memory":
                if 5 * 1024 in (shown := event.data["values"][0]):
                    return
                # Other points may be late, too, and be shown before.
                assert set(shown) == {None}
            assert time.monotonic() < ends
    raise AssertionError("the stream ended")


def test_stream_reports_a_changed_twin(live: Watched) -> None:
    with stream(live, seconds=24) as sent:
        until(sent, "tick")
        publish(live.fuseki, small_document("another-disk"))
        try:
            changed = until(sent, "changed")
            assert not named(changed, "problem")
            until(sent, "tick")
        finally:
            publish(live.fuseki, small_document(HOSTILE))


def test_stream_recovers_after_fuseki_is_killed(live: Watched) -> None:
    with stream(live, seconds=25) as sent:
        until(sent, "tick")
        live.fuseki.end(signal.SIGKILL)
        try:
            problem = until(sent, "problem")[-1]
            assert "Fuseki" in problem.data["detail"]
            # Charts continue: series need no graph.
            until(sent, "tick", 2)
            shown = live.series(LOAD)
            assert shown["values"]
            assert live.client.get("/dashboards/monitor?host=small").status_code == 503
            with stream(live, seconds=25) as other:
                found = until(other, "tick")
            assert named(found, "window")
        finally:
            live.fuseki.start()
        found = until(sent, "recovered")
        until(sent, "window", len(drawn(live)))
    assert "Traceback" not in live.api.output()


def test_api_stops_immediately_with_open_streams(
    live: Watched, tmp_path: Path, hosts: Fuseki
) -> None:
    with watched(tmp_path, hosts) as own, ExitStack() as stack:
        sent = [stack.enter_context(stream(own, seconds=n)) for n in (5, 5, 9)]
        for one in sent:
            next(one)
        assert own.api.end() == -signal.SIGTERM
        assert "Traceback" not in own.api.output()
        assert "ERROR" not in own.api.output()
