"""Recorded runs are forgotten, and refused runs leave no secret."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.launched_runs import begun, followed
from tests.live_files import contents
from tests.observed import forget, operator, outcome, runs, wait_until_closed
from tests.servers import wait_until
from tests.stack import Stack

pytestmark = pytest.mark.e2e


def ran(stack: Stack, *words: str) -> list[str]:
    found = [iri for _, iri in runs(stack.run("observe", *words).stderr)]
    assert [outcome(stack, iri) for iri in found] == ["completed"] * len(found)
    wait_until_closed(stack, *found)
    return found


def known(stack: Stack) -> str:
    return stack.run("query", "observations/runs", "--format", "json").stdout


def still_open(stack: Stack) -> set[str]:
    return {path.stem for path in (stack.home / "observing").glob("*.json")}


def test_forget_removes_runs_and_their_files(stack: Stack) -> None:
    kept, *others = ran(stack, "--repeat", "3", "--", "echo", "geheim")
    folders = [stack.home / "observations" / iri.rpartition("/")[2] for iri in others]
    assert all("geheim" in (folder / "run.py").read_text() for folder in folders)
    done = stack.run("forget", "--yes", others[0], folders[1].name)
    assert done.stdout == "".join(f"{one.name} is forgotten\n" for one in folders)
    assert not any(folder.exists() for folder in folders)
    assert kept in known(stack)
    assert not any(iri in known(stack) for iri in others)
    group = kept.rpartition("/")[2].rpartition("-")[0]
    assert kept.rpartition("/")[2] in stack.run("forget", "--yes", group).stdout
    assert kept not in known(stack)
    again = stack.run("forget", "--yes", group, check=False)
    assert (again.returncode, again.stdout) == (2, "")
    assert "[no-such-observation]" in again.stderr


def test_baseline_is_not_forgotten(stack: Stack) -> None:
    one, other = (ran(stack, "--", "true")[0] for _ in range(2))
    stack.run("baseline", "set", "to-keep", one)
    done = stack.run("forget", "--yes", other, one, check=False)
    assert done.returncode == 2
    assert "[run-in-baseline]" in done.stderr
    assert one in known(stack)
    assert other in known(stack)
    stack.run("baseline", "remove", "to-keep")
    assert len(stack.run("forget", "--yes", one, other, one).stdout.splitlines()) == 2


def test_active_run_is_not_forgotten(stack: Stack) -> None:
    with ThreadPoolExecutor(1) as pool:
        before = still_open(stack)
        words = ("observe", "--repeat", "2", "--", "sleep", "4")
        running = pool.submit(stack.run, *words)
        wait_until(lambda: still_open(stack) - before, what="a run")
        (group,) = still_open(stack) - before
        first = f"{stack.base}/observation/{group}-1"
        assert outcome(stack, first) == "completed"
        done = stack.run("forget", "--yes", first, check=False)
        assert done.returncode == 2
        assert "[run-active]" in done.stderr
        assert len(runs(running.result().stderr)) == 2
    assert outcome(stack, f"{stack.base}/observation/{group}-2") == "completed"
    forget(stack, group)


def holding(home: Path, secret: str) -> list[Path]:
    """Return the files of a folder that contain a text."""
    return [path for path, text in contents(home) if secret.encode() in text]


def test_refused_run_leaves_no_secret(stack: Stack) -> None:
    secret = "of-a-run-that-was-refused"
    for more in ((), ("--repeat", "3")):
        words = ("--env", f"API_KEY={secret}", *more, "--", "no-such-command")
        done = stack.run("observe", *words, check=False)
        assert done.returncode == 2
        assert "[launch-failed]" in done.stderr
        wait_until(lambda: not holding(stack.home, secret), what="nothing is kept")


def test_launched_run_that_is_refused_leaves_no_secret(stack: Stack) -> None:
    secret = "of-a-launch-that-was-refused"
    with operator(stack, "refused") as client:
        run = begun(client, "no-such-command", env={"API_KEY": secret})
        received = followed(client, run["id"])
    assert received[-1]["errorCode"] == "launch-failed"
    wait_until(lambda: not holding(stack.home, secret), what="nothing is kept")


def left_behind(stack: Stack, id_: str, **more: str) -> Path:
    folder = stack.home / "observations" / id_
    folder.mkdir(parents=True)
    # The name on disk: runs of earlier builds have it, too.
    path = folder / "wish.json"  # codespell:ignore wish
    path.write_text(json.dumps({"group": "", **more}))
    return folder


def test_run_without_record_is_forgotten_by_its_folder(stack: Stack) -> None:
    alone = left_behind(stack, "20260101T000000Z-abcdef")
    group = "20260101T000000Z-123456"
    both = [left_behind(stack, f"{group}-{n}", group=group) for n in (1, 2)]
    other = left_behind(stack, f"{group}-3", group="another")
    aside = stack.home / "observing" / f"{group}.set-aside"
    aside.write_text("{}")
    done = stack.run("forget", "--yes", alone.name, group)
    names = [group, *(path.name for path in both), alone.name]
    assert done.stdout == "".join(f"{name} is forgotten\n" for name in names)
    assert not any(path.exists() for path in (alone, *both, aside))
    assert (
        stack.run("forget", "--yes", other.name).stdout
        == f"{other.name} is forgotten\n"
    )
    outside = stack.run("forget", "--yes", "..", check=False)
    assert outside.returncode == 2
    assert stack.home.exists()
