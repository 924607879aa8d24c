"""Named baselines: runs that later runs are judged by."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rdflib import URIRef

from core.stores.endpoint import Endpoint
from ingest.triples import Triples, insertion
from observations.comparison.compare import (
    DEFAULT_TOLERANCE,
    ComparisonVerdict,
    MeanEstimate,
    VerdictWord,
    estimate,
    judge,
)
from observations.comparison.comparing import DURATION, RunGroup, find_group, group_of
from observations.errors import (
    BaselineNameError,
    NotComparableError,
    NotMeasuredError,
    UnknownBaselineError,
)
from ontology.iris import IdError, Iris
from ontology.terms import ST
from queries.run import Row, saved_rows

_NONE = "`supertwin baseline set` makes one"
_LONGEST_NAME = 100


@dataclass(frozen=True)
class BaselineCheck:
    """How runs compare with a baseline in one measure.

    ``doubts`` are sentences on what makes the comparison less fair.
    """

    measure: str
    was: MeanEstimate
    now: MeanEstimate
    verdict: ComparisonVerdict
    doubts: Sequence[str] = ()

    @property
    def has_regressed(self) -> bool:
        """Whether the runs are certainly worse, by more than the tolerance."""
        return self.verdict.word is VerdictWord.WORSE

    @property
    def is_decided(self) -> bool:
        """Whether there were enough runs for a verdict."""
        return self.verdict.word is not VerdictWord.UNDECIDED


def set_baseline(twin: Endpoint, iris: Iris, name: str, id_: str) -> RunGroup:
    """Make runs a baseline, replacing one of that name.

    Raises BaselineNameError, UnknownRunError and NotComparableError.
    """
    graph, node = _of_name(iris, name)
    # Names from before this rule can still be checked and removed.
    if not name.isprintable():
        raise _invalid(name)
    group = find_group(twin, iris, id_)
    if len(group.ended) < len(group.runs):
        raise NotComparableError(
            f"{id_}: {_others(group)}: a baseline is made of runs that end by "
            "themselves"
        )
    triples = Triples()
    runs = [URIRef(run["run"]) for run in group.runs]
    triples.node(node, ST.Baseline, {ST.baselineName: name, ST.baselineRun: runs})
    twin.update(f"DROP SILENT GRAPH <{graph}> ;\n{insertion({graph: triples})}")
    return group


def remove_baseline(twin: Endpoint, iris: Iris, name: str) -> None:
    """Remove a baseline but keep its runs; raises UnknownBaselineError."""
    _rows_of(twin, name)
    graph, _ = _of_name(iris, name)
    twin.update(f"DROP SILENT GRAPH <{graph}>")


def check_baseline(
    twin: Endpoint,
    iris: Iris,
    name: str,
    id_: str,
    measure: str = DURATION,
    less_is_better: bool = True,
    tolerance: float = DEFAULT_TOLERANCE,
) -> BaselineCheck:
    """Judge runs by a baseline.

    ``measure`` is duration, or a metric summed over all of its instances. Raises
    UnknownBaselineError, UnknownRunError, NotComparableError and NotMeasuredError.
    """
    before = group_of(twin, name, [row["run"] for row in _rows_of(twin, name)])
    after = find_group(twin, iris, id_)
    if len(after.ended) < len(after.runs):
        raise NotComparableError(
            f"{id_}: {_others(after)}, which cannot be judged: repeat them"
        )
    # A run that fails immediately is fast, but not better.
    if other := _difference(before, after, "outcome"):
        raise NotComparableError(
            f"{id_}: {other}: judge runs that end like those of the baseline"
        )
    if before.is_context(measure):
        raise NotComparableError(
            f"{measure} is state of the machine, not a result of the runs: it gets no "
            "verdict. Name a counter or a metric of processes (proc.*)"
        )
    was, now = _values(before, measure), _values(after, measure)
    verdict = judge(was, now, less_is_better=less_is_better, tolerance=tolerance)
    doubts = tuple(_doubts(before, after))
    return BaselineCheck(measure, estimate(was), estimate(now), verdict, doubts)


def baseline_rows(twin: Endpoint, name: str | None = None) -> list[Row]:
    """Return the runs of one baseline, or of all baselines."""
    return saved_rows(twin, "observations/baselines", {"name": name})


def _rows_of(twin: Endpoint, name: str) -> list[Row]:
    """Return the runs of one baseline; raises UnknownBaselineError."""
    rows = baseline_rows(twin, name)
    if not rows:
        names = sorted({row["name"] for row in baseline_rows(twin)})
        known = f"there is {', '.join(names[:5])}" if names else _NONE
        raise UnknownBaselineError(f"no baseline {name[:80]!r}; {known}")
    return rows


def _of_name(iris: Iris, name: str) -> tuple[URIRef, URIRef]:
    """Return graph and node of a baseline; raises BaselineNameError."""
    try:
        if len(name) <= _LONGEST_NAME:
            return iris.baseline_graph(name), iris.baseline(name)
    except IdError:
        pass
    raise _invalid(name)


def _invalid(name: str) -> BaselineNameError:
    return BaselineNameError(
        f"{name[:80]!r} is not a valid baseline name: use 1 to {_LONGEST_NAME} "
        "printable characters, at least one of them a letter or digit"
    )


def _others(group: RunGroup) -> str:
    """Say how many runs did not end by themselves, and how they ended."""
    ended = group.ended
    others = [run["outcome"] or "unknown" for run in group.runs if run not in ended]
    return f"{len(others)} of {len(group.runs)} runs {', '.join(sorted(set(others)))}"


def _doubts(before: RunGroup, after: RunGroup) -> Iterator[str]:
    """Yield what else differs from the baseline."""
    for what in ("host", "command", "policy", "threads"):
        if other := _difference(before, after, what):
            yield other


def _difference(before: RunGroup, after: RunGroup, what: str) -> str:
    """Describe a difference in words; empty if there is none."""
    was, now = (_all_of(group, what) for group in (before, after))
    return "" if was == now else f"{what}: {was} in the baseline, {now} in these"


def _all_of(group: RunGroup, what: str) -> str:
    found = {"none" if run[what] is None else str(run[what]) for run in group.runs}
    return ", ".join(sorted(found))


def _values(group: RunGroup, measure: str) -> list[float]:
    """Return one figure for each run that has it; or raise NotMeasuredError."""
    found = group.durations if measure == DURATION else group.totals(measure)
    if not found:
        raise NotMeasuredError(
            f"{group.name} has no {measure}: `supertwin query observations/statistics` "
            "lists what was measured"
        )
    return found
