"""Reads the points of a panel: one range query per expression, one column per series.

A point represents the step before it. A step without a sample has no point:
VictoriaMetrics looks back no further, and a rate, which it takes to be 0 over a gap,
counts only where its series also has a sample.
"""

import asyncio
import gc
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from api.dashboards.steps import TimeGrid
from core.errors import ApiError
from core.stores.errors import StoreError
from core.stores.series_store import SeriesStore
from dashboards.spec import Component, Panel
from ontology.selectors import escaped

# A value as the store writes it, or None where it has none.
Column = list[str | None]
Answer = list[dict[str, Any]]

# How many expressions the store evaluates at the same time for one request.
_AT_ONCE = 4
# The store's cache misses late points, so it is used only for long ranges, where it
# saves time and leaves out the newest minutes.
_CACHED_FROM_STEP = 60
_SELECTOR = re.compile(r'(?:[A-Za-z_]\w*)?\{(?:[^"{}]|"(?:[^"\\]|\\.)*")*\}(?!\[)')
_ALL = ".*"
_NUMBER = "supertwin_number"
# VictoriaMetrics refuses queries longer than 16 KiB (-search.maxQueryLen).
_LONGEST = 15_000


class ExpressionError(ApiError):
    """The store rejects the expression of a panel that is drawn."""

    code = "bad-expression"
    status = 502

    def __init__(self, reason: str) -> None:
        super().__init__(self.status, self.code, self.title, reason)


@dataclass(frozen=True)
class PanelReader:
    """Reads panels from a store; ``timeout`` in seconds limits every query."""

    store: SeriesStore
    timeout: float

    async def columns(
        self, panel: Panel, grid: TimeGrid, component: Component | None = None
    ) -> list[Column]:
        """Return one column per series of the panel, on the times of the grid.

        With a component, series outside of it stay empty if the panel narrows. Raises
        StoreError and ExpressionError.
        """
        allowed = asyncio.Semaphore(_AT_ONCE)

        async def answer(text: str) -> Answer:
            async with allowed:
                return await self._query(text, grid)

        if grid.count < 1:
            return [[] for _ in panel.series]
        texts = _texts(panel, grid.step, component)
        answers = await asyncio.gather(*(answer(text) for text in texts))
        return _columns(panel, answers, grid)

    async def together(
        self, panels: Sequence[Panel], grid: TimeGrid, component: Component | None
    ) -> list[list[Column]]:
        """Return the columns of several panels, with as few queries as possible.

        If an expression of a panel is rejected, all its columns are empty. Raises
        StoreError.
        """
        texts = [
            (number, text)
            for number, panel in enumerate(panels)
            for text in _texts(panel, grid.step, component)
        ]
        try:
            found = [one async for one in self._many([t for _, t in texts], grid)]
        except ExpressionError:
            return [await self._or_empty(panel, grid, component) for panel in panels]
        answers: list[list[Answer]] = [[] for _ in panels]
        for (number, _), answer in zip(texts, found, strict=True):
            answers[number].append(answer)
        pairs = zip(panels, answers, strict=True)
        return [_columns(panel, several, grid) for panel, several in pairs]

    async def _or_empty(
        self, panel: Panel, grid: TimeGrid, component: Component | None
    ) -> list[Column]:
        try:
            return await self.columns(panel, grid, component)
        except ExpressionError:
            return [[None] * grid.count for _ in panel.series]

    async def _many(
        self, texts: Sequence[str], grid: TimeGrid
    ) -> AsyncIterator[Answer]:
        """Yield the answer to each expression; a query holds several, numbered."""
        for several in _portions(texts):
            members = (
                f'label_set({text}, "{_NUMBER}", "{number}")'
                for number, text in enumerate(several)
            )
            answers: list[Answer] = [[] for _ in several]
            for result in await self._query(f"union({', '.join(members)})", grid):
                answers[int(result["metric"][_NUMBER])].append(result)
            for answer in answers:
                yield answer

    async def _query(self, expression: str, grid: TimeGrid) -> Answer:
        form = {
            "query": expression,
            "start": str(grid.first),
            "end": str(grid.last),
            "step": str(grid.step),
        }
        if grid.step < _CACHED_FROM_STEP:
            form["nocache"] = "1"
        path = "/api/v1/query_range"
        response = await self.store.post(path, form, self.timeout)
        try:
            document = _loaded(response.content)
            if response.status in (400, 422):
                raise ExpressionError(" ".join(str(document["error"]).split())[:500])
            result: Answer = document["data"]["result"]
        except (ValueError, KeyError, TypeError):
            status = response.status
            raise StoreError(f"{self.store.url} answered {status}, no result") from None
        return result


def _loaded(body: bytes) -> Any:
    # Each point is a list: with so many, the garbage collector takes three times as
    # long as the parser.
    was_on = gc.isenabled()
    gc.disable()
    try:
        return orjson.loads(body)
    finally:
        if was_on:
            gc.enable()


def _texts(panel: Panel, step: int, component: Component | None) -> list[str]:
    """Return the final expression for each target of a panel."""
    instances = {s.target for s in panel.series if s.instname is not None}
    return [
        _final(target.expression, "instname" if i in instances else "", step, component)
        for i, target in enumerate(panel.targets)
    ]


def _final(expression: str, label: str, step: int, component: Component | None) -> str:
    """Narrow an expression, and restrict it to steps with samples.

    Every selector gets the step as its window: by default VictoriaMetrics uses a longer
    one, which carries values over gaps. ``label`` distinguishes the results; a single
    result, such as a sum, exists where any series has a sample.
    """
    narrowed = escaped(component.pattern) if component else _ALL
    expression = expression.replace("$component", narrowed)
    selectors = list(dict.fromkeys(_SELECTOR.findall(expression)))
    if not selectors:  # virtual telemetry, whose windows are its own
        return expression
    if selectors == [expression]:
        return f"{expression}[{step}s]"
    names = [f"sampled_{number}" for number in range(len(selectors))]
    for selector, name in zip(selectors, names, strict=True):
        expression = expression.replace(selector, f"{name}[{step}s]")
    pairs = zip(names, selectors, strict=True)
    given = ", ".join(f"{name} = {selector}" for name, selector in pairs)
    sampled = "".join(f" if on ({label}) {name}[{step}s]" for name in names)
    return f"WITH ({given}) ({expression}){sampled}"


def _portions(texts: Sequence[str]) -> Iterator[list[str]]:
    """Split the expressions into groups that fit into one query."""
    portion: list[str] = []
    used = 0
    for text in texts:
        size = len(text.encode()) + len(f'label_set(, "{_NUMBER}", "000"), ')
        if portion and used + size > _LONGEST:
            yield portion
            portion, used = [], 0
        portion.append(text)
        used += size
    if portion:
        yield portion


def _columns(panel: Panel, answers: Sequence[Answer], grid: TimeGrid) -> list[Column]:
    found = {
        (target, result["metric"].get("instname")): result["values"]
        for target, results in enumerate(answers)
        for result in results
    }
    empty: Column = [None] * grid.count
    return [
        _column(points, grid) if points else empty
        for points in (found.get((s.target, s.instname)) for s in panel.series)
    ]


def _column(points: list[list[Any]], grid: TimeGrid) -> Column:
    if len(points) == grid.count:
        column: Column = [value for _, value in points]
    else:
        column = [None] * grid.count
        for at, value in points:
            column[grid.index(at)] = value
    # Division by zero gives values that JSON cannot represent.
    if any(value and value[-1] in "fN" for value in column):
        return [None if v and v[-1] in "fN" else v for v in column]
    return column
