"""The queue of messages for a live stream."""

import asyncio

from api.dashboards.watcher import (
    WAITING,
    Message,
    StreamEnd,
    Tick,
    Watcher,
    WindowsReset,
)


def _received(*told: Message) -> list[Message | None]:
    """What a watcher gets until nothing is left."""

    async def receive() -> list[Message | None]:
        watcher, found = Watcher(), []
        for message in told:
            watcher.tell(message)
        while message := await watcher.next(0.01):
            found.append(message)
        return found

    return asyncio.run(receive())


def test_messages_arrive_in_order() -> None:
    ticks = [Tick(time, b"") for time in range(WAITING)]
    assert _received(*ticks) == ticks


def test_fresh_windows_replace_a_full_queue() -> None:
    ticks = [Tick(time, b"") for time in range(WAITING + 2)]
    assert _received(*ticks) == [WindowsReset(), ticks[-1]]


def test_end_of_the_stream_replaces_all_other_messages() -> None:
    assert _received(Tick(1, b""), WindowsReset(), StreamEnd()) == [StreamEnd()]
    assert _received(StreamEnd(), Tick(1, b"")) == [StreamEnd()]
