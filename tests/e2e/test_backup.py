"""A backup of a running stack, restored into an empty state folder and compared."""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.command_line import run
from tests.observed import outcome, runs
from tests.servers import ENDS_WITH_US, ROOT, wait_until
from tests.stack import Stack, environment

pytestmark = pytest.mark.e2e

DATASETS = ("twin", "history")
_BLANK = re.compile(r"_:\w+")


def quads(text: str) -> list[str]:
    """Lines of N-Quads; a blank node has another label after each load."""
    return sorted(_BLANK.sub("_:b", line) for line in text.splitlines())


def dataset(stack: Stack, name: str) -> list[str]:
    url, headers = f"{stack.fuseki}/{name}/data", {"Accept": "application/n-quads"}
    return quads(httpx.get(url, headers=headers, timeout=120).raise_for_status().text)


def points(stack: Stack, until: int) -> int:
    """How many points the store has, up to a Unix time."""
    httpx.get(f"{stack.store}/internal/force_flush")
    query = 'sum(count_over_time({hostname!=""}[1h]))'
    asked = {"query": query, "time": str(until), "nocache": "1"}
    answer = httpx.get(f"{stack.store}/api/v1/query", params=asked).json()
    return int(answer["data"]["result"][0]["value"][1])


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    kept = (path for path in found if path.suffix != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept}


def restore(stack: Stack, folder: Path, status: int = 0) -> str:
    done = stack.run("restore", str(folder), check=False)
    assert done.returncode == status, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def run_iri(stack: Stack) -> Iterator[str]:
    """A stack with a plan, a token and a run, which are removed at the end."""
    words = ("--period", "1s", "--plan", "kept", "--yes")
    stack.run("sample", "add", "kernel.all.load", *words)
    stack.run("token", "add", "ann", "--role", "reader")
    ((_, iri),) = runs(stack.run("observe", "--", "true").stderr)
    outcome(stack, iri)
    wait_until(lambda: stack.bridge().get("written"))
    yield iri
    stack.run("sample", "remove", "kept")
    stack.run("token", "revoke", "ann")
    stack.run("forget", iri, "--yes")


@pytest.fixture(scope="module")
def backup(
    stack: Stack, run_iri: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("backups") / "monday"
    stack.run("backup", str(folder))
    return folder


@pytest.fixture
def empty(stack: Stack, tmp_path: Path) -> Stack:
    """An empty machine with the name and the IRIs of the first."""
    env = environment(tmp_path / "home") | {"SUPERTWIN_BASE": stack.base}
    return Stack(tmp_path / "home", env)


@contextmanager
def servers_of(stack: Stack) -> Iterator[None]:
    """Fuseki and VictoriaMetrics alone: nobody changes what they hold."""
    script = ROOT / "tests/supertwin/servers_only.py"
    words = [*ENDS_WITH_US, sys.executable, str(script)]
    env = stack.env | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, cwd=ROOT, env=env) as process:
        try:
            wait_until(lambda: _all_healthy(stack), 120)
            yield
        finally:
            process.terminate()


def _all_healthy(stack: Stack) -> bool:
    if not (stack.home / "stack.json").exists():
        return False
    children = stack.children().values()
    return bool(children) and all(one["state"] == "healthy" for one in children)


def test_a_backup_is_restored_into_an_empty_machine(
    stack: Stack, run_iri: str, empty: Stack, tmp_path: Path
) -> None:
    until, folder = int(time.time()), tmp_path / "backup"
    wait_until(lambda: stack.seconds("kernel_all_load", until, until + 5))
    graphs = {name: dataset(stack, name) for name in DATASETS}
    stack.run("backup", str(folder))
    before = points(stack, until)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert not list((stack.home / "store/snapshots").iterdir())

    restore(empty, folder)
    with servers_of(empty):
        assert {name: dataset(empty, name) for name in DATASETS} == graphs
        assert points(empty, until) == before
    for name in ("observations", "access"):
        assert files(empty.home / name) == files(stack.home / name)

    empty.run("up")
    try:
        assert "kept" in empty.run("sample", "list").stdout
        assert empty.run("token", "list").stdout == stack.run("token", "list").stdout
        assert empty.sparql(f"SELECT ?p {{ <{run_iri}> ?p ?o }}")
        # Points that are sent again are stored once.
        assert points(empty, until) == before
    finally:
        empty.run("down")


def test_a_running_stack_is_not_restored_into(stack: Stack, backup: Path) -> None:
    said = restore(stack, backup, 2)
    assert f"the stack of {stack.home} runs: `supertwin down`" in said
    assert len(said.splitlines()) == 1


def test_a_folder_with_state_is_not_restored_into(empty: Stack, backup: Path) -> None:
    empty.home.mkdir()
    (empty.home / "cost.json").touch()
    said = restore(empty, backup, 2)
    assert f"{empty.home} is not empty: move it away, or set SUPERTWIN_HOME" in said


@pytest.mark.parametrize("damage", ["changed", "missing", "added"])
def test_a_damaged_backup_is_refused(
    empty: Stack, backup: Path, tmp_path: Path, damage: str
) -> None:
    copy = shutil.copytree(backup, tmp_path / "copy")
    if damage == "changed":
        with (copy / "twin.nq").open("ab") as file:
            file.write(b"\n")
    elif damage == "missing":
        (copy / "twin.nq").unlink()
    else:
        (copy / "more.nq").touch()
    said = restore(empty, copy, 2)
    name = "more.nq" if damage == "added" else "twin.nq"
    assert f"{copy} differs from its checksums ({name}): restore another" in said
    assert not empty.home.exists()


def test_any_folder_is_no_backup(empty: Stack, tmp_path: Path) -> None:
    assert f"{tmp_path} is not a backup" in restore(empty, tmp_path, 2)


def test_an_existing_folder_is_not_written_to(stack: Stack, backup: Path) -> None:
    before = files(backup)
    done = stack.run("backup", str(backup), check=False)
    assert done.returncode == 2
    assert f"{backup} exists: name a new folder" in done.stderr
    assert files(backup) == before


def test_a_backup_takes_a_running_stack(empty: Stack, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    done = run(empty.env, "backup", str(folder))
    assert done.returncode == 2
    assert "start the stack (`supertwin up`)" in done.stderr.splitlines()[-1]
    assert not list(tmp_path.glob("backup*"))
