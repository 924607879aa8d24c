"""HTTP/1.1 with deadlines and a connection limit that slow clients cannot exhaust.

uvicorn alone waits forever for the rest of a request and keeps the connection.
"""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# With all other descriptors, this stays below the limit of libpcp, see
# core.linux.pmapi.fd_limit.
MOST_CONNECTIONS = 512
_HEADERS_S, _BODY_S, _ANSWER_S = 10.0, 30.0, 120.0
_TOO_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
)


class BoundedProtocol(HttpToolsProtocol):
    """Closes a connection if sending its request or reading its answer takes too long.

    Above the limit, it closes the connection that has waited longest without a complete
    request, so that idle clients do not lock out others.
    """

    # Connections without a complete request, the oldest first.
    _waiting: ClassVar[dict["BoundedProtocol", None]] = {}

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request; close an older connection if there are too many."""
        super().connection_made(transport)
        self._wait(_HEADERS_S)
        while len(self.connections) > MOST_CONNECTIONS:
            oldest = next(iter(self._waiting))
            if oldest is self:
                return
            oldest.connection_dropped()

    def connection_dropped(self) -> None:
        """Close the connection immediately."""
        self._end_waiting()
        self.connections.discard(self)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers."""
        self._end_waiting()
        self._end_reading()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Start the timer of a request with its first byte."""
        if self._deadline is None and not self._is_answering():
            self._wait(_HEADERS_S)
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Wait for the body."""
        super().on_headers_complete()
        self._wait(_BODY_S)

    def on_message_complete(self) -> None:
        """Stop waiting: the request is complete."""
        super().on_message_complete()
        self._end_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next request; uvicorn itself closes idle connections."""
        super().on_response_complete()
        if not self.transport.is_closing() and not self._is_answering():
            self._waiting[self] = None

    def pause_writing(self) -> None:
        """Give the client time to read."""
        super().pause_writing()
        self._reading = self.loop.call_later(_ANSWER_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Cancel the timer: the client has read."""
        self._end_reading()
        super().resume_writing()

    def _wait(self, seconds: float) -> None:
        """Wait up to ``seconds`` for the next part of the request."""
        if self._deadline:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self._expire)
        self._waiting.setdefault(self)

    def _expire(self) -> None:
        """Close the connection, unless an earlier request is still being answered."""
        self._deadline = None
        if self._is_answering():
            self._wait(_HEADERS_S)
            return
        if self.cycle is None or self.cycle.response_complete or self._is_unanswered():
            self.transport.write(_TOO_LATE)
        self._end_waiting()
        self.transport.close()

    def _is_answering(self) -> bool:
        """Whether a complete request is being answered."""
        if self.pipeline:
            return True
        cycle = self.cycle
        return cycle is not None and not (cycle.response_complete or cycle.more_body)

    def _is_unanswered(self) -> bool:
        return not self.cycle.response_started

    def _end_waiting(self) -> None:
        self._waiting.pop(self, None)
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None

    def _end_reading(self) -> None:
        if self._reading:
            self._reading.cancel()
            self._reading = None
