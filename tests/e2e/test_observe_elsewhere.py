"""What runs record on a host that ssh reaches, and through a real Slurm."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.observations.hot_loops.recorded import CHAIN
from tests.observations.hot_loops.recorded import build as build_kernels
from tests.observations.regions.recorded import build as build_regions
from tests.observed import outcome, runs
from tests.slurm import Slurm
from tests.sshd import Sshd
from tests.stack import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.serial]

FAULTS = ("--event", "software::page-faults")
Observe = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def remote(stack: Stack, there: Sshd) -> Iterator[tuple[str, ...]]:
    """Return the options for a host of the fleet that is reached by ssh."""
    config = stack.home / "ssh_config"
    config.write_text(there.config.read_text())
    stack.run("add", there.url(), "--host", "node9")
    yield "--host", "node9"
    stack.run("remove", "node9", "--history", "--yes", check=False)
    config.unlink()


@pytest.fixture(
    params=[
        pytest.param(
            ["remote"],
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="an sshd needs root"),
            id="ssh",
        ),
        pytest.param([], id="slurm"),
    ]
)
def observe(request: pytest.FixtureRequest, stack: Stack, slurm: Slurm) -> Observe:
    """Return what observes a command; it returns the exit status and messages."""
    words = [word for name in request.param for word in request.getfixturevalue(name)]
    there = words or ["--srun", "-p test"]

    def observed(*options: str) -> tuple[int, str]:
        by_slurm = Stack(stack.home, {**stack.env, **slurm.env})
        done = by_slurm.run("observe", *there, *options, check=False)
        return done.returncode, done.stderr

    return observed


def asked(stack: Stack, query: str, iri: str) -> list[dict[str, Any]]:
    assert outcome(stack, iri)
    words = ("query", f"observations/{query}", "--id", iri, "--format", "json")
    found: list[dict[str, Any]] = json.loads(stack.run(*words).stdout)
    return found


def test_hot_loops_are_found(stack: Stack, observe: Observe, tmp_path: Path) -> None:
    kernels = build_kernels(tmp_path, "-g")
    status, printed = observe("--hot-loops", "--", kernels, *CHAIN)
    assert status == 7, printed
    ((_, iri),) = runs(printed)
    (row,) = asked(stack, "hot-loops", iri)
    assert (row["function"], row["binary"]) == ("chain", kernels), row
    assert (row["boundBy"], row["missing"]) == ("dependency chain", None)
    assert "kernels.c:" in printed


def test_regions_are_counted(stack: Stack, observe: Observe, tmp_path: Path) -> None:
    build_regions(tmp_path)
    command = (str(tmp_path / "regions"), "faults", "500")
    status, printed = observe("--regions", *FAULTS, "--", *command)
    assert status == 0, printed
    ((_, iri),) = runs(printed)
    rows = {row["region"]: row for row in asked(stack, "regions", iri)}
    assert {*rows} == {"outside", "faults"}, printed
    name, count = rows["faults"]["figures"].split()
    assert (name, 500 <= float(count) < 550) == (FAULTS[1], True)


def test_each_pass_counts_other_events(stack: Stack, observe: Observe) -> None:
    events = ("software::task-clock", "software::context-switches")
    named = [word for event in events for word in ("--event", event)]
    status, printed = observe("--events-per-pass", "1", *named, "--", "sleep", "0.2")
    assert status == 0, printed
    (_, first), (_, second) = runs(printed)
    one, other = (
        {row["metric"] for row in asked(stack, "statistics", iri)}
        for iri in (first, second)
    )
    assert one and other and one != other
    assert "the 2 passes differ by: wall time" in printed
