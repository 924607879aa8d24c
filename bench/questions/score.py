"""Whether an answer is right, and the share of right answers by topic.

Rows are compared as sets: their order, and how often one occurs, do not matter. Whole
numbers and texts must be equal. Other numbers are equal within 2 %, so that a question
about "the last hour" may be answered a little later than its gold answer; times are
equal within a minute.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

_NEAR, _TINY, _MINUTE = 0.02, 1e-6, 60.0
# Numbers above it are Unix seconds.
_TIMES = 1e9


@dataclass(frozen=True)
class Share:
    """How many questions of a topic were answered, and how many rightly."""

    topic: str
    right: int
    asked: int

    @property
    def percent(self) -> float:
        return 100 * self.right / self.asked


def is_right(gold: Iterable[Sequence[Any]], given: Iterable[Sequence[Any]]) -> bool:
    """Whether two answers have the same rows, in any order."""
    wanted = [tuple(map(_plain, row)) for row in gold]
    found = [tuple(map(_plain, row)) for row in given]
    # Most rows are equal: only the others are compared value by value.
    missing, more = set(wanted) - set(found), set(found) - set(wanted)
    return all(any(_same_row(row, one) for one in found) for row in missing) and all(
        any(_same_row(row, one) for row in wanted) for one in more
    )


def shares(results: Iterable[tuple[str, bool]]) -> list[Share]:
    """The share of each topic, in the order of topics, and of all."""
    found: dict[str, list[bool]] = defaultdict(list)
    for topic, right in results:
        found[topic].append(right)
    every = [right for own in found.values() for right in own]
    rows = [*found.items(), ("all", every)]
    return [Share(topic, sum(own), len(own)) for topic, own in rows if own]


def _same_row(gold: tuple[Any, ...], given: tuple[Any, ...]) -> bool:
    return len(gold) == len(given) and all(map(_same, gold, given))


def _same(gold: Any, given: Any) -> bool:
    if not isinstance(gold, float) or not isinstance(given, int | float):
        return bool(gold == given)
    if min(gold, given) > _TIMES:
        return abs(gold - given) <= _MINUTE
    return math.isclose(gold, given, rel_tol=_NEAR, abs_tol=_TINY)


def _plain(value: Any) -> Any:
    """Numbers as numbers, times as Unix seconds, truth values and others as texts."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return value
    if isinstance(value, datetime):
        return value.timestamp()
    return _read(str(value).strip())


def _read(text: str) -> Any:
    """The number or time that a text is, or the text."""
    for read in (int, float, _time):
        try:
            value = read(text)
        except ValueError:
            continue
        return value if math.isfinite(value) else text
    return text


def _time(text: str) -> float:
    if "T" not in text:
        raise ValueError(text)
    return datetime.fromisoformat(text).timestamp()
