"""The runner as it is launched on this machine."""

import ast
import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from observations import (
    command_processes,
    command_start,
    command_streams,
    recorder,
    runner,
    slice_times,
)
from observations import environment as surroundings
from observations.errors import RunLostError
from observations.launch import (
    RunnerEvent,
    RunnerHandle,
    events,
    prestarted_runner,
    program,
    program_start,
)
from observations.local_runner import local_runner, was_started
from observations.pop import recording as pop
from observations.record import run_of
from observations.regions import piped
from observations.regions import recording as regions
from tests.servers import wait_until

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def _is_target(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


@contextmanager
def here(
    text: bytes, environment: Mapping[str, str], source: int | None = None
) -> Iterator[RunnerHandle]:
    with prestarted_runner(environment, source=source) as runner:
        runner.start(text)
        yield runner


def launched(**request: Any) -> list[RunnerEvent]:
    with here(program(request), ENVIRONMENT) as running:
        return list(events(running))


def test_command_runs_from_start_to_end() -> None:
    first, output, about, last = launched(argv=["env"], env={"OMP_NUM_THREADS": "3"})
    assert first["event"] == "started"
    words = base64.b64decode(output["data"]).decode().splitlines()
    assert {word for word in words if not word.startswith("LC_CTYPE")} == {
        "OMP_NUM_THREADS=3",
        f"PATH={ENVIRONMENT['PATH']}",
    }
    assert about["program"]["path"] == os.path.realpath(shutil.which("env"))
    assert last["exit"] == 0


def test_parts_of_the_program_do_not_shadow_each_other() -> None:
    def own(module: ModuleType) -> set[str]:
        tree = ast.parse(Path(module.__file__).read_text("utf-8"))
        named = (ast.FunctionDef, ast.ClassDef)
        found = {node.name for node in tree.body if isinstance(node, named)}
        for node in tree.body:
            if isinstance(node, ast.Assign):
                found |= {name.id for name in ast.walk(node) if _is_target(name)}
        return found

    commands = (command_processes, command_start, command_streams)
    parts = (
        surroundings,
        recorder,
        slice_times,
        pop,
        piped,
        regions,
        *commands,
        runner,
    )
    for one, other in combinations(map(own, parts), 2):
        assert one & other == set()


def test_saved_program_repeats_the_run(tmp_path: Path) -> None:
    text = program({"argv": ["sh", "-c", "echo '$(id)' \"quoted\" > $0", "out put"]})
    script = tmp_path / "run.py"
    script.write_bytes(text)
    subprocess.run([sys.executable, script], cwd=tmp_path, check=True)
    assert (tmp_path / "out put").read_text() == "$(id) quoted\n"


def test_run_is_cancelled() -> None:
    with here(program({"argv": ["sleep", "987"]}), ENVIRONMENT) as running:
        found = []
        for event in events(running):
            found.append(event)
            if event["event"] == "started":
                running.cancel()
    assert found[-1]["cancelled"] == "SuperTwin cancelled it or disconnected"


def test_runner_that_is_released_early_ends_its_command() -> None:
    with here(program({"argv": ["sleep", "987"]}), ENVIRONMENT) as running:
        pid = next(events(running))["pid"]
        assert Path(f"/proc/{pid}").exists()
    assert not Path(f"/proc/{pid}").exists()


def copied(source: int | None) -> bytes:
    """The output of a command that only copies its input."""
    with here(program({"argv": ["cat"]}), ENVIRONMENT, source) as running:
        *_, last = events(running)
    assert last["exit"] == 0
    return base64.b64decode(last["output"]["stdout"]["head"])


def test_command_reads_the_passed_input(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"from a file\n")
    with (tmp_path / "input").open("rb") as file:
        assert copied(file.fileno()) == b"from a file\n"
        assert file.read() == b""  # the file offset moves as it would without a runner
    with Path(os.devnull).open("rb") as nothing:
        assert copied(nothing.fileno()) == b""
    assert copied(None) == b""
    read, write = os.pipe()
    os.write(write, b"from a pipe\n")
    os.close(write)
    assert copied(read) == b"from a pipe\n"
    os.close(read)


def test_writer_notices_that_the_command_stopped_reading() -> None:
    read, write = os.pipe()
    script = "exec <&-; echo closed; exec sleep 987"
    text = program({"argv": ["sh", "-c", script]})
    with here(text, ENVIRONMENT, read) as running:
        os.close(read)
        received = events(running)
        assert [next(received)["event"] for _ in "12"] == ["started", "output"]
        with pytest.raises(BrokenPipeError):
            os.write(write, b"to nobody")
    os.close(write)


def test_saved_program_reads_its_input(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_bytes(program({"argv": ["cat"]}))
    words = [sys.executable, tmp_path / "run.py"]
    done = subprocess.run(words, input=b"by hand", capture_output=True, check=True)
    last = json.loads(done.stdout.splitlines()[-1])
    assert base64.b64decode(last["output"]["stdout"]["head"]) == b"by hand"


def test_interrupted_run_has_the_quick_facts() -> None:
    with here(program({"argv": ["sleep", "987"]}), ENVIRONMENT) as running:
        received = events(running)
        first, about, alive = next(received), next(received), next(received)
    assert [one["event"] for one in (first, about, alive)] == [
        "started",
        "about",
        "alive",
    ]
    run = run_of([first, about, alive])
    assert run.about["system"]["kernel"] == os.uname().release
    assert run.about["program"]["path"] == os.path.realpath(shutil.which("sleep"))


def test_program_is_recorded_as_at_its_start(tmp_path: Path) -> None:
    solver = tmp_path / "solver"
    shutil.copy("/bin/sh", solver)
    digest = hashlib.sha256(solver.read_bytes()).hexdigest()
    found = launched(argv=[str(solver), "-c", f"rm {solver}; echo new > {solver}"])
    (about,) = (one for one in found if one["event"] == "about")
    assert about["program"]["sha256"] == digest
    assert about["program"]["libraries"]


def test_broken_runner_reports_its_error() -> None:
    words = "had ended: RuntimeError: out of order"
    text = b"raise RuntimeError('out of order')\n"
    with pytest.raises(RunLostError, match=words), here(text, {}) as running:
        list(events(running))


def test_output_of_a_login_is_not_an_event() -> None:
    last = program({"argv": ["true"]}).removeprefix(program_start())
    welcome = b"\nprint('Welcome to n1\\n[1]', flush=True)\n"
    with here(program_start() + welcome + last, {}) as running:
        found = [event["event"] for event in events(running)]
    assert found == ["started", "about", "ended"]


def test_prestarted_runner_waits_for_its_program() -> None:
    with prestarted_runner(ENVIRONMENT) as waiting:
        waiting.start(program({"argv": ["echo", "late"]}))
        found = list(events(waiting))
    assert base64.b64decode(found[1]["data"]) == b"late\n"


def test_program_of_another_version_is_run_unchanged() -> None:
    older = program({"argv": ["true"]}).replace(
        b'{"event": event, ', b'{"event": "x", '
    )
    with here(older, ENVIRONMENT) as running, pytest.raises(RunLostError):
        for event in events(running):
            assert event["event"] == "x"


def following(folder: Path) -> AbstractContextManager[RunnerHandle]:
    return local_runner(folder, "run.py", ENVIRONMENT)


def test_program_of_another_user_gets_none_of_our_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_SECRET", "s3cret")
    key = tmp_path / "key"
    key.write_text("s3cret")
    script = f"id -un; id -Gn; pwd; env; cat {key}; kill -0 {os.getpid()}"
    (tmp_path / "run.py").write_bytes(program({"argv": ["sh", "-c", script]}))
    with local_runner(tmp_path, "run.py", {}, "nobody") as running:
        first, *_, last = events(running)
    assert first["user"] == "nobody"
    outputs = {
        name: base64.b64decode(stream["head"]).decode()
        for name, stream in last["output"].items()
    }
    assert outputs["stdout"].splitlines()[:3] == ["nobody", "nogroup", "/"]
    assert "s3cret" not in outputs["stdout"]
    assert "HOME=/nonexistent" in outputs["stdout"]
    assert (
        outputs["stderr"].count("ermission denied")
        + outputs["stderr"].count("permitted")
        == 2
    )


def begun_and_left(folder: Path, **request: Any) -> list[RunnerEvent]:
    """The first events of a run whose follower is then killed."""
    (folder / "run.py").write_bytes(program(request))
    script = f"""if True:
        import os
        from pathlib import Path
        from observations.launch import events
        from observations.local_runner import local_runner
        with local_runner(Path({str(folder)!r}), "run.py", {ENVIRONMENT!r}) as running:
            for event in events(running):
                print(event, flush=True)
                os.kill(os.getpid(), 9)
    """
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True
    )
    assert done.returncode == -9, done.stderr
    return [ast.literal_eval(line) for line in done.stdout.splitlines()]


def test_run_outlives_its_follower(tmp_path: Path) -> None:
    script = "echo one; sleep 0.5; echo two; exit 3"
    before = begun_and_left(tmp_path, argv=["sh", "-c", script], look=True)
    assert [event["event"] for event in before] == ["started"]
    assert was_started(tmp_path)
    found = []
    with following(tmp_path) as running:
        for event in events(running):
            found.append(event)
            if event["event"] == "over":
                running.release()
    assert found[0] == before[0]
    assert base64.b64decode(found[-1]["output"]["stdout"]["head"]) == b"one\ntwo\n"
    assert (found[-1]["exit"], found[-1]["cancelled"]) == (3, "")
    assert os.listdir(tmp_path) == ["run.py"]  # noqa: PTH208
    assert not was_started(tmp_path)


def test_outliving_run_is_cancelled_or_reported_as_gone(tmp_path: Path) -> None:
    begun_and_left(tmp_path, argv=["sleep", "987"])
    with following(tmp_path) as running:
        running.cancel()
        last = list(events(running))[-1]
    assert last["cancelled"] == "SuperTwin cancelled it or disconnected"
    (tmp_path / "run.py").write_text("raise RuntimeError('out of order')")
    words = "had ended: RuntimeError: out of order"
    with pytest.raises(RunLostError, match=words), following(tmp_path) as running:
        list(events(running))


def test_killed_runner_leaves_nothing(tmp_path: Path) -> None:
    script = "setsid sleep 987 & echo $!; wait"
    (started,) = begun_and_left(tmp_path, argv=["sh", "-c", script])
    events_file = tmp_path / "said.jsonl"
    wait_until(lambda: b"alive" in events_file.read_bytes())
    os.kill(int(Path(f"/proc/{started['pid']}/stat").read_text().split()[3]), 9)
    with pytest.raises(RunLostError), following(tmp_path) as running:
        for event in events(running):
            if event["event"] == "output":
                child = int(base64.b64decode(event["data"]))
    wait_until(lambda: not Path(f"/proc/{child}").exists())
