"""The time without counting between an earlier bridge process and this one.

No account has the points that were due then. An absence records at least its start, its
end and an estimate of the number of points.
"""

import logging
from collections import deque
from pathlib import Path
from typing import NamedTuple

from core.linux.files import read_json, write_reserved

_LOG = logging.getLogger(__name__)

STOPPED, DIED = "the bridge was stopped", "the bridge died"
RESTORED = "the state was restored from a backup"
COUNTED_FILE = "counted.json"
_FORMAT = "supertwin-counted/1"
_LATEST = 10**12
_STEP = 256  # bytes, more than any account has


class Absence(NamedTuple):
    """A time without counting, in Unix seconds; ``points`` is an estimate.

    It follows from the points per second that the earlier process expected at its end.
    """

    since: float
    until: float
    points: int
    reason: str

    @property
    def seconds(self) -> float:
        """Its length in seconds."""
        return round(self.until - self.since, 3)


class AbsenceTracker:
    """Saves until when points were counted, and the number of points per second.

    ``absence`` is what the file says at the start, None if there was none.
    """

    def __init__(self, path: Path, now: float) -> None:
        self.absence = _absence(path, now)
        self._path = path
        self._seen: deque[tuple[float, int]] = deque(maxlen=10)

    def keep(self, now: float, expected: int, stopped: bool = False) -> None:
        """Note that all points up to now (Unix seconds) are counted; raises OSError."""
        self._seen.append((now, expected))
        (first, before), (last, then) = self._seen[0], self._seen[-1]
        rate = max(then - before, 0) / (last - first) if last > first else 0.0
        text = (
            f'{{"format": "{_FORMAT}", "until": {now:.3f}, "points_per_second": '
            f'{rate:.3f}, "stopped": {str(stopped).lower()}}}'
        )
        write_reserved(self._path, text, _STEP)


def _absence(path: Path, now: float) -> Absence | None:
    try:
        return _read(read_json(path), now)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        _LOG.warning(
            "%s is not an account (%s): gaps before this start are not counted",
            path,
            error,
        )
    return None


def _read(document: object, now: float) -> Absence | None:
    """Parse a saved count; None if the clock went back. Raises ValueError."""
    match document:
        case {
            "format": str(form),
            "until": (int() | float()) as until,
            "points_per_second": (int() | float()) as rate,
            "stopped": bool(stopped),
            **others,
        } if form == _FORMAT and 0 <= until < _LATEST and 0 <= rate < _LATEST:
            if until > now:
                return None
            points = round((now - until) * rate)
            ended = RESTORED if others.get("restored") else DIED
            return Absence(until, now, points, STOPPED if stopped else ended)
    raise ValueError("unexpected format")
