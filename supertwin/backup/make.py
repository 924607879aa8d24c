"""`supertwin backup`: copy the state of a running stack into a new folder."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import httpx

from core.errors import ExternalStoreError, NotRunningError
from core.linux.private_folder import make_private
from core.settings import tools
from core.settings.accounts import fuseki_account
from core.settings.settings import Settings
from core.stores.errors import EndpointError
from observations.session.repetition import RECORDED
from ontology.iris import Iris
from supertwin.backup.manifest import write_manifest
from supertwin.backup.snapshot import copy_snapshot
from supertwin.errors import BackupExistsError
from supertwin.stack.compaction import DATASETS

Progress = Callable[[str], None]

# Folders and files of the state that are copied unchanged. `pmu/agent` lists the
# counted events; the next start recreates the rest of `pmu` from it.
_KEPT = ("access", "topology", "cost.json", "pmu/agent", "queries", "deletions")
# State of runs, copied before the datasets and again after them.
_RUNS = ("observing", "observations")
_NEVER = frozenset({".lock", ".new"})
_LOG_SUFFIX = ".log"
_TIMEOUT = httpx.Timeout(60.0, connect=5.0)


def make_backup(settings: Settings, folder: Path, progress: Progress) -> int:
    """Write a complete backup, private to its owner; return its number of files.

    Raises BackupExistsError, ExternalStoreError and NotRunningError.
    """
    _check(settings, folder)
    partial = folder.with_name(f"{folder.name}.partial")
    if partial.exists():
        raise BackupExistsError(
            f"{partial} is left from a backup that was ended, or still runs: remove it"
        )
    make_private(partial)
    try:
        files = _fill(settings, partial, progress)
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return files


def _check(settings: Settings, folder: Path) -> None:
    if folder.exists():
        raise BackupExistsError(f"{folder} exists: name a new folder for the backup")
    if settings.fuseki_url or settings.store_read_url or settings.store_write_url:
        raise ExternalStoreError(
            "Fuseki or VictoriaMetrics is elsewhere (SUPERTWIN_FUSEKI_URL, "
            "SUPERTWIN_STORE_…_URL): back it up on its own machine, with its own tools"
        )


def _fill(settings: Settings, folder: Path, progress: Progress) -> int:
    state = folder / "state"
    for name in _RUNS:
        _copy(settings.home / name, state / name)
    for dataset in DATASETS:
        progress(f"copying dataset {dataset}")
        _dump(settings, dataset, folder / f"{dataset}.nq")
    _complete_runs(settings, folder)
    for name in _KEPT:
        _copy(settings.home / name, state / name)
    # The log before the series: what is removed from the log in the meantime is already
    # in the series. A point in both is sent again and stored once.
    _copy_bridge(settings.home / "bridge", state / "bridge")
    progress("copying series")
    store_version = copy_snapshot(settings, state / "store")
    about = {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": settings.host,
        "base": settings.base,
        "fuseki": tools.fuseki_jar().stem.rpartition("-")[2],
        "victoria_metrics": store_version,
    }
    return write_manifest(folder, about)


def _dump(settings: Settings, dataset: str, path: Path) -> None:
    """Write all graphs of a dataset as N-Quads, read in one transaction."""
    url, auth = f"{settings.fuseki}/{dataset}/data", fuseki_account(settings)
    headers = {"Accept": "application/n-quads"}
    try:
        with (
            httpx.Client(auth=auth, timeout=_TIMEOUT, trust_env=False) as client,
            client.stream("GET", url, headers=headers) as answer,
            path.open("wb") as file,
        ):
            answer.raise_for_status()
            for piece in answer.iter_bytes():
                file.write(piece)
    except httpx.ConnectError:
        raise NotRunningError(
            f"no Fuseki answers at {settings.fuseki}: start the stack (`supertwin up`)"
        ) from None
    except httpx.HTTPError as error:
        raise EndpointError(
            f"{url} was not read ({error}): see `make status`"
        ) from None


def _complete_runs(settings: Settings, folder: Path) -> None:
    """Copy the newest state of runs; only runs in the dataset count as recorded.

    The next start removes the plans of open runs, and records runs that are not
    recorded.
    """
    state, iris = folder / "state", Iris(settings.base)
    done = {path.parent for path in state.glob(f"{_RUNS[1]}/*/{RECORDED}")}
    for name in _RUNS:
        _copy(settings.home / name, state / name)
    if rest := {*state.glob(f"{_RUNS[1]}/*")} - done:
        graphs = _graphs(folder / "twin.nq")
        for run in rest:
            (run / RECORDED).unlink(missing_ok=True)
            if f"<{iris.observation_graph(run.name)}>".encode() in graphs:
                (run / RECORDED).touch()


def _graphs(quads: Path) -> set[bytes]:
    """Return the graphs of an N-Quads file, as written in it."""
    with quads.open("rb") as lines:
        return {line.rsplit(maxsplit=2)[1] for line in lines}


def _copy_bridge(source: Path, target: Path) -> None:
    """Copy cursors before logs: a cursor older than its log only re-sends points."""
    files = [path for path in source.rglob("*") if path.is_file()]
    for path in sorted(files, key=lambda path: path.suffix == _LOG_SUFFIX):
        _copy_file(path, target / path.relative_to(source))


def _copy(source: Path, target: Path) -> None:
    if source.is_file():
        _copy_file(source, target)
    for path in sorted(source.rglob("*")):
        if path.is_file():
            _copy_file(path, target / path.relative_to(source))


def _copy_file(source: Path, target: Path) -> None:
    """Copy a file with its time, for its owner; skip it if it is removed."""
    if source.suffix in _NEVER:
        return
    make_private(target.parent)
    with suppress(FileNotFoundError):
        shutil.copyfile(source, target)
        # A file's time tells when its token was last used.
        os.utime(target, (source.stat().st_atime, source.stat().st_mtime))
