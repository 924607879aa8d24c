"""Reads the content of a Darshan log: what processes did with files."""

import hashlib
import sys
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Annotated

import orjson
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from ingest.errors import IngestError
from ingest.sources.tool import run_tool
from observations.errors import BadLogError, NoDarshanError
from observations.file_io.darshan_reader import NO_LIBRARY

MOST_BYTES = 256 << 20
# Each of these has its own node. All others of an interface share one.
MOST_FILES = 2_000
_SECONDS = 120.0
_READER = "observations.file_io.darshan_reader"
_COUNT = Annotated[int, Field(ge=0, lt=2**63)]
_SECONDS_SPENT = Annotated[FiniteFloat, Field(ge=0)]


class FileIo(BaseModel):
    """What ``ranks`` processes did with a file, or with ``files`` files without a path.

    Times are in seconds, summed over the processes.
    """

    model_config = ConfigDict(frozen=True)

    interface: str
    path: str = ""
    files: Annotated[int, Field(ge=1)] = 1
    ranks: Annotated[int, Field(ge=1)]
    opens: _COUNT
    reads: _COUNT
    writes: _COUNT
    bytes_read: _COUNT
    bytes_written: _COUNT
    read_time: _SECONDS_SPENT
    write_time: _SECONDS_SPENT
    metadata_time: _SECONDS_SPENT

    @property
    def size(self) -> tuple[int, int]:
        """The sort key of files: bytes, then calls."""
        moved = self.bytes_read + self.bytes_written
        return moved, self.opens + self.reads + self.writes


class IoLog(BaseModel):
    """A log; ``start`` and ``end`` are Unix time in whole seconds.

    ``incomplete`` are the interfaces for which it lacks files.
    """

    model_config = ConfigDict(frozen=True)

    format: str
    library: str
    processes: Annotated[int, Field(ge=1)]
    start: _COUNT
    end: _COUNT
    incomplete: tuple[str, ...]
    files: tuple[FileIo, ...]
    digest: str = ""


def read_log(path: Path) -> IoLog:
    """Read a Darshan log; raises BadLogError and NoDarshanError.

    The MOST_FILES files with the most bytes are kept; the others are summed by
    interface.
    """
    digest = _digest(path)
    try:
        words = [sys.executable, "-I", "-m", _READER, str(path.absolute())]
        printed = run_tool(words, "python3", _SECONDS, any_status=True)
    except IngestError as error:
        raise BadLogError(f"{path}: {error}") from None
    found = _parsed(path, printed)
    return found.model_copy(update={"digest": digest, "files": _largest(found.files)})


def _digest(path: Path) -> str:
    """Return the SHA-256 of a log; raises BadLogError if it is too large."""
    if not path.is_file():
        raise BadLogError(f"{path} is not a file: name a log of Darshan")
    if not str(path).isprintable():  # PyDarshan opens only names in UTF-8
        raise BadLogError(f"{str(path)!r} is not printable UTF-8: rename it")
    if path.stat().st_size > MOST_BYTES:
        raise BadLogError(
            f"{path} is larger than the limit of {MOST_BYTES >> 20} MiB: record fewer "
            "files (`DARSHAN_EXCLUDE_DIRS`, or no DXT)"
        )
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _parsed(path: Path, printed: bytes) -> IoLog:
    try:
        found = orjson.loads(printed)
        if found.get("error") == NO_LIBRARY:
            raise NoDarshanError(
                f"{path} cannot be read without PyDarshan ({found['reason'][:200]}): "
                "run `.tools/pip/bin/uv pip install --python .venv/bin/python darshan`"
            )
        if "error" in found:
            raise BadLogError(_damaged(path, found["reason"]))
        return IoLog.model_validate(found)
    except (orjson.JSONDecodeError, ValidationError):
        raise BadLogError(_damaged(path, "it cannot be read to its end")) from None


def _damaged(path: Path, reason: str) -> str:
    return f"{path} is damaged or has another format ({reason}): copy the log again"


def _largest(files: Sequence[FileIo]) -> tuple[FileIo, ...]:
    ordered = sorted(files, key=attrgetter("size"), reverse=True)
    kept, rest = ordered[:MOST_FILES], ordered[MOST_FILES:]
    interfaces = sorted({one.interface for one in rest})
    return (*kept, *(_sum([o for o in rest if o.interface == i]) for i in interfaces))


def _sum(files: Sequence[FileIo]) -> FileIo:
    sums = {name: sum(getattr(one, name) for one in files) for name in _SUMMED}
    ranks = max(one.ranks for one in files)
    return FileIo(interface=files[0].interface, ranks=ranks, **sums)


_SUMMED = tuple(
    n for n in FileIo.model_fields if n not in ("interface", "path", "ranks")
)
