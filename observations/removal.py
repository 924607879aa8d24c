"""Removes runs: their records, their programs and their output."""

import json
import re
import shutil
from collections.abc import Sequence, Set
from pathlib import Path

from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ingest.entailed import drop
from observations.comparison.baselines import baseline_rows
from observations.comparison.comparing import find_runs
from observations.errors import RunActiveError, RunInBaselineError, UnknownRunError
from observations.models.store import graphs_of_models
from observations.session.repetition import SPEC
from observations.session.session_journal import open_requests, set_aside_path
from ontology.iris import Iris
from queries.run import Row

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}")


def forget_runs(settings: Settings, twin: Endpoint, ids: Sequence[str]) -> list[str]:
    """Remove runs, or groups of repetitions, for good; return the ids of the runs.

    Models that were fitted to them are removed, too; `supertwin predict` fits new ones.
    A run that was never recorded is found by its folder. Samples stay in the series
    store until their retention ends. If anything is wrong, raises UserError and
    removes nothing.
    """
    iris = Iris(settings.base)
    rows: list[Row] = []
    stored: set[str] = set()
    for id_ in ids:
        folders = _stored(settings.home, id_.rpartition("/")[2])
        rows += _recorded(twin, iris, id_, bool(folders))
        stored |= folders
    names = sorted({_id(row) for row in rows} | stored)
    _check_over(settings, {name.rpartition("-")[0] for name in names} | {*names})
    _check_no_baseline(twin, {row["run"] for row in rows})
    models = graphs_of_models(twin, {str(row["run"]) for row in rows})
    for name in names:
        _remove(settings.home, name)
    # Remove the graphs last: an interrupted removal can be repeated.
    twin.update(drop(iris, *map(iris.observation_graph, names), *models))
    return names


def _recorded(twin: Endpoint, iris: Iris, id_: str, is_stored: bool) -> list[Row]:
    """Return the recorded runs of an id; none are required if it has stored files."""
    try:
        return find_runs(twin, iris, id_)
    except UnknownRunError:
        if is_stored:
            return []
        raise


def _stored(home: Path, id_: str) -> set[str]:
    """Return the runs with files here that have this id or belong to this group."""
    if not _NAME.fullmatch(id_):
        return set()
    folder = home / "observations"
    found = {path.name for path in folder.glob(f"{id_}-*") if _group(path) == id_}
    if (folder / id_).is_dir() or set_aside_path(home, id_).exists():
        found.add(id_)
    return found


def _group(folder: Path) -> str:
    """Return the group that a run belongs to; empty if its folder does not say."""
    try:
        return str(json.loads((folder / SPEC).read_bytes()).get("group", ""))
    except (OSError, ValueError, AttributeError):
        return ""


def _remove(home: Path, name: str) -> None:
    folder = home / "observations" / name
    if folder.is_dir():
        shutil.rmtree(folder)
    set_aside_path(home, name).unlink(missing_ok=True)


def _id(row: Row) -> str:
    return str(row["run"]).rpartition("/")[2]


def _check_over(settings: Settings, names: Set[str]) -> None:
    for id_, _ in open_requests(settings.home):
        if id_ in names:
            raise RunActiveError(f"{id_} still runs: wait for its end, or cancel it")


def _check_no_baseline(twin: Endpoint, runs: Set[str]) -> None:
    for row in baseline_rows(twin):
        if row["run"] in runs:
            raise RunInBaselineError(
                f"{row['run']} is one of the baseline {row['name']}: "
                f"`supertwin baseline remove {row['name']}` first"
            )
