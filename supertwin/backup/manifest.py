"""`manifest.json` of a backup: SHA-256 of each file, and which versions wrote it."""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from core.errors import MendableError
from core.settings.state import read_json

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
    """Return the manifest of a backup; MendableError where a file differs from it."""
    found = read_json(folder / MANIFEST) if folder.is_dir() else None
    if found is None or not isinstance(found.get("files"), dict):
        raise MendableError(
            f"{folder} is not a backup (it has no sound {MANIFEST}): "
            "name a folder that `supertwin backup` wrote"
        )
    if found.get("format") != FORMAT:
        raise MendableError(
            f"{folder} has format {found.get('format')} of backups, this release reads "
            f"{FORMAT}: restore it with release {found.get('supertwin')}"
        )
    named = {name: str(checksum) for name, checksum in found["files"].items()}
    wrong = sorted({name for name, _ in named.items() ^ _checksums(folder).items()})
    if wrong:
        more = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise MendableError(
            f"{folder} differs from its checksums ({', '.join(wrong[:_SHOWN])}{more}): "
            "restore another backup, or another copy of this one"
        )
    return found


def _checksums(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if not path.is_dir())
    names = {str(path.relative_to(folder)): path for path in files}
    return {name: _checksum(path) for name, path in names.items() if name != MANIFEST}


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
