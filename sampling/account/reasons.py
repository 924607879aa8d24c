"""Why points are missing: one of a few reasons, and the detail.

The details contain addresses, names and errors of the system; as instances of a series,
they would be unlimited in number.
"""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class GapReason(StrEnum):
    """Why a point is missing, in the words of series, commands and scripts."""

    BROKE_OFF = "sampling broke off"
    LATE = "late"
    SLOW = "slow source"
    DOWN = "source down"
    LOG_FULL = "log full"
    LOG_FAILED = "log not written"
    LOG_DAMAGED = "log damaged"
    REFUSED = "store refused"
    ABSENT = "no value"
    TEXTS = "too many texts"
    NAMELESS = "no instance name"
    NOT_STORED = "not a number"
    DENIED = "no permission"
    UNKNOWN = "unknown metric"
    AGENT = "agent down"
    UNSUPPORTED = "not supported"
    OTHER = "other"

    @property
    def is_loss(self) -> bool:
        """Whether the source had, or should have had, a value that was not kept.

        An unforeseen reason counts as a loss. The other reasons say that the source has
        no value, refuses it, or gives something that is not a number.
        """
        return self not in _NO_LOSS


_NO_LOSS = frozenset(
    {
        *(GapReason.ABSENT, GapReason.NOT_STORED, GapReason.DENIED),
        *(GapReason.UNKNOWN, GapReason.UNSUPPORTED),
    }
)
WORDS = tuple(reason.value for reason in GapReason)


class GapCause(NamedTuple):
    """Why points are missing; ``detail`` says it for people, in one line.

    ``is_start`` marks the first ticks after a start, before the source can answer.
    """

    reason: GapReason
    detail: str
    is_start: bool = False


def by_reason(missing: Mapping[GapCause, int]) -> dict[str, int]:
    """Points by reason, given points by cause; includes reasons without points."""
    found: Counter[str] = Counter(dict.fromkeys(WORDS, 0))
    for cause, points in missing.items():
        found[cause.reason.value] += points
    return dict(found)


def read_cause(document: object) -> GapCause | None:
    """Read a cause from a status file, which a bridge of another version may write."""
    match document:
        case {"reason": str(word), **rest} if word:
            reason = GapReason(word) if word in WORDS else GapReason.OTHER
            return GapCause(reason, str(rest.get("detail") or word))
    return None
