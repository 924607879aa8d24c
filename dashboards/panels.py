"""Convert the rows of a saved query to the panels of its header."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from core.stores.results import TermRows
from dashboards.errors import RowError, UnitError
from dashboards.expressions import (
    Instances,
    computed_expression,
    portions,
    series_expression,
    series_selector,
)
from dashboards.header import GRID, PanelHeader
from dashboards.rows import SeriesRow, cells, matching, missing, read_series
from dashboards.spec import Panel, PanelSeries, TableData, Target, Unit
from dashboards.units import drawn_unit, one_unit
from ontology.limits import greatest_rate
from ontology.terms import UNIT

_NOT_SLUG = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class PanelRow:
    """The row of a dashboard that contains a panel."""

    title: str
    component: str = ""


@dataclass(frozen=True)
class Draft:
    """A panel, its place, and the metrics of its header without a row."""

    place: PanelRow
    panel: Panel
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class DashboardContext:
    """The common inputs of all panels of a dashboard.

    ``threads`` are the IRIs of the host's hardware threads, ``longest`` the bytes of
    the longest ``$component``.
    """

    host: str
    threads: frozenset[str]
    longest: int = 0


def draw(
    header: PanelHeader, answer: TermRows | str, text: str, around: DashboardContext
) -> list[Draft]:
    """Draw the panels of one header; ``text`` is the query that gave the answer."""
    place, panel = PanelRow(header.section), _blank(header)
    if isinstance(answer, str):
        return [Draft(place, replace(panel, problem=answer))]
    if header.draws_series:
        return _draw_series(header, answer, around)
    table = TableData(header.table_columns, cells(answer), text)
    why = () if table.rows else (header.empty,)
    return [Draft(place, replace(panel, table=table, why=why))]


def _blank(header: PanelHeader, *names: str) -> Panel:
    """The panel without content; ``names`` distinguish panels of the same header."""
    return Panel(
        id=_slug(header.saved.name.partition("/")[2], *_own(header), *names),
        title=header.title,
        description=header.description,
        query=header.saved.name,
        picture=header.picture,
        minimum=header.minimum,
        maximum=header.maximum,
        stack=header.stack,
        width=header.width,
        height=header.height,
    )


def _own(header: PanelHeader) -> tuple[str, ...]:
    """The title, if the saved query has several panels to distinguish."""
    return (header.title,) if len(header.saved.panels) > 1 else ()


def _draw_series(
    header: PanelHeader, answer: TermRows, around: DashboardContext
) -> list[Draft]:
    try:
        rows = matching(header.metrics, read_series(answer))
    except RowError as error:
        panel = replace(_blank(header), problem=str(error))
        return [Draft(PanelRow(header.section), panel)]
    lacking = missing(header.metrics, rows)
    if not rows:
        why = () if lacking else (header.empty,)
        panel = replace(_blank(header), why=why)
        return [Draft(PanelRow(header.section), panel, lacking)]
    groups = _grouped(header, rows)
    wide = _widths(header, list(groups))
    return [
        Draft(place, _panel(header, place, title, wide[place], group, around), lacking)
        for (place, title), group in groups.items()
    ]


def _grouped(
    header: PanelHeader, rows: Sequence[SeriesRow]
) -> dict[tuple[PanelRow, str], list[SeriesRow]]:
    """The rows of each panel, by its place and its title within the header."""
    found: dict[tuple[PanelRow, str], list[SeriesRow]] = {}
    for row in rows:
        place = PanelRow(row.section or header.section, row.section_component)
        title = row.panel if header.split else ""
        found.setdefault((place, title), []).append(row)
    return found


def _widths(
    header: PanelHeader, places: Sequence[tuple[PanelRow, str]]
) -> dict[PanelRow, int]:
    """The header's width, or more if a split has few panels per row."""
    counts: dict[PanelRow, int] = {}
    for place, title in places:
        counts[place] = counts.get(place, 0) + bool(title)
    return {
        place: max(header.width, GRID // count) if count else header.width
        for place, count in counts.items()
    }


def _panel(
    header: PanelHeader,
    place: PanelRow,
    title: str,
    width: int,
    rows: Sequence[SeriesRow],
    around: DashboardContext,
) -> Panel:
    where = place.title if place.title != header.section else ""
    panel = replace(_blank(header, where, title), width=width)
    panel = replace(panel, title=title or header.title)
    try:
        return _filled(panel, header, rows, around)
    except UnitError as error:
        return replace(panel, problem=str(error))


def _filled(
    panel: Panel,
    header: PanelHeader,
    rows: Sequence[SeriesRow],
    around: DashboardContext,
) -> Panel:
    """The panel with its unit, expressions and series."""
    units = [_unit(header, row) for row in rows]
    unit = one_unit(unit for unit, _ in units)
    narrows = bool(rows) and around.threads.issuperset(row.component for row in rows)
    targets: list[Target] = []
    at: dict[SeriesRow, int] = {}
    for members, scale in _metrics(rows, [scale for _, scale in units]):
        for portion in _targets(header, members, scale, narrows, around):
            at |= {row: len(targets) for row in portion[1]}
            targets.append(portion[0])
    return replace(
        panel,
        unit=unit,
        narrows=narrows,
        greatest=_greatest(header, rows, [scale for _, scale in units]),
        targets=tuple(targets),
        series=tuple(_series(row, at[row]) for row in rows),
    )


def _greatest(
    header: PanelHeader, rows: Sequence[SeriesRow], scales: Sequence[Fraction]
) -> float | None:
    """The upper limit of all values; None if a row has no known limit.

    The limit of a header's own expression is unknown.
    """
    if header.expression or header.maximum is not None:
        return None
    limits = [
        greatest_rate(row.metric, UNIT[row.unit or ""], row.cpus)
        if row.counter
        else None
        for row in rows
    ]
    known = [
        limit * float(scale)
        for limit, scale in zip(limits, scales, strict=True)
        if limit is not None
    ]
    return max(known) if known and len(known) == len(rows) else None


def _unit(header: PanelHeader, row: SeriesRow) -> tuple[Unit, Fraction]:
    """The unit in which a row is drawn, and the factor for its values."""
    if header.unit:
        unit, scale = drawn_unit(header.unit)
    else:
        unit, scale = drawn_unit(row.unit, rate=row.counter)
    return unit, scale / row.total


def _metrics(
    rows: Sequence[SeriesRow], scales: Sequence[Fraction]
) -> Iterator[tuple[list[SeriesRow], Fraction]]:
    """Group the rows that one expression can return, with its factor."""
    found: dict[tuple[str, str, bool, Fraction], list[SeriesRow]] = {}
    for row, scale in zip(rows, scales, strict=True):
        key = row.db_name, row.computed, row.counter, scale
        found.setdefault(key, []).append(row)
    for (*_, scale), members in found.items():
        yield members, scale


def _targets(
    header: PanelHeader,
    rows: Sequence[SeriesRow],
    scale: Fraction,
    narrows: bool,
    around: DashboardContext,
) -> Iterator[tuple[Target, list[SeriesRow]]]:
    """The expressions of one metric with their rows; one unless it is too long."""
    first = rows[0]
    if first.computed:
        text = computed_expression(first.computed, scale)
        yield Target(text, first.metric), list(rows)
        return

    def written(instances: Instances) -> str:
        series = series_selector(first.db_name, around.host, instances, narrows=narrows)
        return series_expression(
            series, counter=first.counter, expression=header.expression, scale=scale
        )

    names = list(dict.fromkeys(row.instname for row in rows))
    for portion in portions(names, written(["", ""]), around.longest if narrows else 0):
        target = Target(written(portion), first.metric)
        yield target, [row for row in rows if row.instname in set(portion)]


def _series(row: SeriesRow, target: int) -> PanelSeries:
    return PanelSeries(
        label=row.label,
        component=row.component,
        metric=row.metric,
        db_name=row.db_name,
        instname=row.instname,
        target=target,
        group=row.group,
    )


def _slug(*words: str) -> str:
    text = _NOT_SLUG.sub("-", " ".join(filter(None, words)).lower())
    return text[:80].strip("-")
