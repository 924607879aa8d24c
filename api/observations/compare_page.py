"""The page of a comparison: groups, measures with verdicts, differences, charts."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from fastapi import Request, Response
from rdflib import URIRef

from api.explorer.facts import word
from api.metrics import unit_of
from api.observations.figures import duration, figure
from api.observations.search import SearchEntry
from api.services import Services
from api.web import pages
from api.web.pages import Links, RenderedTerm
from dashboards.spec import Panel, PanelSeries, Section, Unit
from ontology.figures import figures

if TYPE_CHECKING:
    from observations.comparison.compare import (
        ComparisonVerdict,
        MeanEstimate,
        VerdictWord,
    )
    from observations.comparison.comparing import Measure, RunComparison, RunGroup

_DURATION = "duration"
# More charts would not help; the table shows everything.
_MOST_PICTURES = 60


@dataclass(frozen=True)
class ComparisonColumn:
    """One group as a column header."""

    name: str
    href: str
    command: str
    host: RenderedTerm
    policy: str
    entry: SearchEntry


@dataclass(frozen=True)
class Value:
    """A figure of one group with its verdict; ``raw`` is the recorded value.

    ``details`` hold the verdict's interval and p, ``needed`` says what would decide it.
    """

    text: str
    raw: str
    within: str = ""
    verdict: "VerdictWord | None" = None
    change: str = ""
    details: str = ""
    needed: str = ""


@dataclass(frozen=True)
class ComparisonRow:
    """One measure of all groups."""

    metric: str
    instance: str | None
    what: str
    is_context: bool
    values: tuple[Value, ...]

    @property
    def differs(self) -> bool:
        """Whether any group certainly differs from the first one."""
        return any(one.verdict and one.verdict.is_different for one in self.values)


def compare_page(
    request: Request,
    services: Services,
    ids: Sequence[str],
    found: "RunComparison",
    known: Collection[str],
) -> Response:
    """Return the comparison as HTML; only ``known`` metrics have series to draw."""
    base = services.settings.base
    made = pages.links(request, base)
    tolerance = figures(100 * found.tolerance)
    return pages.page(
        "compare.html",
        request,
        base,
        title="Comparison",
        ids=ids,
        columns=[_column(group, services, made) for group in found.groups],
        lines=[_line(measure) for measure in found.measures],
        differences=list(_differences(found, made)),
        test=_test(),
        tolerance=tolerance,
        parameters=urlencode([*(("id", id_) for id_ in ids), ("tolerance", tolerance)]),
        spec={
            "base": base,
            "ids": ids,
            "range": [0.0, _longest(found)],
            "sections": [_pictures(found, known)],
        },
    )


def _longest(found: "RunComparison") -> float:
    """Return the seconds of the longest run; one second if none is known."""
    known = (max(group.durations, default=0.0) for group in found.groups)
    return max(known) or 1.0


def _test() -> str:
    from observations.comparison.compare import TEST

    return TEST


def _column(group: "RunGroup", services: Services, links: Links) -> ComparisonColumn:
    runs = [dict(run) for run in group.runs]
    first, bare = runs[0], group.name.rsplit("/", 1)[-1]
    iri = str(first["run"])
    several = len(runs) > 1 or bare == first["group"]
    host = str(services.iris.host(first["host"]))
    return ComparisonColumn(
        bare,
        f"{links.root}/observations?group={bare}" if several else links.href(iri),
        first["command"],
        RenderedTerm(first["host"], links.href(host), host),
        first["policy"] or "",
        SearchEntry(bare, runs),
    )


def _line(measure: "Measure") -> ComparisonRow:
    """Build a row; the first value is the reference and has no verdict."""
    verdicts: list[ComparisonVerdict | None] = [None, *measure.verdicts]
    unit, scale = unit_of(measure.unit or "", "", rate=False)
    values = [
        _value(measure, one, verdict, unit, scale)
        for one, verdict in zip(measure.estimates, verdicts, strict=True)
    ]
    what = "" if measure.what == measure.metric else measure.what
    return ComparisonRow(
        measure.metric, measure.instance, what, measure.is_context, tuple(values)
    )


def _value(
    measure: "Measure",
    estimate: "MeanEstimate | None",
    verdict: "ComparisonVerdict | None",
    unit: Unit,
    scale: Fraction,
) -> Value:
    if estimate is None:
        return Value("not measured", "")

    def text(value: float | None) -> str:
        if measure.metric == _DURATION:
            return duration(value)
        return figure(value, unit, float(scale))

    half = None if estimate.high is None else estimate.high - estimate.mean
    found = Value(
        text(estimate.mean),
        figures(estimate.mean, 15),
        f"± {text(half)}" if half else "",
    )
    if verdict is None:
        return found
    return replace(
        found,
        verdict=verdict.word,
        change="" if verdict.change is None else f"{100 * verdict.change:+.1f} %",
        details=_details(verdict),
        needed=verdict.needed,
    )


def _details(verdict: "ComparisonVerdict") -> str:
    """Format interval, p and tolerance."""
    known = [f"tolerance ±{figures(100 * verdict.tolerance)} %"]
    if verdict.p is not None:
        known.insert(0, f"p = {figures(verdict.p, 3)}")
    if verdict.low is not None and verdict.high is not None:
        known.insert(0, f"{100 * verdict.low:+.1f} to {100 * verdict.high:+.1f} %")
    return "; ".join(known)


def _differences(
    found: "RunComparison", links: Links
) -> Iterator[tuple[RenderedTerm, list[list[str]]]]:
    """Yield each property that differs, with the values that not all groups share."""
    for name, values in found.differences.items():
        shown = RenderedTerm(
            word(URIRef(name)) or links.short(name), links.href(name), name
        )
        yield shown, [[links.short(one) for one in group] for group in values]


def _pictures(found: "RunComparison", known: Collection[str]) -> Section:
    """Return a chart for each measured series, with a line for each group."""
    series = list(
        dict.fromkeys(
            (measure.metric, measure.instance)
            for measure in found.measures
            if measure.metric in known
        )
    )
    panels = [
        _panel(number, metric, instance, found)
        for number, (metric, instance) in enumerate(series[:_MOST_PICTURES])
    ]
    return Section("Since the start", tuple(panels))


def _panel(
    number: int, metric: str, instance: str | None, found: "RunComparison"
) -> Panel:
    measure = next(
        m for m in found.measures if (m.metric, m.instance) == (metric, instance)
    )
    unit, _ = unit_of(measure.unit or "", "", rate=measure.what == "total")
    return Panel(
        id=f"series-{number}",
        title=metric if instance is None else f"{metric} {instance}",
        description="Mean over the runs of each group",
        query="observations/statistics",
        picture="timeseries",
        unit=unit,
        width=12,
        height=7,
        series=tuple(
            PanelSeries(_label(place, group), "", metric, "", instance, 0)
            for place, group in enumerate(found.groups, 1)
        ),
    )


def _label(place: int, group: "RunGroup") -> str:
    first: Any = group.runs[0]
    policy = first["policy"] or "not pinned"
    # Legends are truncated, so begin with what differs between runs of one command.
    return f"{place}: {policy}, {first['command'][:40]}"
