"""Runs that are not to be kept: their records, their programs, what they printed."""

import shutil
from collections.abc import Sequence, Set

from ontology.iris import Iris
from queries.asking import Row
from queries.endpoint import Endpoint
from supertwin.baselines import baseline_rows
from supertwin.comparing import find_runs
from supertwin.errors import MendableError
from supertwin.observing.open_sessions import left_open
from supertwin.settings import Settings


def forget_runs(settings: Settings, twin: Endpoint, ids: Sequence[str]) -> list[str]:
    """Remove runs, or groups of repetitions, for good; the ids of the runs.

    Samples stay in the time series until they are too old. Raises MendableError, and
    nothing is removed then.
    """
    iris = Iris(settings.base)
    rows = [row for id_ in ids for row in find_runs(twin, iris, id_)]
    names = sorted({_id(row) for row in rows})
    _check_over(settings, {row["group"] for row in rows} | {*names})
    _check_no_baseline(twin, {row["run"] for row in rows})
    # The graph last: what is cut short can be told to go on.
    for name in names:
        shutil.rmtree(settings.home / "observations" / name, ignore_errors=True)
    drops = (f"DROP SILENT GRAPH <{iris.observation_graph(name)}>" for name in names)
    twin.update(" ;\n".join(drops))
    return names


def _id(row: Row) -> str:
    return str(row["run"]).rpartition("/")[2]


def _check_over(settings: Settings, names: Set[str]) -> None:
    for id_, _ in left_open(settings.home):
        if id_ in names:
            raise MendableError(f"{id_} still runs: wait for its end, or cancel it")


def _check_no_baseline(twin: Endpoint, runs: Set[str]) -> None:
    for row in baseline_rows(twin):
        if row["run"] in runs:
            raise MendableError(
                f"{row['run']} is one of the baseline {row['name']}: "
                f"`supertwin baseline remove {row['name']}` first"
            )
