"""Hot loops of real programs, and what is said where there are none."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from observations.hot_loops.analysis import HotLoop, LoopAnalysis
from observations.hot_loops.table import table
from observations.launch import program
from observations.pop.times import sources
from observations.regions.regions import sources as regions
from tests.observations.hot_loops.recorded import (
    CHAIN,
    INDEPENDENT,
    SOURCE,
    analysed,
    build,
    run,
)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> str:
    return build(tmp_path_factory.mktemp("kernels"), "-g")


def hottest(analysis: LoopAnalysis) -> HotLoop:
    assert analysis.reason == ""
    return analysis.loops[0]


def line_of(word: str) -> int:
    lines = SOURCE.read_text().splitlines()
    return 1 + next(n for n, line in enumerate(lines) if f"/* {word} */" in line)


def test_chain_of_additions_is_bound_by_its_latency(kernels: str) -> None:
    found = analysed(kernels, *CHAIN)
    loop = hottest(found)
    assert loop.share > 0.8
    assert (loop.function.name, loop.function.binary) == ("chain", kernels)
    assert len(loop.function.build_id) == 40
    assert loop.source == (str(SOURCE), line_of("dependent"), line_of("dependent"))
    bounds = loop.bounds
    assert bounds
    assert bounds.chains
    assert bounds.chains.carried > bounds.perfect
    assert bounds.scheduled == pytest.approx(bounds.chains.carried, rel=0.1)
    assert bounds.sequential >= bounds.chains.critical_path >= bounds.chains.carried
    assert bounds.limit == "dependency chain"
    assert found.analyser.startswith("llvm-mca ")
    # Some samples may be in places without a function.
    assert found.samples >= sum(one.samples for one in found.functions) > 0


def test_independent_iterations_are_bound_by_ports(kernels: str) -> None:
    loop = hottest(analysed(kernels, *INDEPENDENT))
    assert (loop.function.name, loop.share > 0.8) == ("independent", True)
    assert loop.bounds
    assert loop.bounds.chains
    assert loop.bounds.chains.carried <= loop.bounds.perfect
    assert loop.bounds.limit != "dependency chain"
    assert max(loop.bounds.ports.values()) <= loop.bounds.perfect + 0.1


def test_stripped_program_has_functions_without_names(
    kernels: str, tmp_path: Path
) -> None:
    stripped = str(tmp_path / "stripped")
    subprocess.run(["strip", kernels, "-o", stripped], check=True, timeout=60)
    loop = hottest(analysed(stripped, *CHAIN))
    assert (loop.function.name, loop.source) == ("", None)
    assert loop.share > 0.8
    assert loop.function.title == f"{loop.function.start:#x}"


def test_children_are_sampled_and_the_ending_is_unchanged(kernels: str) -> None:
    script = f"{kernels} {' '.join(CHAIN)} & {kernels} {' '.join(INDEPENDENT)}; wait"
    events = run("sh", "-c", f"{script}; kill -9 $$")
    names = {one["name"] for one in events["hot_loops"]["functions"]}
    assert {"chain", "independent"} <= names
    assert (events["ended"]["signal"], events["ended"]["left_behind"]) == (9, [])
    assert run(kernels, "chain", "1")["ended"]["exit"] == 7


def test_program_that_runs_until_it_is_ended_has_loops(kernels: str) -> None:
    events = run(kernels, "chain", "9999999999", timeout=1)
    assert events["ended"]["timed_out"]
    assert events["hot_loops"]["loops"]


def test_names_that_are_no_plain_text_are_printable(
    kernels: str, tmp_path: Path
) -> None:
    hostile = tmp_path / "a b\u00e4\x1b (deleted)]: r-xp #<x>"
    shutil.copy(kernels, hostile)
    loop = hottest(analysed(str(hostile), *CHAIN))
    assert loop.function.binary == str(hostile).replace("\x1b", "?")
    assert all(line.isprintable() for line in table(analysed("true")))


def test_too_few_samples_are_a_reason_or_no_loops() -> None:
    found = analysed("true")
    assert found.loops == []
    assert "too little time" in found.reason or found.samples < 5


def test_command_that_cannot_start_is_refused_without_leftovers(tmp_path: Path) -> None:
    recorders = {"pop": {"sources": sources()}, "regions": {"sources": regions()}}
    env = {"TMPDIR": str(tmp_path)}
    assert set(run("/no/such/command", env=env, **recorders)) == {"refused"}
    assert list(tmp_path.iterdir()) == []


def test_host_without_a_place_for_samples_says_so() -> None:
    """Nothing can be written to any file."""
    done = subprocess.run(
        ["prlimit", "--fsize=0", sys.executable, "-I", "-"],
        input=program({"argv": ["true"], "hot_loops": True}),
        capture_output=True,
        check=True,
        timeout=120,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["event"] for event in events][-2:] == ["hot_loops", "ended"]
    assert "No usable temporary directory" in events[-2]["reason"]


def tools(folder: Path, *without: str) -> str:
    """Return a PATH with all tools but some."""
    for name in ("perf", "llvm-readelf", "llvm-objdump", "llvm-dwarfdump", "llvm-mca"):
        if name not in without and (found := shutil.which(name)):
            (folder / name).symlink_to(found)
    return str(folder)


def test_host_without_perf_is_told_what_to_install(
    kernels: str, tmp_path: Path
) -> None:
    found = analysed(kernels, "chain", "1", env={"PATH": str(tmp_path)})
    if not Path("/usr/lib/linux-tools").exists():
        assert "apt install linux-perf" in found.reason
    assert table(found)[0].startswith("no hot loops: ")


def test_host_without_llvm_has_functions_and_the_reason(
    kernels: str, tmp_path: Path
) -> None:
    (tmp_path / "none").mkdir()
    path = tools(tmp_path / "none", "llvm-readelf")
    function = analysed(kernels, *CHAIN, env={"PATH": path}).functions[0]
    assert function.samples
    assert "llvm-readelf is not installed: `apt install llvm`" in function.reason
    (tmp_path / "mca").mkdir()
    path = tools(tmp_path / "mca", "llvm-mca")
    loop = hottest(analysed(kernels, *CHAIN, env={"PATH": path}))
    assert (loop.bounds, loop.source) == (None, None)
    assert "llvm-mca is not installed" in loop.reason


def test_code_that_changed_or_has_no_file_is_not_analysed(
    kernels: str, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    script = f"cp {kernels} {own}; {own} {' '.join(CHAIN)}; true"
    functions = analysed("sh", "-c", script).functions
    assert "the file was changed during the run" in [one.reason for one in functions]
    script = f"{script}; rm {own}"
    functions = analysed("sh", "-c", script).functions
    assert any("No such file" in one.reason for one in functions)


def test_times_of_threads_can_be_recorded_as_well(kernels: str) -> None:
    events = run(kernels, *CHAIN, pop={"sources": sources(), "libomp": False})
    assert events["hot_loops"]["loops"]
    assert "no process used OpenMP" in events["pop"]["reason"]


def test_nothing_is_left_in_the_temporary_folder(kernels: str, tmp_path: Path) -> None:
    run(kernels, "chain", "1", env={"TMPDIR": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []
