"""A backup of a running stack, restored into an empty state folder and compared."""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from observations.record import plan_of
from queries.versions import Condition, QueryVersions
from tests.api.added_query import TEXT
from tests.cable import Cable
from tests.command_line import run
from tests.e2e.launched_runs import begun, recorded
from tests.observed import forget, outcome, plans, runs
from tests.sampler_bridge.servers import BridgeProcess
from tests.servers import ENDS_WITH_US, ROOT, wait_until
from tests.stack import HOST, Stack, environment

pytestmark = pytest.mark.e2e

DATASETS = ("twin", "history")
_BLANK = re.compile(r"_:\w+")


def quads(text: str) -> list[str]:
    """Return the lines of N-Quads; labels of blank nodes change with each load."""
    return sorted(_BLANK.sub("_:b", line) for line in text.splitlines())


def dataset(stack: Stack, name: str) -> list[str]:
    url, headers = f"{stack.fuseki}/{name}/data", {"Accept": "application/n-quads"}
    return quads(httpx.get(url, headers=headers, timeout=120).raise_for_status().text)


def points(stack: Stack, until: int) -> int:
    """Count the points in the store up to a Unix time."""
    httpx.get(f"{stack.store}/internal/force_flush")
    query = 'sum(count_over_time({hostname!=""}[1h]))'
    asked = {"query": query, "time": str(until), "nocache": "1"}
    answer = httpx.get(f"{stack.store}/api/v1/query", params=asked).json()
    return int(answer["data"]["result"][0]["value"][1])


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    kept = (path for path in found if path.suffix != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept}


def unchanged(stack: Stack, folder: str) -> dict[str, bytes]:
    """Return the files of a run that stay unchanged once the run has begun."""
    kept = files(stack.home / folder)
    return {name: text for name, text in kept.items() if not name.endswith(".jsonl")}


def restore(stack: Stack, folder: Path, status: int = 0) -> str:
    done = stack.run("restore", str(folder), check=False)
    assert done.returncode == status, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def run_iri(stack: Stack) -> Iterator[str]:
    """Add a plan, a token and a run to the stack; remove them at the end."""
    words = ("--period", "1s", "--plan", "kept", "--yes")
    stack.run("sample", "add", "kernel.all.load", *words)
    stack.run("token", "add", "ann", "--role", "reader")
    QueryVersions(stack.home / "queries").put("mine/kept", TEXT, Condition())
    ((_, iri),) = runs(stack.run("observe", "--", "true").stderr)
    outcome(stack, iri)
    wait_until(lambda: stack.bridge().get("written"))
    yield iri
    stack.run("sample", "remove", "kept")
    stack.run("token", "revoke", "ann")
    shutil.rmtree(stack.home / "queries")
    forget(stack, iri)


@pytest.fixture
def open_run(stack: Stack, operator: httpx.Client) -> Iterator[str]:
    """Return the id of a sampled run that continues while a backup is made."""
    sampled = {"metrics": ["kernel.all.pswitch"], "every": "1s"}
    id_ = begun(operator, "sleep", "1000", **sampled)["id"]
    events = stack.home / "observations" / id_ / "events.jsonl"
    wait_until(lambda: events.exists() and '"pids"' in events.read_text())
    yield id_
    operator.delete(f"/observations/{id_}")


@pytest.fixture(scope="module")
def backup(
    stack: Stack, run_iri: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("backups") / "monday"
    stack.run("backup", str(folder))
    return folder


@pytest.fixture
def empty(stack: Stack, tmp_path: Path) -> Stack:
    """Return an empty state folder with the name and the IRIs of the first stack."""
    env = environment(tmp_path / "home") | {"SUPERTWIN_BASE": stack.base}
    return Stack(tmp_path / "home", env)


@contextmanager
def servers_of(stack: Stack) -> Iterator[None]:
    """Run Fuseki and VictoriaMetrics only, so that nothing changes their data."""
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


def test_backup_is_restored_into_an_empty_machine(
    stack: Stack,
    run_iri: str,
    open_run: str,
    operator: httpx.Client,
    empty: Stack,
    tmp_path: Path,
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
    for name in ("access", "pmu/agent"):
        assert files(empty.home / name) == files(stack.home / name) != {}
    for id_ in (run_iri.rpartition("/")[2], open_run):
        name = f"observations/{id_}"
        assert files(empty.home / name).items() >= unchanged(stack, name).items()

    empty.run("up")
    try:
        assert "kept" in empty.run("sample", "list").stdout
        assert "mine/kept" in empty.run("query", "--help").stdout
        assert QueryVersions(empty.home / "queries").version("mine/kept", 1) == TEXT
        assert empty.run("token", "list").stdout == stack.run("token", "list").stdout
        assert empty.sparql(f"SELECT ?p {{ <{run_iri}> ?p ?o }}")
        # Points that are sent twice are stored once.
        assert points(empty, until) == before
        # The command belongs to the first stack: the second neither ends nor runs it.
        assert plan_of(open_run) in plans(empty)
        operator.delete(f"/observations/{open_run}").raise_for_status()
        assert recorded(operator, f"{stack.base}/observation/{open_run}") == "cancelled"
        # The second stack cannot follow the run, so it records "broke off".
        assert outcome(empty, f"{stack.base}/observation/{open_run}") == "broke off"
        wait_until(lambda: plan_of(open_run) not in plans(empty))
        wait_until(lambda: not list((empty.home / "observing").iterdir()))
    finally:
        empty.run("down")


@pytest.mark.serial
def test_backup_contains_points_that_wait_for_the_store(
    empty: Stack, tmp_path: Path
) -> None:
    """The bridge cannot reach the store while the backup is made."""
    first, folder = Stack(tmp_path / "first", environment(tmp_path / "first")), tmp_path
    with ExitStack() as stack:
        stack.enter_context(servers_of(first))
        cable = stack.enter_context(Cable(int(first.env["SUPERTWIN_STORE_PORT"])))
        direct = first.store.rpartition("@")[2]
        store = first.store.replace(direct, cable.address)
        pmcd = f"unix://{first.home / 'pmcd/run/pmcd.socket'}"
        bridge = BridgeProcess(
            tmp_path / "bridge",
            pmcd,
            store,
            host=HOST,
            state=str(first.home / "bridge"),
        )
        bridge.state = first.home / "bridge"
        stack.callback(bridge.clean)
        bridge.sample(["kernel.all.load", "kernel.all.pswitch"], 0.1)
        bridge.wait_for(lambda status: status["written"] > 20)
        cable.silence()
        bridge.wait_for(lambda status: status["queue"]["points"] > 20)
        until = int(time.time()) + 1
        bridge.wait_for(lambda status: status["last_tick_ms"] > until * 1000)
        sent = points(first, until)
        first.run("backup", str(folder / "backup"))
        assert points(first, until) == sent
        cable.fix()
        bridge.wait_for(lambda status: not status["queue"]["points"])
        all_of_them = points(first, until)
        assert all_of_them > sent + 20
    restore(empty, folder / "backup")
    empty.run("up")
    try:
        wait_until(lambda: empty.bridge().get("written"))
        wait_until(lambda: points(empty, until) >= all_of_them)
        wait_until(lambda: not empty.bridge()["queue"]["points"])
        assert points(empty, until) == all_of_them
    finally:
        empty.run("down")


def test_restore_into_a_running_stack_is_refused(stack: Stack, backup: Path) -> None:
    output = restore(stack, backup, 2)
    assert f"the stack of {stack.home} runs: `supertwin down`" in output
    assert len(output.splitlines()) == 1


def test_restore_into_a_folder_with_state_is_refused(
    empty: Stack, backup: Path
) -> None:
    empty.home.mkdir()
    (empty.home / "cost.json").touch()
    output = restore(empty, backup, 2)
    assert f"{empty.home} is not empty: move it away, or set SUPERTWIN_HOME" in output


@pytest.mark.parametrize("damage", ["changed", "missing", "added"])
def test_damaged_backup_is_refused(
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
    output = restore(empty, copy, 2)
    name = "more.nq" if damage == "added" else "twin.nq"
    assert f"{copy} differs from its checksums ({name}): restore another" in output
    assert not empty.home.exists()


def test_arbitrary_folder_is_not_a_backup(empty: Stack, tmp_path: Path) -> None:
    assert "[bad-backup]" in restore(empty, tmp_path, 2)


def test_backup_into_an_existing_folder_is_refused(stack: Stack, backup: Path) -> None:
    before = files(backup)
    done = stack.run("backup", str(backup), check=False)
    assert done.returncode == 2
    assert "[backup-exists]" in done.stderr
    assert files(backup) == before


def test_backup_needs_a_running_stack(empty: Stack, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    done = run(empty.env, "backup", str(folder))
    assert done.returncode == 2
    assert "[not-running]" in done.stderr.splitlines()[-1]
    assert not list(tmp_path.glob("backup*"))
