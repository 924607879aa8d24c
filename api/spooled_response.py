"""An answer that is sent from memory if it is short, and from a file if it is long."""

from collections.abc import Mapping

from fastapi import Response
from starlette.types import Receive, Scope, Send

from core.stores.spool import Spool


class SpooledResponse(Response):
    """Sends what a spool holds, and then closes the spool."""

    def __init__(self, spool: Spool, headers: Mapping[str, str]) -> None:
        super().__init__(spool.in_memory, headers=headers)
        self._spool = spool
        self.headers["Content-Length"] = str(spool.size)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer; parts of a long one are sent as fast as the client reads."""
        try:
            if self._spool.in_memory is not None:
                await super().__call__(scope, receive, send)
                return
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
            async for part in self._spool.parts():
                await send(
                    {"type": "http.response.body", "body": part, "more_body": True}
                )
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._spool.close()
