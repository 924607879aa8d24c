"""Profiles of real runs: shares, callers, lines, and what cannot be told."""

import subprocess
from pathlib import Path

import pytest

from observations.profiles.table import table
from tests.observations.profiles.recorded import ROUNDS, build, profiled, run, shares


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("two")


def callers(profile: object, name: str) -> list[str]:
    """Return the names from the outermost caller to the hottest node of a function."""
    nodes = profile.nodes  # type: ignore[attr-defined]
    titles = [profile.title(node.function) for node in nodes]  # type: ignore[attr-defined]
    at = max(
        (at for at, title in enumerate(titles) if title == name),
        key=lambda at: nodes[at].samples,
    )
    return [titles[one] for one in profile.path(at)]  # type: ignore[attr-defined]


def test_shares_and_callers_are_found_without_frame_pointers(folder: Path) -> None:
    two = build(folder, "-g")
    found = profiled(two, ROUNDS)
    assert found.reason == ""
    own = shares(found, found.own_samples())
    assert own["three"] == pytest.approx(0.75, abs=0.06)
    assert own["one"] == pytest.approx(0.25, abs=0.06)
    assert callers(found, "three")[-3:] == ["main", "work", "three"]
    total = shares(found, found.total_samples())
    assert total["main"] > 0.98
    assert sum(found.own_samples()) == found.samples
    binaries = {one.path: one for one in found.binaries}
    assert len(binaries[two].build_id) == 40
    three = next(one for one in found.functions if one.name == "three")
    assert three.file.endswith("two.c")
    lines = {node.line for node in found.nodes if node.samples}
    assert lines & {9, 10}


def test_stripped_binary_has_addresses_and_build_id(folder: Path) -> None:
    two, stripped = build(folder, name="named"), str(folder / "stripped")
    subprocess.run(["strip", "-o", stripped, two], check=True)
    found = profiled(stripped, ROUNDS)
    about = next(one for one in found.binaries if one.path == stripped)
    assert about.reason == "it lacks symbols: addresses instead of names"
    assert len(about.build_id) == 40
    own = sorted(shares(found, found.own_samples()).items(), key=lambda one: -one[1])
    (first, three), (second, one) = own[:2]
    assert three == pytest.approx(0.75, abs=0.06)
    assert one == pytest.approx(0.25, abs=0.06)
    assert first.startswith("0x")
    assert second.endswith(" in stripped")
    assert any("it lacks symbols" in line for line in table(found))


def test_static_binary_without_table_says_that_callers_are_missing(
    folder: Path,
) -> None:
    static = build(folder, "-static", "-no-pie", name="static")
    found = profiled(static, ROUNDS)
    (about,) = (one for one in found.binaries if one.path == static)
    assert about.reason == (
        "it lacks .eh_frame_hdr: the callers of its functions are unknown"
    )
    own = shares(found, found.own_samples())
    assert own["three"] == pytest.approx(0.75, abs=0.06)


def test_processes_of_a_run_become_one_tree(folder: Path) -> None:
    two = build(folder, name="ranks")
    script = f"{two} {ROUNDS} & {two} {ROUNDS} & wait"
    found = profiled("sh", "-c", script)
    mains = [n for n in found.nodes if found.title(n.function) == "main"]
    assert len({(n.caller, n.function, n.line) for n in mains}) == len(mains)
    assert shares(found, found.own_samples())["three"] == pytest.approx(0.75, abs=0.06)


def test_rate_is_limited_and_the_limit_is_said(folder: Path) -> None:
    found = profiled(build(folder, name="fast"), ROUNDS, rate=10_000)
    assert found.rate <= 1000
    assert any(f"the rate is {found.rate} Hz" in note for note in found.notes)


def test_without_perf_the_run_succeeds_and_says_why(
    folder: Path, tmp_path: Path
) -> None:
    perf = tmp_path / "perf"
    perf.write_text("#!/bin/sh\nexit 1\n")
    perf.chmod(0o755)
    events = run(build(folder, name="plain"), "10", env={"PATH": str(tmp_path)})
    if not list(Path("/usr/lib").glob("linux-tools*")):
        assert events["profile"]["reason"].startswith("perf is not installed")
    assert events["ended"]["exit"] == 0


def test_refused_command_records_nothing() -> None:
    assert set(run("/nonexistent/command")) == {"refused"}


def test_short_command_says_that_there_is_no_sample() -> None:
    event = run("true", rate=1)["profile"]
    assert event["reason"].startswith("perf took no sample")
    assert event["nodes"] == []
