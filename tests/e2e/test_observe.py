"""`supertwin observe` on a stack: what runs, how it ends and what is sampled."""

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from observations.session.cpus import CpuShield
from tests.e2e.launched_runs import begun
from tests.observed import asked, observing, operator, outcome, plans, runs
from tests.servers import ROOT, wait_until
from tests.sshd import Sshd
from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e

# A line of PMCD's log: root           1 30610   6   7   2 bin pipe cmd=…
_AGENT = re.compile(r"^\w+ +\d+ +(\d+) +\d+ +\d+ +\d+ +bin pipe", re.MULTILINE)
FAULTS = "import mmap; m = mmap.mmap(-1, 4096 * 20000); m[::4096] = bytes(20000)"


def observed(stack: Stack, *words: str, status: int = 0) -> list[tuple[str, str]]:
    """Return the outcome and IRI of each run, once all are recorded."""
    done = stack.run("observe", *words, check=False)
    assert done.returncode == status, done.stderr
    found = runs(done.stderr)
    for _, iri in found:
        outcome(stack, iri)
    return found


def test_pinned_run_is_sampled_and_recorded(stack: Stack) -> None:
    words = ("--pin", "compact", "--threads", "1", "--every", "100ms", "--tag", 'a "b"')
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
    wait_until(lambda: plans(stack) == {"monitor"})


