"""The folder of the PMCD for PMU events, its files, and its life on remote hosts."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sampling.agents import daemon, perfevent
from sampling.agents.configuration import (
    keep_configuration,
    kept_configuration,
    log_of_agent,
)
from sampling.agents.daemon import ANSWER
from sampling.agents.perfevent import AGENT, check_can_count, check_permission
from sampling.agents.private_pmcd import AgentError, socket_of
from sampling.agents.remote import program


def line_of(home: Path) -> str:
    """The agent's line in PMCD's configuration, or an empty string."""
    lines = (home / "pmcd.conf").read_text().splitlines()
    return next((line for line in lines if line.startswith("perfevent ")), "")


def test_no_agent_without_configuration(tmp_path: Path) -> None:
    assert kept_configuration(tmp_path, AGENT) is None
    keep_configuration(tmp_path, AGENT, None)
    assert kept_configuration(tmp_path, AGENT) is None
    assert not line_of(tmp_path)
    assert "perfevent" not in (tmp_path / "pmns").read_text()


def test_different_configurations_give_different_lines(tmp_path: Path) -> None:
    keep_configuration(tmp_path, AGENT, "[perf]\n")
    first = line_of(tmp_path)
    log_of_agent(tmp_path, AGENT).write_text("what it said")
    keep_configuration(tmp_path, AGENT, "[perf]\n")
    assert line_of(tmp_path) == first
    assert not log_of_agent(tmp_path, AGENT).exists()
    keep_configuration(tmp_path, AGENT, "[perf]\nperf::X\n")
    assert kept_configuration(tmp_path, AGENT) == "[perf]\nperf::X\n"
    assert line_of(tmp_path) != first
    assert f"/pmdaperfevent -d 127 -l {log_of_agent(tmp_path, AGENT)} -U " in first
    # The old folder is gone, and the folder that the line names has the new file.
    (folder,) = (tmp_path / "agent").glob("*/")
    assert f"PCP_PMDAS_DIR={folder} " in line_of(tmp_path)
    assert (folder / "perfevent/perfevent.conf").read_text() == "[perf]\nperf::X\n"


def test_only_the_socket_accepts_clients(tmp_path: Path) -> None:
    keep_configuration(tmp_path, AGENT, "[perf]\n")
    text = (tmp_path / "pmcd.conf").read_text()
    assert text.index("perfevent 127") < text.index("[access]")
    assert 'disallow ".*" : all;' in text and 'allow "unix:" : fetch;' in text


def test_metric_names_are_below_the_root(tmp_path: Path) -> None:
    keep_configuration(tmp_path, AGENT, "[perf]\n")
    text = (tmp_path / "pmns").read_text()
    assert text.startswith("root {\n\tperfevent\n")
    assert "hwcounters 127:*:*" in text


@pytest.mark.parametrize("name", ["a b", "x" * 100])
def test_unusable_folder_is_reported(tmp_path: Path, name: str) -> None:
    with pytest.raises(AgentError, match="needs a shorter name, without spaces"):
        socket_of(tmp_path / name)


def test_counting_cpus_needs_root_or_permission() -> None:
    for level, user in ((2, 0), (0, 1000), (-1, 1000)):
        check_permission(level, user)
    with pytest.raises(AgentError, match="sysctl kernel.perf_event_paranoid=0"):
        check_permission(1, 1000)


def test_missing_agent_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perfevent, "_PROGRAM", tmp_path / "none")
    with pytest.raises(AgentError, match="apt-get install pcp"):
        check_can_count()


def asked(**request: Any) -> dict[str, Any]:
    """The program's answer when run as over ssh, with only Python's own modules."""
    sent = program()
    run = f"import sys; exec(sys.stdin.buffer.read({len(sent)}))"
    done = subprocess.run(
        [sys.executable, "-ISB", "-c", run],
        input=sent + json.dumps(request).encode(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    answer: dict[str, Any] = json.loads(done.stdout.decode().removeprefix(ANSWER))
    return answer


@pytest.mark.skipif(os.geteuid() != 0, reason="root's own folder is asked for")
def test_request_that_is_refused_leaves_nothing() -> None:
    name = "supertwin-test-of-a-folder"
    nothing = {"before": None, "socket": "", "listens": False, "log": ""}
    assert asked(agent=AGENT, name=name, text=None, change=True) == nothing
    assert asked(agent=AGENT, name=name, text="", change=False) == nothing
    assert not (Path.home() / ".supertwin" / name).exists()
    answer = asked(agent=AGENT, name="../x", text="[perf]\n", change=True)
    assert "is not a folder name" in answer["refused"]
    answer = asked(agent=AGENT, name="x" * 80, text="[perf]\n", change=True)
    assert answer["refused"] if "refused" in answer else answer["socket"]
    asked(agent=AGENT, name="x" * 80, text=None, change=True)
    assert not list((Path.home() / ".supertwin").glob("x*"))


def test_request_that_never_gets_the_lock_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "_LOCK_SECONDS", 0.1)
    with (tmp_path / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with (
            pytest.raises(AgentError, match="another command has locked .*: try again"),
            daemon._locked(tmp_path),
        ):
            raise AssertionError
