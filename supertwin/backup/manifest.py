"""`manifest.json` of a backup: SHA-256 of each file, and the versions that wrote it."""

import hashlib
import json
import stat
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from core.settings.state import read_json
from supertwin.errors import BackupError
from supertwin.stack.compaction import DATASETS

MANIFEST = "manifest.json"
FORMAT = 1
_SHOWN = 3


def write_manifest(folder: Path, about: dict[str, Any]) -> int:
    """Describe all files of a new backup; return how many there are."""
    files = _checksums(folder)
    document = {"format": FORMAT, "supertwin": version("supertwin"), **about}
    text = json.dumps(document | {"files": files}, indent=1)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")
    return len(files)


def checked_manifest(folder: Path) -> dict[str, Any]:
    """Return a backup's manifest; raises BackupError if a file differs from it."""
    manifest = folder / MANIFEST
    found = read_json(manifest) if _kind(manifest) == stat.S_IFREG else None
    if found is None or not isinstance(found.get("files"), dict):
        raise BackupError(
            f"{folder} is not a backup (it has no valid {MANIFEST}): "
            "name a folder that `supertwin backup` wrote"
        )
    if found.get("format") != FORMAT:
        raise BackupError(
            f"{folder} has format {found.get('format')} of backups, this release reads "
            f"{FORMAT}: restore it with release {found.get('supertwin')}"
        )
    for name in (f"{dataset}.nq" for dataset in DATASETS):
        if name not in found["files"]:
            raise BackupError(
                f"{folder} is not a complete backup ({MANIFEST} has no {name}): "
                "restore another one"
            )
    named = {name: str(checksum) for name, checksum in found["files"].items()}
    wrong = sorted({name for name, _ in named.items() ^ _checksums(folder).items()})
    if wrong:
        more = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise BackupError(
            f"{folder} differs from its checksums ({', '.join(wrong[:_SHOWN])}{more}): "
            "restore another backup, or another copy of this one"
        )
    return found


def _checksums(folder: Path) -> dict[str, str]:
    names = {str(path.relative_to(folder)): path for path in _files(folder)}
    return {name: _checksum(path) for name, path in names.items() if name != MANIFEST}


def _files(folder: Path) -> Iterator[Path]:
    """All files below a folder; raises BackupError for anything but a file or folder.

    A link's target has no checksum, and reading a pipe could block.
    """
    for path in sorted(folder.rglob("*")):
        kind = _kind(path)
        if kind == stat.S_IFREG:
            yield path
        elif kind != stat.S_IFDIR:
            raise BackupError(
                f"{path} is neither a file nor a folder, so it is not from a backup: "
                "remove it, or restore another copy"
            )


def _kind(path: Path) -> int:
    """The file type of a path, without following links; 0 if it does not exist."""
    try:
        return stat.S_IFMT(path.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
