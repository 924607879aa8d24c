"""Recorded runs that are not to be kept."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.observed import outcome, runs
from tests.servers import wait_until
from tests.stack import Stack

pytestmark = pytest.mark.e2e


def ran(stack: Stack, *words: str) -> list[str]:
    found = [iri for _, iri in runs(stack.run("observe", *words).stderr)]
    assert [outcome(stack, iri) for iri in found] == ["completed"] * len(found)
    return found


def known(stack: Stack) -> str:
    return stack.run("query", "observations/runs", "--format", "json").stdout


def still_open(stack: Stack) -> set[str]:
    return {path.stem for path in (stack.home / "observing").glob("*.json")}


def test_runs_are_forgotten_with_all_that_was_kept_of_them(stack: Stack) -> None:
    kept, *others = ran(stack, "--repeat", "3", "--", "echo", "geheim")
    folders = [stack.home / "observations" / iri.rpartition("/")[2] for iri in others]
    assert all("geheim" in (folder / "run.py").read_text() for folder in folders)
    done = stack.run("forget", others[0], folders[1].name)
    assert done.stdout == "".join(f"{one.name} is forgotten\n" for one in folders)
    assert not any(folder.exists() for folder in folders)
    assert kept in known(stack)
    assert not any(iri in known(stack) for iri in others)
    group = kept.rpartition("/")[2].rpartition("-")[0]
    assert kept.rpartition("/")[2] in stack.run("forget", group).stdout
    assert kept not in known(stack)
    again = stack.run("forget", group, check=False)
    assert (again.returncode, again.stdout) == (2, "")
    assert f"no run and no group '{group}' is recorded" in again.stderr


def test_what_others_are_judged_by_is_kept(stack: Stack) -> None:
    one, other = (ran(stack, "--", "true")[0] for _ in range(2))
    stack.run("baseline", "set", "to-keep", one)
    done = stack.run("forget", other, one, check=False)
    assert done.returncode == 2
    assert "`supertwin baseline remove to-keep` first" in done.stderr
    assert one in known(stack)
    assert other in known(stack)
    stack.run("baseline", "remove", "to-keep")
    assert len(stack.run("forget", one, other, one).stdout.splitlines()) == 2


def test_what_runs_is_not_forgotten(stack: Stack) -> None:
    with ThreadPoolExecutor(1) as pool:
        before = still_open(stack)
        words = ("observe", "--repeat", "2", "--", "sleep", "4")
        running = pool.submit(stack.run, *words)
        wait_until(lambda: still_open(stack) - before, what="a run")
        (group,) = still_open(stack) - before
        first = f"{stack.base}/observation/{group}-1"
        assert outcome(stack, first) == "completed"
        done = stack.run("forget", first, check=False)
        assert done.returncode == 2
        assert f"{group} still runs" in done.stderr
        assert len(runs(running.result().stderr)) == 2
    assert outcome(stack, f"{stack.base}/observation/{group}-2") == "completed"
    stack.run("forget", group)
