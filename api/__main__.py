"""``python -m api``: serve the API until it is stopped."""

import resource
import socket
import sys
from contextlib import suppress

import uvicorn
from fastapi import FastAPI

from api.app import create_app
from api.collapsed_log import log_to_stderr
from api.http_protocol import BoundedProtocol
from core.errors import UserError, error_lines
from core.linux import pmapi
from core.settings.settings import Settings
from ingest.pmu.pfm_library import load_private_copy

# uvicorn's own exit status if, for example, the port is taken.
_NOT_STARTED = 3
# After each send or receive, the event loop waits for each computing thread, by default
# for 5 ms: 256 requests delayed all others by seconds.
_SWITCH_S = 0.001


def main() -> int:
    """Serve on ``bind`` and ``api_port``; the log goes to stderr.

    Returns 2 and prints the reason if a setting is wrong.
    """
    try:
        settings = Settings()
        app = create_app(settings)
    except UserError as error:
        print("\n".join(error_lines(error)), file=sys.stderr)
        return UserError.exit_code
    log_to_stderr()
    sys.setswitchinterval(_SWITCH_S)
    _allow_more_files()
    _change_environment()
    return _serve(app, settings)


def _allow_more_files() -> None:
    """Raise the limit on open files, which is usually 1024."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _change_environment() -> None:
    """Let libraries change the environment while there is only one thread."""
    pmapi.read_settings()
    load_private_copy()


class _Server(uvicorn.Server):
    """Ends the live streams before it waits for running requests."""

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
        # By default uvicorn trusts every program on this machine.
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies),
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    server = _Server(config)
    with suppress(KeyboardInterrupt):  # uvicorn raises it again after a clean shutdown
        server.run()
    return 0 if server.started else _NOT_STARTED


if __name__ == "__main__":
    sys.exit(main())
