"""Profiles of real programs, and what is said where there is none."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from observations.profiles.formats import flame_graph
from observations.profiles.profile import Profile
from observations.profiles.table import profile_table
from tests.observations.profiles.recorded import TIMES, build, profiled, run, shares


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    return build(tmp_path_factory.mktemp("shares"), "-g")


@pytest.fixture(scope="module")
def profile(program: str) -> Profile:
    return profiled(program, TIMES)


def test_functions_have_their_shares_without_frame_pointers(profile: Profile) -> None:
    assert profile.reason == ""
    assert profile.lost == 0
    found = shares(profile)
    # 200 samples or more: the standard error is 3 %.
    assert profile.samples > 200
    assert found["three"].total == pytest.approx(0.75, abs=0.12)
    assert found["one"].total == pytest.approx(0.25, abs=0.12)
    assert found["work"].own > 0.9
    assert found["main"].total > 0.95


def test_stacks_begin_at_the_start_of_the_program(
    profile: Profile, program: str
) -> None:
    stack = max(profile.stacks)[1]
    assert [one.name for one in stack[-3:]] == ["main", "three", "work"]
    work = stack[-1]
    assert (work.binary, len(work.build_id)) == (program, 40)
    assert work.source.endswith("shares.c")
    assert 7 <= work.line <= 11


def test_processes_of_a_run_are_one_tree(program: str) -> None:
    half = str(int(TIMES) // 2)
    found = profiled("sh", "-c", f"{program} {half} & {program} {half}; wait")
    roots = [call for call in found.tree.ordered() if call.samples > 100]
    assert len(roots) == 1
    assert shares(found)["work"].own > 0.9


def test_stripped_program_has_addresses_and_its_build_id(
    program: str, tmp_path: Path
) -> None:
    stripped = str(tmp_path / "stripped")
    subprocess.run(["strip", program, "-o", stripped], check=True, timeout=60)
    found = profiled(stripped, TIMES)
    (hot,) = {one.binary for one in found.functions() if one.binary == stripped}
    work = max(found.stacks)[1][-1]
    assert (work.binary, len(work.build_id)) == (hot, 40)
    assert re.fullmatch("0x[0-9a-f]+", work.name)


@pytest.mark.parametrize("name", ["a (b) [c]", "new\nline", "semi;colon 7", "x (y\nz"])
def test_program_may_have_an_odd_name(program: str, tmp_path: Path, name: str) -> None:
    odd = str(shutil.copy(program, tmp_path / name))
    found = profiled(odd, TIMES)
    work = shares(found)["work"]
    assert work.own > 0.9
    (binary,) = {one.binary for one in found.functions() if one.name == "work"}
    assert binary == odd.replace("\n", "?")


def test_perf_that_is_killed_is_the_reason(program: str) -> None:
    # Of the processes of our parent, the other one than we is perf.
    children = "$(cat /proc/$PPID/task/*/children)"
    kill = f"for p in {children}; do [ $p = $$ ] || kill -9 $p; done"
    found = profiled("sh", "-c", f"{program} {TIMES} & sleep 0.3; {kill}; wait")
    assert found.reason == "perf was ended by signal 9 during the run"


def test_static_program_has_functions_and_what_is_missing_is_said(
    tmp_path: Path,
) -> None:
    found = profiled(build(tmp_path, "-static", name="static"), TIMES)
    assert shares(found)["work"].own > 0.9
    assert "three" in shares(found) or "have no caller" in found.note


def test_difference_of_two_profiles(profile: Profile, program: str) -> None:
    """A run of the program and one that does nothing but start."""
    other = profiled(
        "sh",
        "-c",
        f"{program} 20000; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done",
    )
    calls = flame_graph(profile, other)["calls"]
    (three,) = [one for one in calls if one["name"] == "three"]
    assert three["share"] == pytest.approx(shares(profile)["three"].total, abs=1e-5)
    assert three["before"] == pytest.approx(shares(other)["three"].total, abs=1e-5)
    assert three["before"] < three["share"]
    assert all(one["parent"] < at for at, one in enumerate(calls))
    # What only the other run has is there with no share.
    assert any(one["share"] == 0 < one["before"] for one in calls)


def test_rate_is_bounded_and_the_bound_is_said(program: str) -> None:
    event = run(program, "2000", profile=10_000_000)["profile"]
    assert event["rate"] <= 8000
    assert event["note"].startswith("10000000 stacks a second were requested; this")


def test_ending_of_the_command_is_unchanged(program: str) -> None:
    events = run("sh", "-c", f"{program} 1000; kill -9 $$")
    assert (events["ended"]["signal"], events["ended"]["left_behind"]) == (9, [])


def test_command_that_cannot_start_is_refused_without_leftovers(tmp_path: Path) -> None:
    env = {"TMPDIR": str(tmp_path)}
    assert set(run("/no/such/command", env=env)) == {"refused"}
    assert list(tmp_path.iterdir()) == []


def test_too_few_samples_are_a_reason() -> None:
    found = profiled("sleep", "0")
    assert found.reason == "" or "too little time" in found.reason
    assert profile_table(profiled("sleep", "0"))


def test_host_without_perf_says_so(tmp_path: Path) -> None:
    shell = shutil.which("true")
    assert shell
    found = run(shell, env={"PATH": str(tmp_path)})
    profile = found["profile"]
    if not list(Path("/usr/lib").glob("linux-tools*/**/perf")):
        assert profile["reason"] == "perf is not installed: `apt install linux-perf`"
        assert (profile["samples"], profile["stacks"]) == (0, [])
    assert found["ended"]["exit"] == 0
