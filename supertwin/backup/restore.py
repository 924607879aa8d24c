"""`supertwin restore`: restore a backup into an empty state folder."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.linux import lock
from core.linux.private_folder import close_home, make_private
from core.settings import tools
from core.settings.settings import Settings
from core.settings.state import read_json
from sampling.account.absence import COUNTED_FILE
from supertwin.backup.manifest import checked_manifest
from supertwin.errors import HomeNotEmptyError, RestoreError, StackRunsError
from supertwin.stack.compaction import DATASETS

Progress = Callable[[str], None]

_PARTIAL = ".restoring"
_UP_LOCK = "up.lock"
# How Jena marks a position in a file, and the prefix of a Java message.
_PLACE, _JAVA_CLASS = "[line: ", re.compile(r"^(Exception in .*? )?(\w+\.)+\w+: ")


def restore_backup(
    settings: Settings, folder: Path, progress: Progress
) -> dict[str, Any]:
    """Restore a backup completely into the empty state folder; return its manifest.

    Raises BackupError, StackRunsError, HomeNotEmptyError and RestoreError.
    """
    home = settings.home
    _check(home)
    progress("comparing checksums")
    manifest = checked_manifest(folder)
    close_home(home)
    with lock.turn(home, lambda: progress("waiting for a `supertwin up`")):
        _check(home)
        partial = home / _PARTIAL
        shutil.rmtree(partial, ignore_errors=True)
        try:
            _fill(folder, partial, progress)
            for path in sorted(partial.iterdir()):
                path.rename(home / path.name)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return manifest


def _check(home: Path) -> None:
    if lock.holder(home) is not None:
        raise StackRunsError(
            f"the stack of {home} runs: `supertwin down`, then move {home} away"
        )
    # The lock is ours; the partial folder is left from a killed restore.
    held = {path.name for path in home.iterdir()} if home.exists() else set()
    if held - {_UP_LOCK, _PARTIAL}:
        raise HomeNotEmptyError(
            f"{home} is not empty: move it away, or set SUPERTWIN_HOME to an empty "
            "folder"
        )


def _fill(folder: Path, target: Path, progress: Progress) -> None:
    progress("copying series and files")
    make_private(target)
    shutil.copytree(folder / "state", target, dirs_exist_ok=True)
    target.chmod(0o700)
    # The next start records an open run as interrupted, but does not end its command:
    # it may still run for the installation from which the backup was made.
    for path in (target / "observing").glob("*.json"):
        _amend(path, "attended")
    # The backup was made while the bridge ran: it has not died.
    for path in (target / "bridge").rglob(COUNTED_FILE):
        _amend(path, "restored")
    for dataset in DATASETS:
        progress(f"loading dataset {dataset}")
        _load(folder / f"{dataset}.nq", target / "fuseki" / dataset)


def _amend(path: Path, flag: str) -> None:
    """Set a flag in a JSON file; a damaged one stays as it is."""
    if (found := read_json(path)) is not None:
        path.write_text(json.dumps({**found, flag: True}) + "\n")


def _load(quads: Path, folder: Path) -> None:
    """Create a TDB2 dataset from N-Quads with Jena's own loader."""
    make_private(folder)
    command = (
        *(str(tools.java()), "-cp", str(tools.fuseki_jar()), "tdb2.tdbloader"),
        *("--loc", str(folder), str(quads.absolute())),
    )
    done = subprocess.run(  # noqa: S603
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        why = _reason(done.stderr) or f"exit status {done.returncode}"
        raise RestoreError(f"{quads} was not loaded ({why}): restore another backup")


def _reason(output: str) -> str:
    """The line with the loader's reason, without its Java class."""
    lines = [line for line in output.splitlines() if line and not line[0].isspace()]
    found = [line for line in lines if _PLACE in line] or lines[-1:]
    return _JAVA_CLASS.sub("", found[0]) if found else ""
