"""The API as a process."""

import sys
from pathlib import Path

from tests.servers import LOOPBACK, ROOT, Server, answers, free_port


class Api(Server):
    """``python -m api`` with these settings (lower case)."""

    def __init__(self, folder: Path, **settings: str) -> None:
        super().__init__(folder)
        port = free_port()
        self.url = f"http://{LOOPBACK}:{port}"
        self.env = {f"SUPERTWIN_{name.upper()}": v for name, v in settings.items()}
        self.env["SUPERTWIN_API_PORT"] = str(port)

    def start(self) -> None:
        command = [sys.executable, "-W", "error", "-m", "api"]
        self.launch(command, cwd=ROOT, **self.env)
        self.ready(lambda: answers(f"{self.url}/context.jsonld"), 30.0)
