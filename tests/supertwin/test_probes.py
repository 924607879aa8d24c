"""`supertwin probes` on a real program, without a stack."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.command_line import supertwin
from tests.probed_program import ProbedProgram, compile_program

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may probe")

Probes = Callable[..., Result]


@pytest.fixture
def probes(tmp_path: Path) -> Probes:
    settings = {"HOME": str(tmp_path / "state")}
    return lambda *words: supertwin(settings, "probes", *words)


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    return compile_program(tmp_path / "program")


def test_probe_is_added_listed_changed_and_removed(
    probes: Probes, binary: Path
) -> None:
    target = f"uprobe:{binary}:work"
    added = probes("add", "work", target, "--latency")
    assert added.exit_code == 0
    assert f"work counts latency of {target}" in added.stdout
    assert "0 calls/s" in added.stderr
    assert target in probes("list").stdout
    assert "code-probe-exists" in probes("add", "work", target).stderr
    assert probes("add", "work", target, "--change").exit_code == 0
    assert "not attached" in probes("list", "--format", "csv").stdout
    assert probes("remove", "work").exit_code == 0
    assert target not in probes("list").stdout
    gone = probes("remove", "work")
    assert gone.exit_code == 2
    assert "no-such-code-probe" in gone.stderr


def test_probe_is_added_by_thread_and_with_an_argument(
    probes: Probes, binary: Path
) -> None:
    words = ("--by", "thread", "--argument", "2")
    assert probes("add", "sizes", f"uprobe:{binary}:sized", *words).exit_code == 0
    event = "tracepoint:sched:sched_switch"
    added = probes("add", "next", event, "--argument", "next_pid", "--yes")
    assert added.exit_code == 0
    for name, target, argument, code in (
        ("text", f"uprobe:{binary}:sized", "3", "no-probe-argument"),
        ("none", event, "next", "code-probe-refused"),
    ):
        done = probes("add", name, target, "--argument", argument)
        assert done.exit_code == 2
        assert done.stderr.rstrip().endswith(f"[{code}]")


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("kprobe:x", "bad-code-probe"),
        ("uprobe:/none:main", "no-probe-target"),
        ("tracepoint:sched:nothing", "code-probe-refused"),
    ],
)
def test_refusal_is_one_line(probes: Probes, target: str, code: str) -> None:
    done = probes("add", "p", target)
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.endswith(f"[{code}]")
    assert target not in probes("list").stdout


@pytest.mark.parametrize(
    "option", [("--percent", "nan"), ("--percent", "inf"), ("--limit", "9" * 20)]
)
def test_unbounded_number_is_refused(
    probes: Probes, binary: Path, option: tuple[str, str]
) -> None:
    """A probe that may take NaN percent of a CPU would never be stopped."""
    done = probes("add", "work", f"uprobe:{binary}:work", *option)
    assert (done.exit_code, "[bad-usage]" in done.stderr) == (2, True)
    assert "work" not in probes("list").stdout


def test_costly_probe_needs_consent(probes: Probes) -> None:
    """The kernel switches between tasks all the time."""
    words = ("add", "switches", "tracepoint:sched:sched_switch")
    done = probes(*words, "--percent", "0.0000001")
    assert done.exit_code == 2
    assert "code-probe-too-costly" in done.stderr
    assert probes(*words, "--percent", "0.0000001", "--yes").exit_code == 0


def test_nothing_stays_attached_after_add(probes: Probes, binary: Path) -> None:
    with ProbedProgram(binary) as program:
        assert probes("add", "work", f"uprobe:{binary}:work").exit_code == 0
        assert not program.is_probed()
