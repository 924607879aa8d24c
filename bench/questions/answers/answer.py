"""What an answer is: some columns of a saved query, and how facts give their rows."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bench.questions.facts import World
from bench.questions.levels import Span
from queries.catalogue import saved_query

Params = Mapping[str, Any]
Row = tuple[Any, ...]
_UNITS = {"s": 1, "m": 60, "h": 3600}


class UnclearError(Exception):
    """A value is too near to a limit for a question about it."""


@dataclass(frozen=True)
class Answer:
    """The columns that answer a question, and the function from facts to rows."""

    columns: tuple[str, ...]
    compute: Callable[[World, Params], Iterable[Row]]

    def rows(self, query: str, world: World, params: Params) -> list[Row]:
        """The rows for some parameters of the saved query, its defaults for others.

        Raises UnclearError.
        """
        defaults = {name: p.default for name, p in saved_query(query).params.items()}
        return list(self.compute(world, defaults | dict(params)))


def column_names(text: str) -> tuple[str, ...]:
    """Column names from a text that separates them by blanks."""
    return tuple(text.split())


def above(value: float, limit: float, *, near: float = 0.03) -> bool:
    """Whether a value exceeds a limit; raises UnclearError if it nearly equals it."""
    if abs(value - limit) <= near * abs(limit) and limit:
        raise UnclearError(f"{value} is too near to {limit}")
    return value > limit


def span(world: World, params: Params) -> Span:
    """The range of time of the parameters `since` and `until`."""
    return Span(_time(world, params["since"]), _time(world, params["until"]))


def seconds(text: str) -> float:
    """The length of a step, such as ``5m``."""
    return float(text[:-1]) * _UNITS[text[-1]]


def _time(world: World, text: str) -> float:
    if text == "now":
        return world.end
    if found := re.fullmatch(r"now-(\d+[smh])", text):
        return world.end - seconds(found[1])
    return datetime.fromisoformat(text).timestamp()
