"""Runs that later ones are judged by, under a name."""

from dataclasses import dataclass
from typing import Any

from ingest.triples import Triples, insertion
from observations.compare import UNKNOWN, WORSE, Estimate, Verdict, estimate, judge
from ontology.iris import Iris
from ontology.terms import ST
from queries.catalogue import saved_query
from queries.endpoint import Endpoint
from supertwin.comparing import DURATION, Group, find_group, group_of
from supertwin.errors import MendableError

_LONGEST_NAME = 100


@dataclass(frozen=True)
class Checked:
    """How runs are beside a baseline, in one measure."""

    measure: str
    was: Estimate
    now: Estimate
    verdict: Verdict

    @property
    def has_regressed(self) -> bool:
        """Whether they are certainly worse."""
        return self.verdict.word == WORSE

    @property
    def is_certain(self) -> bool:
        """Whether there were enough runs to tell."""
        return self.verdict.word != UNKNOWN


def set_baseline(twin: Endpoint, iris: Iris, name: str, id_: str) -> Group:
    """Make runs a baseline, in place of one of that name; raises MendableError."""
    if not 0 < len(name) <= _LONGEST_NAME:
        raise MendableError(f"a name of 1 to {_LONGEST_NAME} characters is needed")
    group = find_group(twin, iris, id_)
    triples, node = Triples(), iris.baseline(name)
    runs = [iris.observation(run["run"].rsplit("/", 1)[-1]) for run in group.runs]
    triples.node(node, ST.Baseline, {ST.baselineName: name, ST.baselineRun: runs})
    graph = iris.baseline_graph(name)
    twin.update(f"DROP SILENT GRAPH <{graph}> ;\n{insertion({graph: triples})}")
    return group


def check_baseline(
    twin: Endpoint,
    iris: Iris,
    name: str,
    id_: str,
    measure: str = DURATION,
    less_is_better: bool = True,
    tolerance: float = 0.0,
) -> Checked:
    """Judge runs by a baseline; ``measure`` is duration, or a metric, over all of
    its instances. Raises MendableError.
    """
    rows = baseline_rows(twin, name)
    if not rows:
        names = sorted({row["name"] for row in baseline_rows(twin)})
        known = f"there is {', '.join(names[:5])}" if names else "there is none"
        raise MendableError(f"no baseline {name[:80]!r}; {known}")
    before = group_of(twin, name, [row["run"] for row in rows])
    after = find_group(twin, iris, id_)
    was, now = _values(before, measure), _values(after, measure)
    verdict = judge(was, now, less_is_better=less_is_better, tolerance=tolerance)
    return Checked(measure, estimate(was), estimate(now), verdict)


def baseline_rows(twin: Endpoint, name: str | None = None) -> list[dict[str, Any]]:
    """The runs of a baseline, or of all."""
    text = saved_query("observations/baselines").bind({"name": name})
    rows = twin.select(text)
    return [dict(zip(rows.columns, row, strict=True)) for row in rows.values()]


def _values(group: Group, measure: str) -> list[float]:
    """One figure of each run; raises MendableError where none has it."""
    found = group.durations if measure == DURATION else group.totals(measure)
    if not found:
        raise MendableError(
            f"{group.name} has no {measure}: `supertwin query observations/statistics` "
            "tells what was measured"
        )
    return found
