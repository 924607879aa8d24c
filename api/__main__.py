"""``python -m api``: serve the API until it is told to stop."""

import uvicorn

from api.app import create_app
from supertwin.settings import Settings


def main() -> None:
    """Serve on ``bind`` and ``api_port``; the log goes to stderr."""
    settings = Settings.model_validate({})
    uvicorn.run(
        create_app(settings),
        host=settings.bind,
        port=settings.api_port,
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=5,
    )


if __name__ == "__main__":
    main()
