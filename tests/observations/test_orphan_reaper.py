"""A runner on this machine is killed with SIGKILL while its command has children."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from observations.errors import RunLostError
from observations.launch import events, prestarted_runner, program
from observations.orphan_reaper import end_orphans
from tests.servers import ENDS_WITH_US

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def killed_runner(script: str, until: str) -> tuple[set[int], str]:
    """Descendants of a runner killed after an event, and the reason then reported."""
    with prestarted_runner(ENVIRONMENT) as runner:
        runner.start(program({"argv": ["sh", "-c", script]}))
        received = events(runner)
        leader = next(received)["pid"]
        while next(received)["event"] != until:
            pass
        boss = parent(leader)
        pids = {pid for pid in numbers() if boss in ancestors(pid)}
        os.kill(boss, signal.SIGKILL)
        with pytest.raises(RunLostError) as broke:
            list(received)
    return pids, str(broke.value)


def numbers() -> list[int]:
    return [int(path.name) for path in Path("/proc").glob("[0-9]*")]


def fields(pid: int) -> list[str]:
    """The fields of a process in /proc/PID/stat, from its state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()


def lives(pid: int) -> bool:
    with suppress(OSError):
        return fields(pid)[0] != "Z"
    return False


def parent(pid: int) -> int:
    with suppress(OSError):
        return int(fields(pid)[1])
    return 0


def ancestors(pid: int) -> Iterator[int]:
    while pid := parent(pid):
        yield pid


@pytest.mark.parametrize(
    ("script", "until"),
    [
        # Known by its session, or named by a beat and in a session of its own.
        ("sleep 987 & echo ready; wait", "output"),
        ("setsid sh -c 'sleep 987 & setsid sleep 987' & wait", "alive"),
    ],
)
def test_runner_that_is_killed_leaves_nothing_behind(script: str, until: str) -> None:
    pids, why = killed_runner(script, until)
    assert len(pids) >= 2
    assert "broke off" in why
    assert not [pid for pid in pids if lives(pid)]


def test_process_with_a_reused_pid_is_left_alone() -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    words = [*ENDS_WITH_US, "sleep", "987"]
    other = subprocess.Popen(words, start_new_session=True)
    try:
        ticks = int(fields(other.pid)[19])
        started = {"pid": other.pid, "start_ns": 0, "exec_ns": 0}
        for start, where in (ticks, "another"), (ticks - 9000, boot):
            last = {"pids": [other.pid], "starts": [start], "ns": 0}
            end_orphans({**started, "start_ticks": start, "boot": where}, last)
            assert lives(other.pid)
        end_orphans({**started, "start_ticks": ticks, "boot": boot}, {})
        assert not lives(other.pid)
    finally:
        other.kill()
        other.wait()


def test_process_of_another_user_is_not_killed() -> None:
    """A command can make its runner name any process as its own."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as other:
        fields = Path(f"/proc/{other.pid}/stat").read_bytes().rpartition(b") ")[2]
        start = int(fields.split()[19])
        began = {"pid": other.pid, "start_ticks": start, "boot": boot}
        started = {**began, "start_ns": 0, "exec_ns": 0}
        end_orphans(started, {}, os.geteuid() + 1)
        assert other.poll() is None
        end_orphans(started, {}, os.geteuid())
        assert other.wait(120) == -signal.SIGKILL
