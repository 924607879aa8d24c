"""VictoriaMetrics over HTTP: writes points, shows them, reports when it was started.

Points use Prometheus remote write, which other stores accept too.
"""

import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import NamedTuple

import httpx

from core.linux.lock import WRITING, together
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
_STARTED = re.compile(r"^(?:vm_app|process)_start_time\w+ (\d+(?:\.\d+)?)$", re.M)
# These responses reject the account, the address or the time, not the points.
_TRY_AGAIN = frozenset({401, 403, 404, 405, 407, 408, 425, 429})
_PIECE = 256 * 1024
_TIMEOUT = httpx.Timeout(10.0, connect=2.0)


class Refusal(NamedTuple):
    """Why the store will never take a batch."""

    reason: str


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
        self._client = httpx.Client(timeout=_TIMEOUT, auth=account, trust_env=False)
        self._can_show = True

    def write(self, request: bytes) -> Refusal | None:
        """Send a WriteRequest; return a refusal if the request is at fault.

        Raises StoreDownError if another try may succeed.
        """
        before = snappy_literal_header(len(request))
        headers = {**_HEADERS, "Content-Length": str(len(before) + len(request))}
        with self._writing(), closing(_pieces(before, request)) as body:
            response = self._send("POST", _WRITE, body, headers)
        if response.is_success:
            return None
        if response.status_code in (401, 403):
            raise self._refused(response)
        reason = f"HTTP {response.status_code}: {_line(response)}"
        if response.is_client_error and response.status_code not in _TRY_AGAIN:
            return Refusal(reason)
        raise self._down(reason)

    def show(self) -> None:
        """Make written points visible to queries now, if the store can.

        VictoriaMetrics shows new points every two seconds by itself, too late for a
        page that updates every second. Raises StoreDownError.
        """
        if self._can_show:
            response = self._send("GET", _SHOW)
            self._can_show = not response.is_client_error

    def started(self) -> float | None:
        """When this run of the store started (Unix seconds, whole ones), if known.

        In a cluster it is unknown: the part that accepts points does not report it.
        Raises StoreDownError, also if another service than a store answers at this
        address: its responses to points would mean nothing.
        """
        response = self._send("GET", _METRICS)
        if response.is_client_error and self.write(b"") is None:
            return None
        if not response.is_success:
            raise self._down(f"no {_METRICS}: HTTP {response.status_code}")
        found = _STARTED.search(response.text)
        return float(found[1]) if found else None

    def _writing(self) -> AbstractContextManager[None]:
        if self._lock_folder is None:
            return nullcontext()
        return together(self._lock_folder, WRITING)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | Iterator[bytes] = b"",
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        url = self.url + path
        try:
            return self._client.request(method, url, content=body, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._down(str(error) or type(error).__name__) from error

    def _refused(self, response: httpx.Response) -> StoreDownError:
        return StoreDownError(
            f"store {self.url} refuses the account ({response.status_code}): fix the "
            "settings STORE_USER and STORE_PASSWORD"
        )

    def _down(self, reason: str) -> StoreDownError:
        return StoreDownError(
            f"store {self.url} does not take points ({reason}): is it running?"
        )


def _pieces(before: bytes, request: bytes) -> Generator[bytes]:
    """Yield a body in pieces; sent pieces are released.

    The client keeps what it was given until the next garbage collection: whole bodies
    of many megabytes would pile up. It also copies the rest of a piece each time the
    socket is full.
    """
    yield before + request[:_PIECE]
    for at in range(_PIECE, len(request), _PIECE):
        yield request[at : at + _PIECE]


def _line(response: httpx.Response) -> str:
    return " ".join(response.text.split())[:200] or response.reason_phrase
