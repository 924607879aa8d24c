"""Measures how accurate a host's counters are, by running benchmark kernels.

As in section 5.3 of the thesis, the known work of likwid-bench's kernels is compared
with the totals of roles that their runs recorded.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from platform import machine
from shutil import which
from typing import Any

from core.settings.settings import Settings
from core.settings.tools import NotInstalledError
from core.stores.datasets import Progress
from core.stores.endpoint import Endpoint
from observations import likwid
from observations.accuracy import Accuracy, AccuracyPair, accuracy_of, keep_accuracy
from observations.errors import (
    BenchmarkError,
    NotCountedError,
    NotRecordedError,
)
from observations.likwid import LikwidWork, read_work
from observations.printed_runs import Api, printed_runs
from ontology.figures import figures
from ontology.iris import Iris
from queries.catalogue import saved_query
from sampling.counters.perfevent import prepare
from sampling.errors import PerfeventError
from sampling.events.choice import RoleFormula
from sampling.events.event import PmuEvent

# Only roles that consist of one event, so that the error is that of the event. Of two
# alternatives, the first that qualifies is used.
WANTED = (("FLOPsScalarDouble", "FLOPs"), ("Instructions",), ("Loads",), ("Stores",))
TAG = "accuracy"
_EVERY = "125ms"
_ALWAYS = 0.999

Printed = Mapping[str, str]


def judged_events(twin: Endpoint, host: str) -> dict[str, PmuEvent]:
    """Return the event of each role that can be measured on a host.

    Raises PerfeventError with the reason if there is none.
    """
    names = [name for either in WANTED for name in either]
    choice = prepare(twin, host, names, (), multiplex=True).choice
    formulas = {one.role: one for one in choice.roles if _is_one_event(one)}
    chosen = [next(filter(formulas.get, either), "") for either in WANTED]
    found = {name: formulas[name].terms[0][1] for name in chosen if name}
    if not found:
        why = choice.refused.get("Instructions") or "no role of it is one event"
        raise PerfeventError(f"accuracy needs hardware counters: {why}")
    return found


def _is_one_event(formula: RoleFormula) -> bool:
    return len(formula.terms) == 1 and formula.terms[0][0] == 1


def measure(
    settings: Settings,
    twin: Endpoint,
    api: Api,
    host: str,
    kernels: Sequence[str],
    repeat: int,
    progress: Progress,
) -> list[Accuracy]:
    """Run kernels on a host, measure its events' accuracy and store it in the graph.

    Raises PerfeventError, NotInstalledError, LaunchError and the errors of the API.
    """
    events = judged_events(twin, host)
    if host == settings.host and which(likwid.PROGRAM) is None:
        raise NotInstalledError(
            f"no {likwid.PROGRAM} here: {likwid.install_hint(machine())}"
        )
    found: list[Accuracy] = []
    for kernel in kernels:
        progress(f"{kernel}, {repeat} times on one thread of {host}")
        printed = _run(api, host, kernel, [*events], repeat)
        found += judge(twin, Iris(settings.base), kernel, events, printed)
    now = datetime.now(UTC)
    keep_accuracy(host, found, now, twin, Iris(settings.base))
    return found


def judge(
    twin: Endpoint,
    iris: Iris,
    kernel: str,
    events: Mapping[str, PmuEvent],
    runs: Printed,
) -> Iterator[Accuracy]:
    """Compare what recorded runs counted with what they printed; ``runs`` is by id.

    Raises NotCountedError with the reason for a run that has no usable count.
    """
    works = {str(iris.observation(id_)): read_work(text) for id_, text in runs.items()}
    totals = {run: _totals(twin, run, [*events]) for run in works}
    for role, event in events.items():
        pairs = [_pair(run, work, role, totals[run]) for run, work in works.items()]
        found = accuracy_of(event.pmu, event.name, role, kernel, pairs)
        if found:
            yield found


def _pair(
    run: str, work: LikwidWork, role: str, totals: Mapping[str, Any]
) -> AccuracyPair:
    row = totals[role]
    if row["value"] is None:
        raise NotCountedError(f"{run}: {row['reason']}")
    if float(row["dutycycle"]) < _ALWAYS:
        raise NotCountedError(
            f"{run}: {role} shared its counter with other events: remove the "
            "plans that count them"
        )
    return AccuracyPair(run, work.done[role], float(row["value"]))


def _totals(twin: Endpoint, run: str, roles: Sequence[str]) -> dict[str, Any]:
    """Return the figures of a recorded run; raises NotRecordedError."""
    rows = twin.table(saved_query("observations/derived").bind({"id": run})).records()
    found = {row["figure"]: row for row in rows}
    if lacking := [role for role in roles if role not in found]:
        raise NotRecordedError(
            f"{run} has no total of {lacking[0]}: report this defect"
        )
    return found


def _run(
    api: Api, host: str, kernel: str, roles: Iterable[str], repeat: int
) -> Printed:
    """Run a kernel under observation; return the output of each run by its id."""
    body = {
        "argv": likwid.command(kernel, likwid.KERNELS[kernel]),
        "host": host,
        "pin": "compact",
        "threads": "1",
        "roles": [*roles],
        "every": _EVERY,
        "repeat": repeat,
        "tags": [TAG, kernel],
    }
    runs = printed_runs(api, body)
    _check_place(runs.output, runs.cpus)
    return runs.output


def _check_place(printed: Printed, cpus: Sequence[int]) -> None:
    """Check that a kernel ran on the given CPUs, the only ones that were counted."""
    for text in printed.values():
        if (cpu := read_work(text).cpu) not in cpus:
            raise BenchmarkError(
                f"{likwid.PROGRAM} ran on CPU {cpu}, not on {cpus}: report this defect"
            )


def lines(found: Iterable[Accuracy]) -> list[str]:
    """Format a line for each kernel and event."""
    return [
        f"{one.kernel:10} {f'{one.pmu}::{one.event}':44} "
        f"{100 * one.error:9.4f} %  "
        f"{figures(one.measured, 6)} for {figures(one.expected, 6)}"
        for one in found
    ]
