"""The runner as a process of its own, with real commands that misbehave."""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from observations.command_streams import HELD
from observations.launch import program_start
from tests.servers import wait_until

Event = Mapping[str, Any]


def program(request: Mapping[str, Any]) -> bytes:
    return program_start() + f"\nraise SystemExit(run({dict(request)!r}))\n".encode()


def run(*argv: str, **request: Any) -> list[Event]:
    """All events that the runner reports for a command."""
    done = subprocess.run(
        [sys.executable, "-I", "-"],
        input=program({"argv": list(argv), **request}),
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.stderr == b""
    return list(map(json.loads, done.stdout.splitlines()))


def sh(script: str, **request: Any) -> Event:
    """The last event of a shell script."""
    return run("sh", "-c", script, **request)[-1]


def head(event: Event, stream: str = "stdout") -> bytes:
    return base64.b64decode(event["output"][stream]["head"])


@pytest.fixture
def started() -> Iterator[Any]:
    """Starts a runner whose lines the test reads."""
    running = []

    def start(*argv: str, **request: Any) -> subprocess.Popen[bytes]:
        text = program({"argv": list(argv), **request}).decode()
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", text, HELD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_arguments_and_output_are_unchanged() -> None:
    words = ["a'b\"c", "$(id) `id` ; id", "two\nlines", "\\", "ünïcode", ""]
    events = run("printf", "%s|", *words)
    assert [event["event"] for event in events] == ["started", "output", "ended"]
    assert head(events[-1]).decode() == "|".join([*words, ""])
    assert base64.b64decode(events[1]["data"]) == head(events[-1])
    assert events[-1]["exit"] == 0


def test_times_and_identity_are_recorded() -> None:
    before = time.time_ns()
    first, last = run("sh", "-c", "sleep 0.2")
    assert before < first["start_ns"] < first["exec_ns"] < last["end_ns"]
    assert last["end_ns"] - first["start_ns"] >= 200_000_000
    assert last["end_ns"] < time.time_ns()
    assert first["pid"] > 1
    assert first["boot"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    ticks = os.sysconf("SC_CLK_TCK") * time.clock_gettime(time.CLOCK_BOOTTIME)
    assert 0 < first["start_ticks"] <= ticks


@pytest.mark.parametrize(
    ("script", "exit_", "signal_"),
    [("exit 3", 3, None), ("exit 137", 137, None), ("kill -9 $$", None, 9)],
)
def test_exit_status_is_distinguished_from_a_signal(
    script: str, exit_: int | None, signal_: int | None
) -> None:
    ended = sh(script)
    assert (ended["exit"], ended["signal"]) == (exit_, signal_)
    assert not ended["timed_out"]
    assert not ended["cancelled"]


def test_impossible_command_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program")
    absent = max(os.sched_getaffinity(0)) + 4096
    for argv, request, words in [
        (["no-such-command"], {}, "there is no command 'no-such-command'"),
        ([str(text)], {}, "cannot be run: Permission denied"),
        (["true"], {"cwd": "/no/such"}, "'/no/such' cannot be entered"),
        (["true"], {"cpus": [0, absent]}, f"CPUs {absent} are not online"),
        (["true", "x" * (1 << 18)], {}, "too long"),
    ]:
        (event,) = run(*argv, **request)
        assert event["event"] == "refused"
        assert words in event["reason"]


def test_folder_must_be_below_an_allowed_one(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "own")
    (tmp_path / "own" / "out").symlink_to("/etc")
    within = [str(tmp_path / "alias")]
    assert run("true", cwd=str(tmp_path / "own"), within=within)[-1]["exit"] == 0
    for outside in ("own/out", "own/.."):
        (event,) = run("true", cwd=str(tmp_path / outside), within=within)
        assert event["event"] == "refused"
        assert "which is not allowed" in event["reason"]


def test_command_runs_on_its_cpus_and_the_runner_on_others() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    script = "taskset -cp $$; taskset -cp $PPID"
    own, runners = head(sh(script, cpus=cpus[:1])).decode().splitlines()
    assert own.endswith(f": {cpus[0]}")
    if len(cpus) > 1:
        assert not runners.endswith(f": {cpus[0]}")


def test_command_gets_environment_and_folder(tmp_path: Path) -> None:
    ended = sh('printf "%s %s" "$ODD" "$PWD"', env={"ODD": "a=b\n'"}, cwd=str(tmp_path))
    assert head(ended).decode() == f"a=b\n' {tmp_path}"


def test_first_and_last_bytes_of_long_output_are_kept() -> None:
    script = "printf begin; head -c 300000000 /dev/zero; printf the-end; echo x >&2"
    output = sh(script, keep_bytes=1000)["output"]
    assert output["stdout"]["bytes"] == 300_000_012
    assert output["stdout"]["cut"] == 300_000_012 - 2000
    assert base64.b64decode(output["stdout"]["head"]).startswith(b"begin\0")
    assert base64.b64decode(output["stdout"]["tail"]).endswith(b"\0the-end")
    assert output["stderr"]["bytes"] == 2


def test_remaining_processes_are_ended_and_named() -> None:
    script = "(setsid sleep 987 &) ; sleep 987 & echo $!"
    ended = sh(script)
    assert ended["exit"] == 0
    left = {one["pid"] for one in ended["left_behind"]}
    assert len(left) == 2
    assert int(head(ended)) in left
    assert not any(Path(f"/proc/{pid}").exists() for pid in left)


def test_command_that_takes_too_long_is_killed_if_needed() -> None:
    # Use a longer timeout if the runner was held up until after the timeout.
    for timeout in (0.3, 3, 30):
        ended = sh("trap '' TERM; sleep 987; sleep 987", timeout=timeout, grace=0.3)
        if ended["signal"] == 9:
            break
    assert ended["timed_out"]
    assert ended["signal"] == 9
    assert {one["name"] for one in ended["left_behind"]} <= {"sleep"}


def test_resource_usage_is_recorded() -> None:
    script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
    used = sh(script)["rusage"]
    assert used["user_seconds"] > 0.02
    assert used["minor_faults"] > 10


@pytest.mark.parametrize("command", [["true"], ["sleep", "0.001"]])
def test_peak_memory_of_a_small_command_has_an_upper_bound(
    command: list[str],
) -> None:
    used = run(*command)[-1]["rusage"]
    assert used["max_rss_kib"] is None
    assert 0 < used["max_rss_bound_kib"] < 32 << 10  # at most the runner's own


def test_peak_memory_of_the_starter_does_not_hide_the_commands() -> None:
    ballast = bytearray(b"1") * (300 << 20)
    used = run(sys.executable, "-c", "bytearray(b'1') * (200 << 20)")[-1]["rusage"]
    assert len(ballast) >> 10 > used["max_rss_kib"] > 200 << 10
    assert used["max_rss_bound_kib"] is None


def test_cancelled_command_is_ended_and_reported(started: Any) -> None:
    process = started("sleep", "987")
    pid = json.loads(process.stdout.readline())["pid"]
    process.send_signal(signal.SIGTERM)
    ended = json.loads(process.stdout.readlines()[-1])
    assert ended["cancelled"] == "SIGTERM"
    assert ended["signal"] == signal.SIGTERM
    assert not Path(f"/proc/{pid}").exists()


def test_closed_output_ends_the_command(started: Any) -> None:
    process = started("sleep", "987")
    pid = json.loads(process.stdout.readline())["pid"]
    process.stdout.close()
    wait_until(lambda: not Path(f"/proc/{pid}").exists())


@pytest.mark.parametrize("request_", [{}, {"look": True}])
def test_killed_observer_leaves_nothing_running(started: Any, request_: Any) -> None:
    script = "setsid sh -c 'echo $$; exec sleep 987' & wait"
    process = started("sh", "-c", script, **request_)
    pid = json.loads(process.stdout.readline())["pid"]
    document = json.loads(process.stdout.readline())
    child = int(base64.b64decode(document["data"]))
    for end in (process.stdin, process.stdout):
        end.close()
    wait_until(lambda: gone(pid) and gone(child))


def test_fast_forking_processes_are_ended(tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    sign.touch()
    code = """if True:
        import os, sys, time
        until = time.time() + 200
        while time.time() < until:
            os.utime(sys.argv[1])
            if os.fork():
                os._exit(0)
            os.setsid() if sys.argv[2:] else None
    """
    for words in ([], ["sessions"]):
        began = time.monotonic()
        *_, ended = run(sys.executable, "-IS", "-c", code, str(sign), *words)
        assert ended["exit"] == 0
        last = sign.stat().st_mtime_ns
        time.sleep(0.2)
        assert sign.stat().st_mtime_ns == last
        assert time.monotonic() - began < 100  # it did not run to its own end


def test_killed_runner_ends_its_command(started: Any) -> None:
    process = started("sleep", "987")
    pid = json.loads(process.stdout.readline())["pid"]
    process.kill()
    wait_until(lambda: not Path(f"/proc/{pid}").exists())


def test_show_all_lifts_the_output_limit() -> None:
    script = "head -c 3000000 /dev/zero"
    for more, shown in ({}, 1 << 20), ({"show_all": True}, 3_000_000):
        events = run("sh", "-c", script, **more)
        pieces = [one["data"] for one in events if one["event"] == "output"]
        assert sum(len(base64.b64decode(piece)) for piece in pieces) == shown
        assert events[-1]["output"]["stdout"]["bytes"] == 3_000_000