def test_missing_command_leaves_nothing(stack: Stack) -> None:
    before = asked(stack, "?run a st:ObservationInterface")
    done = stack.run(
        *("observe", "--metrics", "kernel.all.pswitch", "--", "/no/such"), check=False
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(
        "there is no command '/no/such': give its path, or fix PATH [launch-failed]"
    )
    wait_until(lambda: plans(stack) == {"monitor"})
    assert asked(stack, "?run a st:ObservationInterface") == before


def test_offline_cpus_are_refused_and_released(stack: Stack) -> None:
    before = asked(stack, "?run a st:ObservationInterface")
    for _ in range(2):
        done = stack.run("observe", "--cpus", "0,4000", "--", "true", check=False)
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert line == (
            "supertwin: CPUs 4000 are not online: choose others [launch-failed]"
        )
    assert asked(stack, "?run a st:ObservationInterface") == before


def test_missing_folder_is_refused(stack: Stack) -> None:
    done = stack.run("observe", "--cwd", "/no/such", "--", "true", check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "supertwin: the folder '/no/such' cannot be entered: No such file or directory "
        "[launch-failed]\n"
    )


def test_detached_child_is_killed_and_reported(stack: Stack) -> None:
    # The process is named sleep only after setsid has executed it.
    waits = "until grep -q sleep /proc/$!/comm; do sleep 0.05; done"
    late = f"setsid sleep 987 & echo $!; {waits}"
    done = stack.run("observe", "--", "sh", "-c", late)
    assert "supertwin: it left sleep behind, which was ended\n" in done.stderr
    assert not Path(f"/proc/{int(done.stdout)}").exists()
    ((how, _),) = runs(done.stderr)
    assert how == "completed"


@pytest.mark.parametrize(
    ("script", "status", "how"),
    [("exit 137", 137, "failed"), ("kill -9 $$", 137, "killed")],
)
def test_outcome_of_the_command_is_recorded(
    stack: Stack, script: str, status: int, how: str
) -> None:
    ((ended, iri),) = observed(stack, "--", "sh", "-c", script, status=status)
    assert ended == how
    assert outcome(stack, iri) == how


def test_run_over_its_timeout_is_ended(stack: Stack) -> None:
    words = ("--timeout", "0.3", "--", "sleep", "60")
    assert observed(stack, *words, status=143)[0][0] == "timed out"


def test_repetitions_form_a_group(stack: Stack) -> None:
    found = observed(stack, "--repeat", "3", "--", "true")
    assert len(found) == 3
    rows = asked(
        stack,
        f"<{found[0][1]}> st:runGroup ?g . ?run st:runGroup ?g ; st:repetition ?n",
    )
    assert {(row["run"], row["n"]) for row in rows} == {
        (iri, str(number)) for number, (_, iri) in enumerate(found, 1)
    }


def test_arguments_are_not_interpreted_by_a_shell(stack: Stack) -> None:
    text = "$(id) `id` \"quoted\" 'too'\nline; rm -rf $HOME"
    done = stack.run("observe", "--", "printf", "%s", text)
    assert done.stdout == text
    ((_, iri),) = runs(done.stderr)
    argv = f"<{iri}> st:argumentVector ?argv"
    wait_until(lambda: asked(stack, argv))
    (found,) = asked(stack, argv)
    assert json.loads(found["argv"]) == ["printf", "%s", text]


@pytest.mark.skipif(os.geteuid() != 0, reason="an sshd of its own needs root")
def test_run_on_another_host_is_recorded(near: Stack, there: Sshd) -> None:
    near.run("add", there.url(), "--host", "node9")
    words = ("--host", "node9", "--cpus", "0", "--env", "COLOUR=blue", "--tag", "far")
    code = "import os, socket; print(os.environ['COLOUR'], os.sched_getaffinity(0))"
    done = near.run("observe", *words, "--", "python3", "-c", code)
    assert done.stdout == "blue {0}\n"
    ((_, iri),) = runs(done.stderr)
    where = f"<{iri}> st:ofHost ?host ; st:involvesThread ?thread"
    wait_until(lambda: asked(near, where))
    (found,) = asked(near, where)
    assert found["host"].endswith("/twin/node9")
    refused = near.run("observe", "--host", "node9", "--", "/no/such", check=False)
    assert refused.returncode == 2
    assert refused.stderr.endswith("give its path, or fix PATH [launch-failed]\n")
    assert found["thread"].endswith("/twin/node9/thread/0")


def test_other_host_without_an_address_is_refused(stack: Stack) -> None:
    done = stack.run("observe", "--host", "nowhere", "--", "true", check=False)
    assert done.returncode == 2
    assert (
        done.stderr == f"supertwin: no host 'nowhere'; known: {HOST} [unknown-host]\n"
    )


def parents() -> dict[int, int]:
    """Return the parent of every process."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text(errors="replace").rpartition(") ")[2].split()
            found[int(path.parent.name)] = int(fields[1])
    return found


def ours(stack: Stack, *more: int, but: int = 0) -> set[int]:
    """Return the stack's processes and those below ``more``, without a command's."""
    above = parents()
    state = json.loads((stack.home / "stack.json").read_text())
    agents = set(
        map(int, _AGENT.findall((stack.home / "pmcd/log/pmcd.log").read_text()))
    )
    assert agents
    roots = {state["pid"], *more, *agents}

    def is_ours(pid: int) -> bool:
        # Agents start other agents, also those of other PMCDs on this machine.
        strange = {0, but, *agents, state["children"]["pmcd"]["pid"]}
        parent = above.get(pid, 0)
        return pid in roots or (
            pid != but and parent not in strange and is_ours(parent)
        )

    return {pid for pid in above if is_ours(pid)}


def affinities(pids: set[int]) -> set[frozenset[int]]:
    """Return the sets of CPUs that the threads of processes may use."""
    found = set()
    for pid in pids:
        with suppress(OSError):
            tasks = [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
            found |= {frozenset(os.sched_getaffinity(task)) for task in tasks}
    return found


def names(pids: set[int]) -> set[str]:
    return {Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids}


def test_own_processes_leave_the_cpus_of_the_command(stack: Stack) -> None:
    (all_cpus,) = before = affinities(ours(stack))
    if len(all_cpus) < 2:
        pytest.fail("this test needs a machine with two CPUs")
    assert {"pmcd", "pmdalinux", "java"} <= names(ours(stack))

    def are_aside(command: int, *more: int) -> bool:
        found = ours(stack, *more, but=command)
        assert parents()[command] in found
        return affinities(found) == {all_cpus - {0}}

    script = ("sh", "-c", "echo $$; exec sleep 60")
    with observing(stack, "--wait", "--cpus", "0", "--", *script) as process:
        assert process.stdout
        command = int(process.stdout.readline())
        wait_until(lambda: are_aside(command, process.pid), what="all stepped aside")
        assert affinities({command}) == {frozenset({0})}
        process.terminate()
        process.wait(120)
    wait_until(lambda: affinities(ours(stack)) == before, what="all came back")
    with operator(stack, "mover") as client:
        one = begun(client, *script, cpus="0", wait=True)
        command = int(started(stack, one["id"])["pid"])
        wait_until(lambda: are_aside(command), what="all stepped aside again")
        client.delete(f"/observations/{one['id']}")
    wait_until(lambda: affinities(ours(stack)) == before, what="all came back again")


def started(stack: Stack, id_: str) -> dict[str, Any]:
    """Return the first event of an observation's runner."""
    events = stack.home / "observations" / id_ / "events.jsonl"
    wait_until(lambda: events.exists() and events.read_text())
    found: dict[str, Any] = json.loads(events.read_text().splitlines()[0])
    return found


def test_runner_and_attendant_leave_cpus_reserved_later(stack: Stack) -> None:
    """The test updates the CPU shield as another run with its own CPUs would."""
    script = ("sh", "-c", "echo $$; exec sleep 60")
    with observing(stack, "--wait", "--", *script) as process:
        assert process.stdout
        command = int(process.stdout.readline())
        shown = stack.get("/observations/running").json()
        (one,) = [one for one in shown if one["state"] == "running"]
        first = started(stack, one["id"])
        both = {process.pid, parents()[command]}
        (before,) = affinities(both)
        aside = CpuShield(Path("/nowhere"))
        aside.update({0}, [first])
        assert affinities(both) == {before - {0}}
        assert affinities({command}) == {before}
        aside.update(before, [first])
        assert affinities(both) == {before}
        aside.update({1}, [{**first, "start_ticks": 1}])
        assert affinities(both) == {before}
        process.terminate()
        process.wait(120)


def test_without_chosen_cpus_the_affinity_of_the_shell_is_kept(stack: Stack) -> None:
    code = "import os; print(*os.sched_getaffinity(0))"
    for words, printed in (("--repeat", "2"), "1\n1\n"), (("--cpus", "0"), "0\n"):
        shell = ("taskset", "-c", "1", sys.executable, "-m", "supertwin", "observe")
        done = subprocess.run(
            [*shell, "--wait", *words, "--", sys.executable, "-c", code],
            cwd=ROOT,
            env=stack.env,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (done.returncode, done.stdout) == (0, printed), done.stderr


_IMPATIENT = (
    "from supertwin.cli import api_client; api_client._SECONDS = 3.0; "
    "import runpy; runpy.run_module('supertwin', run_name='__main__')"
)


def test_queued_client_waits_beyond_the_answer_timeout(stack: Stack) -> None:
    with operator(stack, "patient") as client:
        # Retry if the machine delayed an answer by more than the client's patience.
        for _ in range(3):
            first = begun(client, "sleep", "6", cpus="0", wait=True)
            done = subprocess.run(
                [sys.executable, "-c", _IMPATIENT, "observe", "--wait", "--cpus", "0"]
                + ["--", "true"],
                cwd=ROOT,
                env=stack.env,
                capture_output=True,
                text=True,
                timeout=120,
            )
            if done.returncode == 0:
                break
        assert done.returncode == 0, done.stderr
        assert [how for how, _ in runs(done.stderr)] == ["completed"]
        assert client.get(f"/observations/{first['id']}").json()["state"] == "over"
