"""Why points are missing, in a few stable words, for series and scripts.

The full reasons contain addresses, names and errors of the system; as instances of a
series, they would be unlimited in number.
"""

from collections import Counter
from collections.abc import Mapping

LATE = "late"
SLOW = "slow source"
DOWN = "source down"
AGENT = "agent down"
DENIED = "no permission"
UNKNOWN = "unknown metric"
ABSENT = "no value"
NOT_STORED = "not a number"
TEXTS = "too many texts"
NAMELESS = "no instance name"
UNSUPPORTED = "not supported"
LOG_FULL = "log full"
LOG_FAILED = "log not written"
LOG_DAMAGED = "log damaged"
REFUSED = "store refused"
BROKE_OFF = "sampling broke off"
OTHER = "other"

# The source had, or should have had, a value, and it was not kept. That may be so for
# an unforeseen reason, which counts as well. The other reasons say that the source has
# no value, refuses it, or gives something that is not a number.
LOST = frozenset(
    {
        *(LATE, SLOW, DOWN, AGENT, TEXTS, NAMELESS, LOG_FULL, LOG_FAILED, LOG_DAMAGED),
        *(REFUSED, BROKE_OFF, OTHER),
    }
)

# The first text that a reason contains decides; PCP's own texts are those of
# pmErrStr(3).
_SIGNS = {
    # Before all others: such a reason contains an error, such as "Permission denied".
    "sampling broke off": BROKE_OFF,
    "the bridge was late": LATE,
    "the source answered too late": SLOW,
    "does not answer": DOWN,
    "was not reached yet": DOWN,
    "the log was full": LOG_FULL,
    "the log cannot be written": LOG_FAILED,
    "the log was damaged": LOG_DAMAGED,
    "the store refused it": REFUSED,
    "no value at present": ABSENT,
    "no such instance at present": ABSENT,
    "Missing metric value": ABSENT,
    "Try again": ABSENT,
    # From agents that pass on why the kernel gave them nothing.
    "Unknown or illegal instance identifier": ABSENT,
    "No data available": ABSENT,
    "No such file or directory": ABSENT,
    "No such process": ABSENT,
    "No such device": ABSENT,
    "texts of one instance in an hour": TEXTS,
    "an instance without a name": NAMELESS,
    "is not a number": NOT_STORED,
    "are not stored": NOT_STORED,
    "ermission": DENIED,
    "not permitted": DENIED,
    "Unknown metric name": UNKNOWN,
    "Unknown or illegal metric identifier": UNKNOWN,
    "No PMCD agent": AGENT,
    "PMDA is": AGENT,
    "IPC": AGENT,
    # PMCD gets these when it asks an agent that has just ended.
    "Broken pipe": AGENT,
    "Connection reset by peer": AGENT,
    "ot supported": UNSUPPORTED,
}
WORDS = (*dict.fromkeys(_SIGNS.values()), OTHER)


def word(reason: str) -> str:
    """The word for a reason, one of WORDS."""
    return next((one for sign, one in _SIGNS.items() if sign in reason), OTHER)


def by_word(missing: Mapping[str, int]) -> dict[str, int]:
    """Points by word, given points by reason; includes words without points."""
    found: Counter[str] = Counter(dict.fromkeys(WORDS, 0))
    for reason, points in missing.items():
        found[word(reason)] += points
    return dict(found)
