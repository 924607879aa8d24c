"""What the store has acknowledged, and where to resend from if it restarts.

A *run* of the store is the time from one start of its process to the next.
"""

import json
import logging
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from core.linux.files import read_json, write_reserved
from sampler_bridge.log.batch import START, Position

_LOG = logging.getLogger(__name__)

SEND_AGAIN_SECONDS = 60.0
# Larger than any segment, offset or time; a NaN is not below it either.
_END = 10**15
_STEP = 256  # larger than any cursor: its files stay at one block each


@dataclass(frozen=True)
class Cursor:
    """Where the queue starts, and where to resend from.

    ``taken``: the start of the queue; ``again``: where to resend from if the store
    restarts; ``store``: when the run of the store started that acknowledged the points.
    """

    taken: Position = START
    again: Position = START
    store: float | None = None


def load_cursor(path: Path) -> Cursor:
    """Load the saved cursor; a new one if no readable one exists.

    A new cursor sends everything in the log: the store keeps one of two equal points.
    """
    try:
        return _read(read_json(path))
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        _LOG.warning(
            "%s is not a cursor (%s): all of the log is sent again", path, error
        )
    return Cursor()


def _read(document: object) -> Cursor:
    """Parse a saved cursor; raises ValueError if save_cursor did not write it."""
    match document:
        case {
            "taken": [int(), int()] as taken,
            "again": [int(), int()] as again,
            "store": (None | int() | float()) as store,
        } if all(0 <= number < _END for number in (*taken, *again, store or 0)):
            run = None if store is None else float(store)
            return Cursor(Position(*taken), Position(*again), run)
    raise ValueError("unexpected format")


def save_cursor(path: Path, cursor: Cursor) -> None:
    """Save the cursor for the next start, also on a full disk; raises OSError."""
    document = {
        "taken": cursor.taken,
        "again": cursor.again,
        "store": cursor.store,
    }
    write_reserved(path, json.dumps(document), _STEP)


class SentPositions:
    """Where the batches of the last minute start, by when they were acknowledged.

    A killed store can lose what it acknowledged in its last seconds. The time of the
    acknowledgement counts, not that of the ticks: after an outage, one second of
    sending covers hours of ticks.
    """

    def __init__(self, again: Position, now: float) -> None:
        self._starts = deque([(int(now), again)])

    def add(self, start: Position, now: float) -> None:
        """Add a batch that starts here and was acknowledged at ``now`` (seconds)."""
        second, earliest = self._starts[-1]
        if second == int(now):
            self._starts[-1] = (second, min(earliest, start))
        else:
            self._starts.append((int(now), start))
        while self._starts[0][0] < now - SEND_AGAIN_SECONDS - 1:
            self._starts.popleft()

    @property
    def again(self) -> Position:
        """Where to resend from when the store has lost its last seconds."""
        return min(start for _, start in self._starts)
