"""What an outbox keeps and sends again, from one process to the next."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sampler_bridge.sending.outbox import Outbox
from tests.sampler_bridge.wire import rows_of

NewBox = Callable[[], Outbox]
TICKS = 20


@pytest.fixture
def new_box(tmp_path: Path) -> Iterator[NewBox]:
    """Makes outboxes of one folder one after another, as after kill -9."""
    with ExitStack() as stack:

        def make() -> Outbox:
            box = Outbox(tmp_path, 10**9, lambda: None)
            stack.callback(box.log.close)
            return box

        yield make


def append(box: Outbox) -> None:
    for tick in range(TICKS):
        box.log.append(tick, rows_of("a", tick))


def send(box: Outbox, batches: int, max_bytes: int = 1) -> list[int]:
    """Send the given number of batches, which the store takes; return their ticks."""
    ticks = []
    for _ in range(batches):
        batch = box.read(max_bytes)
        assert batch is not None
        ticks += [entry.tick_ms for entry in batch.entries]
        box.settle(batch, 0, None)
    return ticks


@pytest.mark.parametrize(
    ("first", "second", "suspect"),
    [(1e9, 2e9, False), (1e9, 1e9, True), (None, None, True)],
    ids=["another run", "one of the same second", "one that tells nothing"],
)
@pytest.mark.parametrize("resent", [0, 1, TICKS - 1])
def test_partly_resent_minute_is_completed_by_the_next_process(
    new_box: NewBox,
    first: float | None,
    second: float | None,
    suspect: bool,
    resent: int,
) -> None:
    box = new_box()
    append(box)
    box.met(first, False)
    send(box, TICKS)
    assert box.met(second, suspect) == (first is not None)
    assert send(box, resent) == list(range(resent))
    after = new_box()
    after.met(second, suspect and not resent)
    assert send(after, 1, 10**6) == list(range(TICKS))
    assert after.account.figures()["resent"] == TICKS
    assert after.account.figures()["written"] == 0


def test_store_killed_during_resending_gets_the_whole_minute(
    new_box: NewBox,
) -> None:
    box = new_box()
    append(box)
    for run, batches in ((1e9, TICKS), (2e9, 3), (3e9, 1)):
        box.met(run, False)
        send(box, batches)
    after = new_box()
    assert after.met(3e9, False)
    assert send(after, 1, 10**6) == list(range(TICKS))


def test_resent_minute_is_not_sent_a_third_time(new_box: NewBox) -> None:
    box = new_box()
    append(box)
    for run in (1e9, 2e9):
        box.met(run, False)
        send(box, TICKS)
    after = new_box()
    assert not after.met(2e9, False)
    assert not after.has_more
