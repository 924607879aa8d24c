"""`supertwin observe` on a stack: what ran, how it ended, and what was sampled."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.observed import asked, outcome, plans, runs
from tests.servers import wait_until
from tests.sshd import Sshd
from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e

FAULTS = "import mmap; m = mmap.mmap(-1, 4096 * 20000); m[::4096] = bytes(20000)"


def observed(stack: Stack, *words: str, status: int = 0) -> list[tuple[str, str]]:
    """How each run ended, and its IRI, once all is recorded."""
    done = stack.run("observe", *words, check=False)
    assert done.returncode == status, done.stderr
    found = runs(done.stderr)
    for _, iri in found:
        outcome(stack, iri)
    return found


def test_a_pinned_run_is_sampled_and_found_again(stack: Stack) -> None:
    words = ("--pin", "compact", "--threads", "1", "--every", "10ms", "--tag", 'a "b"')
    metrics = ("--metrics", "kernel.percpu.cpu.user,mem.vmstat.pgfault")
    code = ("python3", "-c", f"{FAULTS}; import time; time.sleep(0.3)")
    ((how, iri),) = observed(stack, *words, *metrics, "--", *code)
    assert how == "completed"
    (found,) = asked(
        stack,
        f'<{iri}> st:observationTag "a \\"b\\"" ; st:exitStatus ?status ; '
        "st:pinningPolicy ?policy ; st:involvesThread ?thread ; st:minorFaults ?faults",
    )
    assert (found["status"], found["policy"]) == ("0", "compact")
    assert found["thread"].endswith("/thread/0")
    assert int(found["faults"]) >= 20000
    (total,) = asked(
        stack,
        f"<{iri}> st:hasSummary ?s . ?s st:ofMetric ?m ; st:totalValue ?total . "
        '?m st:samplerName "mem.vmstat.pgfault"',
    )
    assert float(total["total"]) >= 20000
    wait_until(lambda: plans(stack) == {"monitor"}, seconds=10)


def test_a_command_that_is_not_there_leaves_nothing(stack: Stack) -> None:
    before = asked(stack, "?run a st:ObservationInterface")
    done = stack.run(
        *("observe", "--metrics", "kernel.all.pswitch", "--", "/no/such"), check=False
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(
        "there is no command '/no/such': give its path, or mend PATH"
    )
    wait_until(lambda: plans(stack) == {"monitor"}, seconds=10)
    assert asked(stack, "?run a st:ObservationInterface") == before


def test_cpus_that_are_offline_are_refused_and_free_again(stack: Stack) -> None:
    before = asked(stack, "?run a st:ObservationInterface")
    for _ in range(2):
        done = stack.run("observe", "--cpus", "0,4000", "--", "true", check=False)
        assert done.returncode == 2
        assert done.stderr == "supertwin: CPUs 4000 are not online: choose others\n"
    assert asked(stack, "?run a st:ObservationInterface") == before


def test_what_forks_and_leaves_is_ended_and_named(stack: Stack) -> None:
    # It has its name once it is past setsid.
    late = "setsid sleep 987 & echo $!; sleep 0.3"
    done = stack.run("observe", "--", "sh", "-c", late)
    assert "supertwin: it left sleep behind, which was ended\n" in done.stderr
    assert not Path(f"/proc/{int(done.stdout)}").exists()
    ((how, _),) = runs(done.stderr)
    assert how == "completed"


@pytest.mark.parametrize(
    ("script", "status", "how"),
    [("exit 137", 137, "failed"), ("kill -9 $$", 137, "killed")],
)
def test_a_run_ends_as_it_ended(
    stack: Stack, script: str, status: int, how: str
) -> None:
    ((ended, iri),) = observed(stack, "--", "sh", "-c", script, status=status)
    assert ended == how
    assert outcome(stack, iri) == how


def test_a_run_that_takes_too_long(stack: Stack) -> None:
    words = ("--timeout", "0.3", "--", "sleep", "60")
    assert observed(stack, *words, status=143)[0][0] == "timed out"


def test_repetitions_are_a_group(stack: Stack) -> None:
    found = observed(stack, "--repeat", "3", "--", "true")
    assert len(found) == 3
    rows = asked(
        stack,
        f"<{found[0][1]}> st:runGroup ?g . ?run st:runGroup ?g ; st:repetition ?n",
    )
    assert {(row["run"], row["n"]) for row in rows} == {
        (iri, str(number)) for number, (_, iri) in enumerate(found, 1)
    }


def test_what_looks_like_shell_is_none(stack: Stack) -> None:
    text = "$(id) `id` \"quoted\" 'too'\nline; rm -rf $HOME"
    done = stack.run("observe", "--", "printf", "%s", text)
    assert done.stdout == text
    ((_, iri),) = runs(done.stderr)
    argv = f"<{iri}> st:argumentVector ?argv"
    wait_until(lambda: asked(stack, argv), seconds=20)
    (found,) = asked(stack, argv)
    assert json.loads(found["argv"]) == ["printf", "%s", text]


@pytest.mark.skipif(os.geteuid() != 0, reason="an sshd of its own needs root")
def test_a_run_on_another_host(near: Stack, there: Sshd) -> None:
    near.run("add", there.url(), "--host", "node9")
    words = ("--host", "node9", "--cpus", "0", "--env", "COLOUR=blue", "--tag", "far")
    code = "import os, socket; print(os.environ['COLOUR'], os.sched_getaffinity(0))"
    done = near.run("observe", *words, "--", "python3", "-c", code)
    assert done.stdout == "blue {0}\n"
    ((_, iri),) = runs(done.stderr)
    where = f"<{iri}> st:ofHost ?host ; st:involvesThread ?thread"
    wait_until(lambda: asked(near, where), seconds=20)
    (found,) = asked(near, where)
    assert found["host"].endswith("/twin/node9")
    assert found["thread"].endswith("/twin/node9/thread/0")


def test_the_host_is_not_this_one_and_has_no_address(stack: Stack) -> None:
    done = stack.run("observe", "--host", "nowhere", "--", "true", check=False)
    assert done.returncode == 2
    assert done.stderr == f"supertwin: no host 'nowhere'; known: {HOST}\n"


def affinities(stack: Stack) -> set[frozenset[int]]:
    """Which CPUs the threads of the stack's processes may use."""
    pids = [child["pid"] for child in stack.children().values() if child["pid"]]
    tasks = [
        int(path.name) for pid in pids for path in Path(f"/proc/{pid}/task").iterdir()
    ]
    return {frozenset(os.sched_getaffinity(task)) for task in tasks}


def test_nothing_of_ours_runs_on_the_command_s_cpus(stack: Stack) -> None:
    before = affinities(stack)
    (all_cpus,) = before
    if len(all_cpus) < 2:
        pytest.fail("this test needs a machine with two CPUs")
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(observed, stack, "--cpus", "0", "--", "sleep", "2")
        wait_until(lambda: affinities(stack) == {all_cpus - {0}}, seconds=5)
        run.result()
    wait_until(lambda: affinities(stack) == before, seconds=5)
