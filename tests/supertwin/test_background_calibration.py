"""A background calibration that is stopped or killed leaves nothing."""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.settings import audit
from core.settings.settings import Settings
from sampling.calibration.private_home import private_home, remove_left
from supertwin.stack.background_calibration import keep_calibrated
from tests.servers import ENDS_WITH_US, ROOT, wait_until
from tests.supertwin.conftest import processes_of

pytestmark = pytest.mark.serial

# At 19, the level in use, it gets almost no CPU time next to other tests.
NICE = 5
SMALL = Path(__file__).with_name("small_calibration.py")
_HOLDER = """
import time
from sampling.calibration.private_home import private_home
with private_home() as folder:
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Use a folder for temporary folders; sockets below it need a short name."""
    with tempfile.TemporaryDirectory(prefix="st") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


def measures(temporary: Path) -> bool:
    """Return whether a server of a calibration runs."""
    return any(processes_of(folder) for folder in temporary.iterdir())


def left(temporary: Path) -> list[object]:
    return [*temporary.iterdir(), *processes_of(temporary)]


def calibrating(home: Path) -> list[int]:
    """Return the processes that calibrate for a home."""
    return [
        pid
        for pid in processes_of(home)
        if os.fsencode(SMALL) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    ]


def test_calibration_that_is_killed_or_ended_leaves_nothing(
    tmp_path: Path, temporary: Path
) -> None:
    """The supervisor's task runs in this process; the second try ends as by `down`."""
    settings = Settings(home=tmp_path / "home", idle_seconds=0.5, idle_cpu=1e9)
    messages: list[str] = []

    async def until(check: object) -> None:
        await asyncio.to_thread(wait_until, check, 600)

    async def scenario() -> None:
        command = (sys.executable, str(SMALL), str(NICE))
        task = asyncio.create_task(keep_calibrated(settings, messages.append, command))
        await until(lambda: measures(temporary))
        for pid in processes_of(temporary):
            assert niceness(pid) in ({NICE}, set())
        (killed,) = calibrating(settings.home)
        os.kill(killed, signal.SIGKILL)
        await until(lambda: any("was killed by SIGKILL" in line for line in messages))
        await until(lambda: not left(temporary))
        await until(lambda: measures(temporary))
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(scenario())
    wait_until(lambda: not left(temporary), 60, "the end of all servers")
    assert not (settings.home / "cost.json").exists()
    (event,) = audit.events(settings.home)
    assert (event["who"], event["what"]) == ("supervisor", "sampling.calibrated")
    assert event["outcome"] == "was killed by SIGKILL"


def niceness(pid: int) -> set[int]:
    """Return the nice levels of a process and its session; empty if it has ended."""
    try:
        found = {os.getpriority(os.PRIO_PROCESS, pid)}
        group = Path(f"/proc/{pid}/autogroup")
        if group.exists():
            found.add(int(group.read_text().split()[-1]))
    except OSError:
        return set()
    return found


def test_busy_machine_ends_the_calibration(tmp_path: Path, temporary: Path) -> None:
    """Its own graph store exceeds the limit."""
    env = {"SUPERTWIN_HOME": str(tmp_path), "SUPERTWIN_IDLE_CPU": "1e-9"}
    done = subprocess.run(
        [*ENDS_WITH_US, sys.executable, str(SMALL), "0"],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=600,
    )
    assert done.returncode == 1, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith("the machine got busy: other work took ")
    assert "of a core in 'idle', the limit is 2e-9 %" in last
    assert not left(temporary)
    assert not (tmp_path / "cost.json").exists()


def test_folder_without_an_owner_is_removed(temporary: Path) -> None:
    """As after `kill -9` without a supervisor: the next calibration removes it."""
    command = [*ENDS_WITH_US, sys.executable, "-c", _HOLDER]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as held:
        assert held.stdout is not None
        folder = Path(held.stdout.readline().strip())
        (folder / "file").touch()
        remove_left()
        assert (folder / "file").exists()
        held.kill()
    with private_home() as own:
        assert not folder.exists()
        with (own / "lock").open() as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert not left(temporary)


def test_command_waits_until_the_machine_is_idle(
    tmp_path: Path, temporary: Path
) -> None:
    env = {"SUPERTWIN_HOME": str(tmp_path), "SUPERTWIN_IDLE_SECONDS": "86400"}
    words = ("-m", "supertwin", "sample", "calibrate", "--when-idle")
    with subprocess.Popen(
        [*ENDS_WITH_US, sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, **env},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        found = process.stderr.readline()
        process.terminate()
        process.communicate(timeout=120)
    assert "waits until the machine is idle for 86400 s" in found
    assert process.returncode != 0
    assert not left(temporary)
