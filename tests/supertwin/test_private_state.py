"""The state folder is private: other users cannot read it or lock its files."""

import fcntl
import multiprocessing
import os
import stat
import subprocess
from pathlib import Path

import pytest

from core.errors import StateFolderError
from core.linux import lock
from core.linux.private_folder import close_home
from tests.command_line import run
from tests.live_files import entries_below
from tests.servers import wait_until
from tests.supertwin.conftest import running_servers

_NOBODY = 65534
_OF_PCP = ("log", "run", "tmp", "var", "var/pmcd")


def as_another_user(path: Path) -> str:
    """Return why another user cannot open and lock a file; empty if they can."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(_lock, (path,))


def _lock(path: Path) -> str:
    os.setgroups([])
    os.setgid(_NOBODY)
    os.setuid(_NOBODY)
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
    except OSError as error:
        return str(error.strerror)
    return ""


@pytest.fixture
def reachable(tmp_path: Path) -> Path:
    """Return a folder that every user can reach, though pytest's own are private."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    return tmp_path


@pytest.mark.parametrize("name", ["up", "tokens"])
def test_another_user_cannot_lock_the_state(reachable: Path, name: str) -> None:
    home = reachable / "home"
    with lock.turn(home, lambda: None, name):
        assert as_another_user(home / f"{name}.lock") == "Permission denied"


def test_lock_file_is_private_in_an_open_folder_too(reachable: Path) -> None:
    home = reachable / "home"
    home.mkdir(mode=0o755)
    with lock.turn(home, lambda: None):
        assert as_another_user(home / "up.lock") == "Permission denied"


def test_first_command_creates_a_private_home(tmp_path: Path) -> None:
    home = tmp_path / "some" / "home"
    done = run({"SUPERTWIN_HOME": str(home)}, "token", "add", "ada", "--role", "reader")
    assert done.returncode == 0, done.stderr
    assert _open_to_others(home) == []


def test_up_makes_an_existing_home_private(env: dict[str, str]) -> None:
    home = Path(env["SUPERTWIN_HOME"])
    (home / "store").mkdir(parents=True)
    (home / "up.lock").touch()
    home.chmod(0o755)
    # It fails after it makes the folder private, and starts no server.
    done = run(env | {"SUPERTWIN_PMCD_PORT": "0"}, "up")
    assert done.returncode == 2
    done = run(env | {"SUPERTWIN_MIN_FREE_BYTES": str(2**60)}, "up")
    assert done.returncode == 2 and "[disk-full]" in done.stderr
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "names", [["www"], ["cache", "lib", "log", "spool"], ["access", "fuseki", "store"]]
)
def test_foreign_folder_is_not_made_private(tmp_path: Path, names: list[str]) -> None:
    """SUPERTWIN_HOME=/srv must not make /srv private, and so with /var."""
    home = tmp_path / "srv"
    for name in names:
        (home / name).mkdir(parents=True)
    home.chmod(0o755)
    with pytest.raises(StateFolderError, match="holds other files"):
        close_home(home)
    assert stat.S_IMODE(home.stat().st_mode) == 0o755


@pytest.mark.parametrize("mark", ["up.lock", "fuseki/twin", "log/audit.jsonl"])
def test_state_folder_is_made_private(tmp_path: Path, mark: str) -> None:
    home = tmp_path / "home"
    (home / mark).mkdir(parents=True)
    home.chmod(0o755)
    close_home(home)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_shared_folder_is_refused_as_home(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    (tmp_path / "up.lock").touch()
    with pytest.raises(StateFolderError):
        close_home(tmp_path)


def test_files_of_servers_are_private(tmp_path: Path) -> None:
    """PMCD's agents change the user: they must still start."""
    home = tmp_path / "home"
    with running_servers(home):
        wait_until(lambda: (home / "store" / "data").exists(), what="the store's data")
        own = f"unix://{home}/pmcd/run/pmcd.socket"
        words = ["pminfo", "-h", own, "-f", "kernel.all.load", "proc.nprocs"]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert done.stdout.count("value") == 4, done.stdout + done.stderr
        assert _open_to_others(home) == []


def _open_to_others(home: Path) -> list[str]:
    """Return files and folders whose mode opens them to others.

    PCP's programs set their own mask, but their folders protect what they write.
    """
    theirs = [home / name / part for name in ("pmcd", "pmu") for part in _OF_PCP]
    found = []
    for path in (home, *entries_below(home)):
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue
        plain = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
        if plain and mode & 0o077 and path.parent not in theirs:
            found.append(f"{path.relative_to(home)} {stat.filemode(mode)}")
    return found
