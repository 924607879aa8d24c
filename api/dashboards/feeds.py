"""All feeds: one for each dashboard, host, component, step and scope of watchers."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from api.dashboards.feed import Feed
from api.dashboards.ranges import PanelReader
from api.dashboards.specs import CachedDashboard, DashboardCache
from api.dashboards.watcher import StreamEnd, Watcher
from core.errors import ApiError
from core.stores.scope import Scope, current_scope
from dashboards.spec import Component

MAX_STREAMS = 64
# Panels whose windows are read at the same time, for all streams together.
_AT_ONCE = 4

Key = tuple[str, str, str, int, Scope]
_LATER = {"Retry-After": "5"}


@dataclass
class Feeds:
    """Starts a feed with its first watcher, and ends it with its last.

    ``allowed`` limits how many windows are read at the same time.
    """

    reader: PanelReader
    specs: DashboardCache
    allowed: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(_AT_ONCE)
    )
    _running: dict[Key, Feed] = field(default_factory=dict)
    _tasks: dict[Feed, asyncio.Task[None]] = field(default_factory=dict)
    _stopped: bool = False

    @property
    def streams(self) -> int:
        """The number of watchers."""
        return sum(len(feed.watchers) for feed in self._tasks)

    def join(
        self,
        spec: CachedDashboard,
        component: Component | None,
        step: int,
        client: str = "",
    ) -> tuple[Feed, Watcher]:
        """Watch a dashboard; raises ApiError if there are too many streams.

        At the limit, the client with the most streams loses one if it has more than
        this client would have.
        """
        if self._stopped:
            detail = "SuperTwin is stopping; try again"
            raise ApiError(503, "stopping", "Stopping", detail, headers=_LATER)
        if self.streams >= MAX_STREAMS and not self._end_stream_of_busiest(client):
            detail = f"{MAX_STREAMS} live streams are open; close a page and try again"
            raise ApiError(
                503,
                "too-many-streams",
                "Too many live streams",
                detail,
                headers=_LATER,
            )
        shown = spec.dashboard
        chosen = component.id if component else ""
        # The task of a feed has the scope of the request that starts it.
        key = (shown.name, shown.host, chosen, step, current_scope())
        feed = self._running.get(key)
        if feed is None or feed.spec.dashboard != shown or self._tasks[feed].done():
            feed = Feed(self.reader, self.specs, spec, component, step)
            self._running[key] = feed
            self._tasks[feed] = asyncio.create_task(feed.run())
        watcher = Watcher(client)
        feed.watchers.add(watcher)
        return feed, watcher

    def leave(self, feed: Feed, watcher: Watcher) -> None:
        """Stop watching; may be called more than once."""
        feed.watchers.discard(watcher)
        if not feed.watchers and feed in self._tasks:
            self._tasks.pop(feed).cancel()
            self._running = {k: v for k, v in self._running.items() if v is not feed}

    def _end_stream_of_busiest(self, client: str) -> bool:
        """End a stream of the client with the most, unless this client has as many."""
        watching = [(one, feed) for feed in self._tasks for one in feed.watchers]
        held = Counter(one.client for one, _ in watching)
        most, number = held.most_common(1)[0]
        if number <= held[client] + 1:
            return False
        watcher, feed = next(each for each in watching if each[0].client == most)
        watcher.tell(StreamEnd())
        self.leave(feed, watcher)
        # The stream may still wait for the first points, which will not come any more.
        feed.ready.set()
        return True

    def stop(self) -> None:
        """End all streams: watchers are notified, and new ones are refused."""
        self._stopped = True
        for feed in self._tasks:
            feed.tell(StreamEnd())
