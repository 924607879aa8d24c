"""Natural order of names: ``node2`` before ``node10``."""

import re
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from queries.catalogue import SavedQuery

_PARTS = re.compile(r"\d+|\D+")
_VARIABLE = re.compile(r"\?(\w+)")

Row = TypeVar("Row")


def natural(text: str) -> list[tuple[bool, int, str]]:
    """A sort key that puts ``thread 9`` before ``thread 10``."""
    return [_part_key(part) for part in _PARTS.findall(text)]


def _part_key(part: str) -> tuple[bool, int, str]:
    """Numbers come before text; a number with more digits is larger."""
    if not part[0].isdecimal():
        return True, 0, part
    digits = part.lstrip("0")
    return False, len(digits), digits


def hosts_in_order(
    query: "SavedQuery", rows: Sequence[Row], value: Callable[[Row, str], Any]
) -> list[Row]:
    """Sort the rows of a query with ``ORDER BY … ?host`` in natural order of hosts.

    Every other part of the query's order is kept. ``value`` returns a column of a row.
    """
    if not has_hosts_in_order(query):
        return list(rows)
    order = _order(query)
    leading = order[: order.index("host")]
    groups = groupby(rows, key=lambda row: [value(row, name) for name in leading])
    return [row for _, group in groups for row in _by_host(group, value)]


def has_hosts_in_order(query: "SavedQuery") -> bool:
    """Whether its rows are ordered by ``?host`` and contain the order's columns."""
    order = _order(query)
    if "host" not in order:
        return False
    return {*order[: order.index("host") + 1]} <= {*query.returns}


def _order(query: "SavedQuery") -> list[str]:
    found: list[str] = _VARIABLE.findall(query.text.rpartition("ORDER BY")[2])
    return found


def _by_host(rows: Any, value: Callable[[Row, str], Any]) -> list[Row]:
    return sorted(rows, key=lambda row: natural(str(value(row, "host") or "")))
