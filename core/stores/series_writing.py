"""Writes points of series into the store, a batch at a time."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import httpx

from core.errors import SeriesError
from core.linux.lock import WRITING, together
from core.settings.accounts import store_write_account
from core.settings.settings import Settings
from core.stores.points import Points

# Points in a line: the store rejects lines of more than 10 MB.
AT_ONCE = 50_000
_TIMEOUT = httpx.Timeout(60.0, connect=2.0)


def lock_folder(settings: Settings) -> Path:
    """Return the folder of the lock `WRITING`, which the bridge has too."""
    return settings.home / "bridge"


def writing(settings: Settings) -> AbstractContextManager[None]:
    """Write while others do, but not while a span of a series is deleted."""
    return together(lock_folder(settings), WRITING)


def write_lines(settings: Settings, lines: Iterable[bytes]) -> None:
    """Write lines in the format of ``/api/v1/export``; raises SeriesError."""
    with writing(settings):
        send_lines(settings, lines)


def send_lines(settings: Settings, lines: Iterable[bytes]) -> None:
    """Write lines as `write_lines` does, for a caller that has the lock."""
    url, auth = settings.store_write, store_write_account(settings)
    try:
        with httpx.Client(auth=auth, trust_env=False, timeout=_TIMEOUT) as client:
            client.post(f"{url}/api/v1/import", content=iter(lines)).raise_for_status()
    except httpx.HTTPError as error:
        raise SeriesError(
            f"the series store at {url} takes no points ({error}): see `make status`"
        ) from None


def series_lines(labels: Mapping[str, str], points: Points) -> Iterator[bytes]:
    """Encode points of one series as lines of some thousand points."""
    for at in range(0, len(points.stamps), AT_ONCE):
        part = slice(at, at + AT_ONCE)
        yield line(labels, points.stamps[part].tolist(), points.values[part].tolist())


def line(
    labels: Mapping[str, str], stamps: Sequence[int], values: Sequence[float]
) -> bytes:
    """Encode samples of one series in the format of ``/api/v1/export``."""
    found = {"metric": dict(labels), "values": values, "timestamps": stamps}
    return json.dumps(found).encode() + b"\n"
