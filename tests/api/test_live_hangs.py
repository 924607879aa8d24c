"""A live stream reports a store that hangs, and survives a clock that is set back."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from api.dashboards.watcher import Message, WindowsReset
from api.services import make_services
from core.settings.settings import Settings
from tests.api.test_live import SMALL, stream, until
from tests.api.watched import BASE, Watched, fed, watched
from tests.servers import Fuseki


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, hosts: Fuseki) -> Iterator[Watched]:
    """Start an API with a store that gets points every second."""
    with (
        watched(tmp_path_factory.mktemp("hangs"), hosts) as found,
        fed(found.store),
    ):
        yield found


def test_hanging_store_is_reported(live: Watched) -> None:
    with stream(live) as early:
        until(early, "tick", 2)
        os.kill(live.store.pid, signal.SIGSTOP)
        try:
            with stream(live) as late:
                for sent in (late, early):
                    problem = until(sent, "problem")[-1]
                    assert live.store.url in problem.data["detail"]
                os.kill(live.store.pid, signal.SIGCONT)
                until(late, "tick", 2)
        finally:
            os.kill(live.store.pid, signal.SIGCONT)
        until(early, "tick", 2)


def test_stream_survives_a_clock_set_back(live: Watched) -> None:
    settings = {"fuseki_url": live.fuseki.url, "store_read_url": live.store.url}

    async def received() -> list[Message | None]:
        services = make_services(Settings(**{"base": BASE, **settings}))
        spec = await services.specs.get("monitor", SMALL)
        feed, watcher = services.feeds.join(spec, None, 1)
        await feed.ready.wait()
        feed.last += 3600
        found = [await watcher.next(5) for _ in range(4)]
        services.feeds.leave(feed, watcher)
        await services.aclose()
        return found

    assert any(isinstance(one, WindowsReset) for one in asyncio.run(received()))
