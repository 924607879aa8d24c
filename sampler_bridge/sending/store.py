"""VictoriaMetrics over HTTP: writes points, shows them, reports when it was started.

Points use Prometheus remote write, which other stores accept too.
"""

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple

from core.linux.lock import WRITING, together
from core.stores.http_connection import BROKEN, HttpConnection, basic
from sampler_bridge.errors import StoreDownError
from sampler_bridge.sending.remote_write import snappy_literal_header

_WRITE = "/api/v1/write"
_HEADERS = {
    "Content-Encoding": "snappy",
    "Content-Type": "application/x-protobuf",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
}
_SHOW = "/internal/force_flush"
_METRICS = "/metrics"
_STARTED = re.compile(rb"^(?:vm_app|process)_start_time\w+ (\d+(?:\.\d+)?)$", re.M)
# Queries that read points: unlike a check of its health. Missing before the first one;
# programs that only take points do not answer queries.
_READS = re.compile(rb"^vm_rows_read_per_query_count (\d+)$", re.M)
_ANSWERS_QUERIES = b'vm_http_requests_total{path="/api/v1/query"}'
# These responses reject the account, the address or the time, not the points.
_TRY_AGAIN = frozenset({401, 403, 404, 405, 407, 408, 425, 429})
_CONNECT_SECONDS, _ANSWER_SECONDS = 2.0, 10.0


class _Answer(NamedTuple):
    """A complete answer."""

    status: int
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_client_error(self) -> bool:
        return 400 <= self.status < 500

    def reason(self) -> str:
        """The status, and the first words of the body."""
        words = self.body.decode(errors="replace").split()
        return f"HTTP {self.status}: {' '.join(words)[:200]}".rstrip(": ")


class Refusal(NamedTuple):
    """Why the store will never take a batch."""

    reason: str


class StoreRun(NamedTuple):
    """When this run of the store started (Unix seconds, whole ones), if known.

    ``reads`` is how many queries have read points since; None if unknown.
    """

    started: float | None = None
    reads: int | None = None


class StoreConnection:
    """One store by its base URL, over a keep-alive connection, for one thread.

    Writes wait while a span of a series is deleted; the lock is in ``lock_folder``.
    """

    def __init__(
        self,
        url: str,
        account: tuple[str, str] | None = None,
        lock_folder: Path | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._lock_folder = lock_folder
        self._http = HttpConnection(self.url, basic(account), _CONNECT_SECONDS)
        self._can_show = True

    def write(self, request: bytes) -> Refusal | None:
        """Send a WriteRequest; return a refusal if the request is at fault.

        Raises StoreDownError if another try may succeed.
        """
        body = snappy_literal_header(len(request)) + request
        with self._writing():
            answer = self._send("POST", _WRITE, body, _HEADERS)
        if answer.is_success:
            return None
        if answer.status in (401, 403):
            raise self._refused(answer.status)
        if answer.is_client_error and answer.status not in _TRY_AGAIN:
            return Refusal(answer.reason())
        raise self._down(answer.reason())

    def show(self) -> None:
        """Make written points visible to queries now, if the store can.

        VictoriaMetrics shows new points every two seconds by itself, too late for a
        page that updates every second. Raises StoreDownError.
        """
        if self._can_show:
            self._can_show = not self._send("GET", _SHOW).is_client_error

    def run(self) -> StoreRun:
        """Which run of the store answers, and how often it was read.

        In a cluster both are unknown: the part that accepts points does not report
        them. Raises StoreDownError, also if another service than a store answers at
        this address: its responses to points would mean nothing.
        """
        answer = self._send("GET", _METRICS)
        if answer.is_client_error and self.write(b"") is None:
            return StoreRun()
        if not answer.is_success:
            raise self._down(f"no {_METRICS}: HTTP {answer.status}")
        started = _STARTED.search(answer.body)
        return StoreRun(float(started[1]) if started else None, _reads(answer.body))

    def _writing(self) -> AbstractContextManager[None]:
        if self._lock_folder is None:
            return nullcontext()
        return together(self._lock_folder, WRITING)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def _send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> _Answer:
        try:
            got = self._http.request(method, path, body, headers or {}, _ANSWER_SECONDS)
            return _Answer(got.status, got.read())
        except BROKEN as error:
            raise self._down(str(error) or type(error).__name__) from error

    def _refused(self, status: int) -> StoreDownError:
        return StoreDownError(
            f"store {self.url} refuses the account ({status}): fix the "
            "settings STORE_USER and STORE_PASSWORD"
        )

    def _down(self, reason: str) -> StoreDownError:
        return StoreDownError(
            f"store {self.url} does not take points ({reason}): is it running?"
        )


def _reads(metrics: bytes) -> int | None:
    if _ANSWERS_QUERIES not in metrics:
        return None
    found = _READS.search(metrics)
    return int(found[1]) if found else 0
