"""`supertwin observe --srun`: a real Slurm starts the command."""

import os
import signal

import pytest

from tests.observed import asked, observing, outcome, runs, statistics, wait_for_line
from tests.servers import wait_until
from tests.slurm import Slurm
from tests.sshd import Sshd
from tests.stack import Stack

pytestmark = pytest.mark.e2e

_CPUS = "import os; print(sorted(os.sched_getaffinity(0)), os.environ['SLURM_JOB_ID'])"


def run(
    stack: Stack, slurm: Slurm, *words: str, options: str = "-p test"
) -> tuple[int, str, str]:
    """Return the exit status, stdout and stderr."""
    env = {**stack.env, **slurm.env}
    with observing(stack, "--srun", options, *words, env=env) as process:
        out, error = process.communicate(timeout=120)
    return process.returncode, out, error


def test_slurm_starts_a_pinned_and_sampled_run(stack: Stack, slurm: Slurm) -> None:
    pinned = ("--pin", "compact", "--threads", "1", "--metrics", "kernel.all.pswitch")
    command = ("python3", "-c", _CPUS)
    status, out, error = run(stack, slurm, *pinned, "--", *command)
    assert status == 0, error
    cpus, job = out.rsplit(maxsplit=1)
    assert cpus == "[0]"
    job_state = slurm.output_of("scontrol", "show", "job", job, "--oneliner")
    assert "JobState=COMPLETED" in job_state
    ((how, iri),) = runs(error)
    assert outcome(stack, iri) == how == "completed"
    (found,) = asked(
        stack, f"<{iri}> st:involvesThread ?thread ; st:exitStatus ?status"
    )
    assert found["thread"].endswith("/thread/0")
    assert float(statistics(stack, iri)[0]["total"]) > 0


def test_exit_status_and_repetitions_through_slurm(stack: Stack, slurm: Slurm) -> None:
    words = ("--repeat", "2", "--cpus", "1", "--", "sh", "-c", "echo once; exit 3")
    status, out, error = run(stack, slurm, *words)
    assert (status, out) == (3, "once\nonce\n")
    assert [how for how, _ in runs(error)] == ["failed", "failed"]


def test_interrupt_ends_the_job(stack: Stack, slurm: Slurm) -> None:
    env = {**stack.env, **slurm.env}
    command = ("sh", "-c", "echo ready; exec sleep 987")
    with observing(stack, "--srun", "", "--", *command, env=env) as process:
        wait_for_line(process, "ready")
        assert slurm.output_of("squeue", "-h", "-o", "%T") == "RUNNING"
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM, error
    assert [how for how, _ in runs(error)] == ["cancelled"]
    wait_until(lambda: not slurm.output_of("squeue", "-h"), what="no job is left")


@pytest.mark.skipif(os.geteuid() != 0, reason="an sshd of its own needs root")
def test_slurm_starts_a_run_on_a_host_of_the_fleet(
    near: Stack, there: Sshd, slurm: Slurm
) -> None:
    near.run("add", there.url(), "--host", "node9")
    words = ("--host", "node9", "--cpus", "0", "--", "python3", "-c", _CPUS)
    status, out, error = run(near, slurm, *words)
    assert status == 0, error
    assert out.startswith("[0] ")
    ((_, iri),) = runs(error)
    assert outcome(near, iri) == "completed"
    (found,) = asked(near, f"<{iri}> st:ofHost ?host")
    assert found["host"].endswith("/twin/node9")


def test_refusal_of_slurm_is_shown(stack: Stack, slurm: Slurm) -> None:
    before = asked(stack, "?run a st:ObservationInterface")
    status, _, error = run(stack, slurm, "--", "true", options="-p nowhere")
    assert status == 2
    assert "Invalid partition name specified" in error
    assert asked(stack, "?run a st:ObservationInterface") == before


def test_missing_slurm_is_reported(stack: Stack) -> None:
    env = {**stack.env, "PATH": "/no/such"}
    for options, words in (("", "no srun on PATH"), ("'-p", "No closing quotation")):
        with observing(stack, "--srun", options, "--", "true", env=env) as process:
            _, error = process.communicate(timeout=120)
        assert process.returncode == 2
        (line,) = error.splitlines()
        assert words in line
