"""``python -m api``: serve the API until it is told to stop."""

import resource
import socket
import sys
from contextlib import suppress

import uvicorn
from fastapi import FastAPI

from api.app import create_app
from api.collapsed_log import log_to_stderr
from api.error_report import error_lines
from api.http_protocol import BoundedProtocol
from core.errors import MendableError
from core.linux import pmapi
from core.settings.settings import Settings
from ingest.pmu.pfm_library import load_private_copy

# What uvicorn itself ends with when, say, the port is taken.
_NOT_STARTED = 3
# After each send or receive the event loop waits for threads that compute, by default
# 5 ms for each of them, so that 256 requests delayed all others by seconds.
_SWITCH_S = 0.001


def main() -> int:
    """Serve on ``bind`` and ``api_port``; the log goes to stderr.

    2: a setting is wrong, and said to be.
    """
    try:
        settings = Settings()
        app = create_app(settings)
    except MendableError as error:
        print("\n".join(error_lines(error)), file=sys.stderr)
        return MendableError.exit_code
    log_to_stderr()
    sys.setswitchinterval(_SWITCH_S)
    _allow_more_files()
    _change_environment()
    return _serve(app, settings)


def _allow_more_files() -> None:
    """Raise the limit on open files, which is 1024 almost everywhere."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _change_environment() -> None:
    """Let libraries change the environment while no other thread can read it."""
    pmapi.read_settings()
    load_private_copy()


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
        http=BoundedProtocol,
        ws="none",
        # By default uvicorn believes each program on this machine.
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies),
        access_log=False,
        log_config=None,
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
