"""The runs that a model is fitted to, with the inputs that each of them had."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from shlex import quote
from typing import Any

from core.stores.endpoint import Endpoint
from observations.errors import NoModelRunsError, TooFewRunsError
from observations.record import Outcome
from queries.run import saved_rows

QUERY = "observations/settings"
THREADS = "threads"
# Validation leaves out one combination, the choice another; two remain for a fit.
FEWEST = 4
# An input must be known for more than this share of the runs.
_COMMON = 0.5

Inputs = Mapping[str, float]
Rows = Iterable[Mapping[str, Any]]


@dataclass(frozen=True)
class TimedRun:
    """A run that completed: its threads and settings, and its seconds."""

    iri: str
    inputs: Inputs
    seconds: float


@dataclass(frozen=True)
class TaggedRuns:
    """The runs with a tag on one host that a model can be fitted to.

    All runs have all ``inputs``, and are sorted by them. ``left_out`` says why other
    runs were left out, and how many.
    """

    tag: str
    host: str
    inputs: tuple[str, ...]
    runs: tuple[TimedRun, ...]
    left_out: Mapping[str, int]

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """The smallest and the greatest value of each input."""
        values = {name: [run.inputs[name] for run in self.runs] for name in self.inputs}
        return {name: (min(found), max(found)) for name, found in values.items()}

    @property
    def combinations(self) -> list[tuple[float, ...]]:
        """The different values of all inputs, in the order of the runs."""
        return [*dict.fromkeys(self.values(run) for run in self.runs)]

    def values(self, run: TimedRun) -> tuple[float, ...]:
        """Return the inputs of a run, in the order of their names."""
        return tuple(run.inputs[name] for name in self.inputs)


def read_runs(
    twin: Endpoint, tag: str, host: str, checked: Set[str] = frozenset()
) -> tuple[TaggedRuns, list[TimedRun]]:
    """Read the runs with a tag from the graph, and separately those to check.

    ``checked``: IRIs of runs with the tag. Raises NoModelRunsError and
    TooFewRunsError.
    """
    rows = saved_rows(twin, QUERY, {"tag": tag, "host": host})
    if not rows:
        raise NoModelRunsError(
            f"no run on {host} has the tag {tag!r}: add `--tag {quote(tag)}` to "
            "`supertwin observe`"
        )
    others = [row for row in rows if row["run"] not in checked]
    wanted = [*_runs((row for row in rows if row["run"] in checked), Counter())]
    if lacking := checked - {run.iri for run in wanted}:
        raise NoModelRunsError(
            f"{min(lacking)} did not complete on {host} with the tag {tag!r}, so it "
            "cannot be checked by this model"
        )
    return tagged_runs(tag, host, others), wanted


def tagged_runs(tag: str, host: str, rows: Rows) -> TaggedRuns:
    """Build runs from the rows of `observations/settings`; raises TooFewRunsError."""
    left_out: Counter[str] = Counter()
    found = [*_runs(rows, left_out)]
    inputs = _common(found)
    complete = []
    for run in found:
        lacking = [name for name in inputs if name not in run.inputs]
        if lacking:
            left_out[f"without {', '.join(lacking)}"] += 1
        else:
            complete.append(run)
    complete.sort(key=lambda run: [run.inputs[name] for name in inputs])
    made = TaggedRuns(tag, host, inputs, tuple(complete), left_out)
    _check(made)
    return made


def _runs(rows: Rows, left_out: Counter[str]) -> Iterable[TimedRun]:
    """Yield the runs that completed; count the others."""
    by_run: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        by_run[str(row["run"])].append(row)
    for iri, of_run in by_run.items():
        first, inputs = of_run[0], _inputs(of_run)
        if first["outcome"] != Outcome.COMPLETED:
            left_out[str(first["outcome"])] += 1
        elif not float(first["seconds"]) > 0:
            left_out["without a measured time"] += 1
        else:
            yield TimedRun(iri, inputs, float(first["seconds"]))


def _inputs(rows: Sequence[Mapping[str, Any]]) -> Inputs:
    """Return threads and settings; a setting named threads is the number of threads.

    Logarithms and powers need positive values, so others are not settings.
    """
    threads = rows[0]["threads"]
    found = {THREADS: float(threads)} if threads else {}
    for row in rows:
        if row["setting"] and float(row["value"]) > 0:
            found[str(row["setting"])] = float(row["value"])
    return found


def _common(runs: Sequence[TimedRun]) -> tuple[str, ...]:
    """Return the inputs that most runs have, the threads first."""
    counts = Counter(name for run in runs for name in run.inputs)
    names = [name for name, count in counts.items() if count > _COMMON * len(runs)]
    return tuple(sorted(names, key=lambda name: (name != THREADS, name)))


def _check(found: TaggedRuns) -> None:
    if len(found.combinations) >= FEWEST:
        return
    inputs = ", ".join(found.inputs) or "threads and settings"
    reasons = ", ".join(f"{count} {why}" for why, count in found.left_out.items())
    others = f" (left out: {reasons})" if reasons else ""
    raise TooFewRunsError(
        f"{len(found.runs)} usable runs of {found.tag!r}{others} have "
        f"{len(found.combinations)} combinations of {inputs}, and a model needs "
        f"{FEWEST}: observe more, with `--threads` or `--tag NAME=NUMBER`"
    )
