"""Deletes a span of series in the local VictoriaMetrics, which only deletes whole ones.

All other samples of the series are exported to a file on disk, the series are deleted,
and the file is written back. Our writers wait: a point that arrived between the export
and the deletion would be lost. The file remains until the samples in it are on the
store's disk; `finish_deletions` writes back what a crash or an error left.
"""

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import httpx
import orjson

from core.errors import ExternalStoreError, SeriesError, SuperTwinError
from core.linux.lock import WRITING, turn
from core.linux.private_folder import make_private
from core.settings.accounts import store_key, store_read_account
from core.settings.setting_types import hours_of
from core.settings.settings import Settings
from core.stores.errors import DeletionError, DeletionKeyError
from core.stores.series_writing import lock_folder, send_lines
from core.stores.snapshots import snapshot_request

_FOLDER, _KEPT, _UNSYNCED = "deletions", ".jsonl", ".partial"
_TIMEOUT = httpx.Timeout(600.0, connect=5.0)
_HOUR_MS = 3_600_000
_CHUNK_MS = 7 * 24 * _HOUR_MS
# The store takes no points that are further in the future.
_AHEAD_MS = 3 * 24 * _HOUR_MS


class _Chunk(NamedTuple):
    """A part of an export: the ``samples`` after ``start``, up to ``last``."""

    start: int
    last: int
    samples: int


def delete_span(settings: Settings, match: str, start_ms: int, end_ms: int) -> int:
    """Delete the samples of matching series after ``start_ms``, up to ``end_ms``.

    Return how many there were. Raises ExternalStoreError, DeletionKeyError,
    SeriesError and OSError, and DeletionError if the span is deleted but other samples
    are not written back yet.
    """
    if settings.store_read_url or settings.store_write_url:
        raise ExternalStoreError(
            "VictoriaMetrics is elsewhere (SUPERTWIN_STORE_…_URL): delete samples "
            "there, with its own tools"
        )
    # Debian's release does not count over a window of decades.
    start_ms = max(start_ms, _earliest_ms(settings))
    if start_ms >= end_ms:
        return 0
    with _without_writers(settings), _client(settings) as client:
        _finish(settings, client)
        client.get("/internal/force_flush").raise_for_status()
        deleted = _count(client, match, start_ms, end_ms)
        if deleted:
            kept = _export(settings, client, match, start_ms, end_ms)
            _delete(settings, client, match, kept)
            try:
                _write_back(settings, client, kept)
            except (OSError, SuperTwinError) as error:
                raise _incomplete(kept, error) from None
        return deleted


def finish_deletions(settings: Settings) -> bool:
    """Write back what incomplete deletions have left; return whether there was any.

    Raises what `delete_span` raises.
    """
    if not any(_folder(settings).glob("*")):
        return False
    with _without_writers(settings), _client(settings) as client:
        return _finish(settings, client)


@contextmanager
def _without_writers(settings: Settings) -> Iterator[None]:
    folder = lock_folder(settings)
    make_private(folder)
    # Without the lock file, `turn` would not wait for the writers.
    (folder / f"{WRITING}.lock").touch(mode=0o600)
    with turn(folder, lambda: None, WRITING):
        yield


@contextmanager
def _client(settings: Settings) -> Iterator[httpx.Client]:
    url, account = settings.store_read, store_read_account(settings)
    options = {"base_url": url, "auth": account, "timeout": _TIMEOUT}
    try:
        with httpx.Client(trust_env=False, **options) as client:  # type: ignore[arg-type]
            yield client
    except httpx.HTTPError as error:
        raise SeriesError(
            f"the series store at {url} does not answer ({error}): see `make status`"
        ) from None


def _folder(settings: Settings) -> Path:
    return settings.home / _FOLDER


def _export(
    settings: Settings, client: httpx.Client, match: str, start_ms: int, end_ms: int
) -> Path:
    """Write all other samples of the series to a file, and the file to disk."""
    folder = _folder(settings)
    make_private(folder)
    kept = folder / f"{uuid.uuid4().hex}{_KEPT}"
    draft = kept.with_suffix(_UNSYNCED)
    try:
        with draft.open("wb") as file:
            chunks = [
                _export_chunk(client, match, chunk, file)
                for span in ((_earliest_ms(settings), start_ms), (end_ms, _latest_ms()))
                for chunk in _chunks(span, _oldest_ms(settings))
            ]
            about = {
                "match": match,
                "chunks": [[*one] for one in chunks if one.samples],
            }
            file.write(orjson.dumps(about))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(kept)
        _sync(folder)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return kept


