"""``python -m api``: serve the API until it is told to stop."""

import socket
import sys
from contextlib import suppress

import uvicorn
from fastapi import FastAPI
from pydantic import ValidationError

from api.app import create_app
from supertwin.errors import MendableError
from supertwin.report import error_lines
from supertwin.settings import Settings

# What uvicorn itself ends with when, say, the port is taken.
_NOT_STARTED = 3


def main() -> int:
    """Serve on ``bind`` and ``api_port``; the log goes to stderr.

    2: a setting is wrong, and said to be.
    """
    try:
        settings = Settings.model_validate({})
        app = create_app(settings)
    except (ValidationError, MendableError) as error:
        print("\n".join(error_lines(error)), file=sys.stderr)
        return MendableError.exit_code
    return _serve(app, settings)


class _Server(uvicorn.Server):
    """Ends the live streams before it waits for the requests under way."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.app.state.services.feeds.stop()  # type: ignore[union-attr]
        await super().shutdown(sockets)


def _serve(app: FastAPI, settings: Settings) -> int:
    config = uvicorn.Config(
        app,
        host=settings.bind,
        port=settings.api_port,
        loop="uvloop",
        http="httptools",
        ws="none",
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    server = _Server(config)
    with suppress(KeyboardInterrupt):  # Raised again once it has been obeyed.
        server.run()
    return 0 if server.started else _NOT_STARTED


if __name__ == "__main__":
    sys.exit(main())
