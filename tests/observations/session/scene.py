"""Begin runs of a run manager in tests, and lose contact, runners and processes."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.settings.settings import Settings
from observations.errors import NotRecordedError
from observations.record import RunRequest, RunSpec
from observations.session import run_session
from observations.session.run_manager import RunManager
from observations.session.run_session import RunSession
from observations.session.run_state import State
from tests.servers import ENDS_WITH_US, ROOT, wait_until

HOST, OTHER_HOST = "node8", "node9"
SLEEP = ("sleep", "987")


@dataclass
class Scene:
    """A run manager with its settings, for one scenario."""

    settings: Settings
    manager: RunManager
    patch: pytest.MonkeyPatch

    def begin(
        self,
        *argv: str,
        host: str = HOST,
        repeat: int = 1,
        attended: bool = False,
        wait: Callable[[], bool] | None = None,
    ) -> RunSession:
        spec = RunSpec(host, argv or SLEEP, repeat=repeat)
        return self.manager.begin(RunRequest(spec, attended), wait)

    def running(self, *argv: str) -> RunSession:
        """Launch a command and wait until it runs."""
        session = self.begin(*argv)
        self.manager.launch(session)
        wait_until(lambda: session.state is State.RUNNING)
        return session

    def lose(self) -> None:
        """Let all sessions that nothing is heard of count as silent."""
        with self.patch.context() as patch:
            patch.setattr(run_session, "SILENT_SECONDS", 0.0)
            self.manager.maintain()


def runner_of(session: RunSession) -> int:
    stat = Path(f"/proc/{session.repetitions.command['pid']}/stat").read_text()
    return int(stat.rpartition(") ")[2].split()[1])


def ended(session: RunSession) -> None:
    def is_settled() -> bool:
        assert not isinstance(session.status.problem, NotRecordedError)
        return session.state in (State.RECORDED, State.REFUSED)

    wait_until(is_settled)


_API = """
import sys, time
from core.settings.settings import Settings
from observations.record import RunRequest, RunSpec
from observations.session.run_manager import RunManager
manager = RunManager(Settings())
session = manager.begin(RunRequest(RunSpec(sys.argv[1], tuple(sys.argv[3:]))), None)
if sys.argv[2] == "launch":
    manager.launch(session)
    while session.state != "running":
        time.sleep(0.05)
print(session.id, flush=True)
sys.stdin.read()
"""


def killed_api(scene: Scene, how: str, *argv: str) -> RunSession:
    """Begin a run in another process, kill that and resume the run here."""
    with subprocess.Popen(
        [*ENDS_WITH_US, sys.executable, "-c", _API, HOST, how, *argv],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as api:
        assert api.stdout
        id_ = api.stdout.readline().strip()
        api.kill()
    scene.manager.resume()
    session = scene.manager.find(id_)
    assert session
    return session