def _chunks(span: tuple[int, int], oldest_ms: int) -> Iterator[tuple[int, int]]:
    """Divide a span, so that the store never has a whole series in memory."""
    start, end = span
    while start < end:
        stop = min(max(start + _CHUNK_MS, oldest_ms), end)
        yield start, stop
        start = stop


def _export_chunk(
    client: httpx.Client, match: str, chunk: tuple[int, int], file: IO[bytes]
) -> _Chunk:
    """Export samples after the first time of a chunk, up to its second."""
    start, end = chunk
    form = {"match[]": match, "max_rows_per_line": "10000"}
    form |= {"start": _seconds(start + 1), "end": _seconds(end)}
    count = last = 0
    with client.stream("POST", "/api/v1/export", data=form) as answer:
        answer.raise_for_status()
        for line in _lines(answer):
            stamps = orjson.loads(line)["timestamps"]
            count, last = count + len(stamps), max([last, *stamps])
            file.write(line + b"\n")
    if count != (found := _count(client, match, start, last or end)):
        raise SeriesError(
            f"the series store exported {count} of {found} samples: ask again"
        )
    return _Chunk(start, last, count)


def _lines(answer: httpx.Response) -> Iterator[bytes]:
    rest = b""
    for piece in answer.iter_bytes():
        *whole, rest = (rest + piece).split(b"\n")
        yield from filter(None, whole)
    if rest:
        yield rest


def _count(client: httpx.Client, match: str, start_ms: int, end_ms: int) -> int:
    """Count samples after a time, up to another; each time once for a series."""
    query = f"sum(count_over_time({match}[{end_ms - start_ms}ms]))"
    form = {"query": query, "time": _seconds(end_ms), "nocache": "1"}
    answer = client.post("/api/v1/query", data=form).raise_for_status()
    result = answer.json()["data"]["result"]
    return int(float(result[0]["value"][1])) if result else 0


def _delete(settings: Settings, client: httpx.Client, match: str, kept: Path) -> None:
    form = {"match[]": match, "authKey": store_key(settings, "delete")}
    answer = client.post("/api/v1/admin/tsdb/delete_series", data=form)
    if answer.is_client_error:
        kept.unlink()
        raise DeletionKeyError(
            "VictoriaMetrics refuses its key for deletions "
            f"({answer.status_code}): `supertwin down`, then `supertwin up`"
        )
    answer.raise_for_status()


def _finish(settings: Settings, client: httpx.Client) -> bool:
    """Write back what incomplete deletions left; return whether there was any."""
    folder = _folder(settings)
    for draft in folder.glob(f"*{_UNSYNCED}"):  # nothing was deleted yet
        draft.unlink()
    found = [*folder.glob(f"*{_KEPT}")]
    for kept in found:
        _write_back(settings, client, kept)
    return bool(found)


def _write_back(settings: Settings, client: httpx.Client, kept: Path) -> None:
    """Write a file back into the store; remove it when the samples are on its disk."""
    with kept.open("rb") as file:
        send_lines(settings, (line for line in file if line.startswith(b'{"metric"')))
    client.get("/internal/force_flush").raise_for_status()
    name = snapshot_request(client, settings, "create")["snapshot"]
    snapshot_request(client, settings, "delete", snapshot=name)
    missing = sum(_missing(settings, client, kept))
    if missing:
        raise SeriesError(f"the series store still lacks {missing} samples of {kept}")
    kept.unlink()


def _incomplete(kept: Path, reason: Exception) -> DeletionError:
    return DeletionError(
        f"the span is deleted, but the samples around it, in {kept}, could not be "
        f"written back ({reason}): the API tries again every 10 s"
    )


def _missing(settings: Settings, client: httpx.Client, kept: Path) -> Iterator[int]:
    """Yield how many samples of each chunk the store lacks."""
    about = orjson.loads(_last_line(kept))
    for start, last, count in about["chunks"]:
        # Samples that are older than the retention are gone by now.
        if start >= _oldest_ms(settings) - _HOUR_MS:
            yield max(count - _count(client, about["match"], start, last), 0)


def _last_line(path: Path) -> bytes:
    with path.open("rb") as file:
        last = b""
        for line in file:
            last = line
    return last


def _oldest_ms(settings: Settings) -> int:
    """Return a time that is within the retention, and will be for an hour."""
    hours = hours_of(settings.retention) or 0
    return time.time_ns() // 1_000_000 - (hours - 1) * _HOUR_MS


def _earliest_ms(settings: Settings) -> int:
    """Return a time before all samples: the store drops whole months."""
    return max(_oldest_ms(settings) - 40 * 24 * _HOUR_MS, 0)


def _latest_ms() -> int:
    return time.time_ns() // 1_000_000 + _AHEAD_MS


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.3f}"


def _sync(folder: Path) -> None:
    """Write a folder to disk, with the names in it."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
