"""The recorder in real programs, and where it cannot record."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from observations.regions.piped import MOST_DEPTH, MOST_NAME, MOST_REGIONS
from observations.regions.recording import (
    BLOCK,
    MOST_EVENTS,
    MOST_TIMES,
    REGION,
    SLICE,
    keep_longest,
)
from observations.regions.regions import Region, RegionRecord, sources
from tests.observations.regions.recorded import (
    FAULTS,
    build,
    build_on_kokkos,
    recorded,
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    build(folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def entries(record: RegionRecord) -> Mapping[str, int]:
    """Return how often each region was left, by its path."""
    return {one.path: one.entries for one in record.regions}


def by_path(record: RegionRecord, path: str) -> Region:
    (found,) = (one for one in record.regions if one.path == path)
    return found


@pytest.mark.parametrize("program", ["regions", "likwid"])
def test_nested_regions_of_threads_are_recorded(programs: Path, program: str) -> None:
    record = recorded(str(programs / program), "nested")
    assert entries(record) == {"a": 1, "a / b": 1, "b": 2}
    outer, inner = by_path(record, "a"), by_path(record, "a / b")
    assert outer.seconds >= 0.3
    assert inner.seconds >= 0.2
    # It computes for 0.2 s and sleeps for 0.1 s.
    assert outer.cpu is not None
    assert 0.2 <= outer.cpu < outer.seconds
    # The second thread takes over the figures of the first, which has ended.
    (other,) = by_path(record, "b").times
    assert (other.thread, other.entries) == (1, 2)
    assert record.missing == ()


def test_library_of_the_program_is_not_initialised(programs: Path) -> None:
    words = [str(programs / "regions"), "nested"]
    alone = subprocess.run(words, capture_output=True, check=True, timeout=60)
    assert b"the library was called" in alone.stdout
    script = '! "$0" nested | grep "the library was called"'
    record = recorded("sh", "-c", script, words[0])
    assert entries(record)["a"] == 1


def test_caliper_regions_are_recorded_and_passed_on(programs: Path) -> None:
    script = '"$0" > "$1"'
    printed = programs / "calls"
    record = recorded("sh", "-c", script, str(programs / "caliper"), str(printed))
    assert entries(record) == {
        "main": 1,
        "main / phase": 1,
        "main / phase / region": 1,
        "main / attribute": 1,
        "main / stage=one": 1,
    }
    assert (record.unbalanced, record.unfinished) == (0, 0)
    alone = subprocess.run(
        [programs / "caliper"], capture_output=True, check=True, timeout=60
    )
    assert int(printed.read_text().split()[0]) == int(alone.stdout.split()[0])


def test_kokkos_loads_the_recorder_as_its_tool(programs: Path) -> None:
    record = recorded(str(programs / "kokkos"))
    assert entries(record) == {
        "step": 1,
        "step / axpy": 3,
        "step / dot": 3,
        "step / scan": 1,
        "step / scan / axpy": 1,
    }
    assert (record.unbalanced, record.unfinished) == (0, 0)


def test_program_on_kokkos_is_recorded(programs: Path) -> None:
    record = recorded(str(build_on_kokkos(programs)))
    assert entries(record) == {
        "step": 1,
        "step / axpy": 3,
        "step / dot": 3,
        "scan": 1,
    }
    assert (record.unbalanced, record.unfinished) == (0, 0)


@pytest.mark.parametrize("name", ["KOKKOS_TOOLS_LIBS", "KOKKOS_PROFILE_LIBRARY"])
def test_other_kokkos_tool_is_left_alone(programs: Path, name: str) -> None:
    script = 'test "$KOKKOS_TOOLS_LIBS$KOKKOS_PROFILE_LIBRARY" = /nowhere/tool.so'
    record = recorded("sh", "-c", script, env={name: "/nowhere/tool.so"})
    assert record.missing == (f"Kokkos is not recorded: {name} names another tool",)


def test_mistakes_are_counted(programs: Path) -> None:
    record = recorded(str(programs / "regions"), "mistakes")
    found = entries(record)
    assert found["(no name)"] == 1
    assert found['a\\x0ab"\\xff'] == 1
    assert found["x" * 127] == 1
    # They overlap: the second is in the first, but ends after it.
    assert found["left open / first"] == 1
    assert found["left open / first / second"] == 1
    assert found["left open"] == 0
    assert (record.unbalanced, record.unfinished) == (1, 1)
    # 64 levels, of which "left open" is one.
    assert record.omitted == 100 - 63


LAYOUT = """
int main(void) {
    printf("%d %d %d %d %zu %zu %zu %zu", EVENTS, DEPTH, REGIONS, NAME - 1,
           offsetof(struct block, open), sizeof(struct region), sizeof(struct slice),
           offsetof(struct block, slice) - offsetof(struct block, region));
}
"""


def test_limits_and_layout_are_those_of_the_recorder(tmp_path: Path) -> None:
    words = ["gcc", "-x", "c", "-", "-o", str(tmp_path / "layout"), "-pthread", "-ldl"]
    text = sources()["regions"] + LAYOUT
    subprocess.run(words, input=text.encode(), check=True, timeout=60)
    printed = subprocess.check_output([tmp_path / "layout"], timeout=60)
    limits = [MOST_EVENTS, MOST_DEPTH, MOST_REGIONS, MOST_NAME]
    sizes = [BLOCK.size, REGION.size, SLICE.size, REGION.size * MOST_REGIONS]
    assert [int(word) for word in printed.split()] == [*limits, *sizes]


def test_longest_times_are_kept_even_if_all_are_equal() -> None:
    threads = [{"times": [[at, 1, 5, 5, []] for at in range(MOST_TIMES)]}, {}]
    threads[1]["times"] = [[0, 1, 5, 5, []], [1, 1, 9, 9, []]]
    assert keep_longest(threads) == 2
    assert sum(len(thread["times"]) for thread in threads) == MOST_TIMES
    assert [1, 1, 9, 9, []] in threads[1]["times"]


def test_ended_threads_leave_regions_open(programs: Path) -> None:
    record = recorded(str(programs / "regions"), "threads")
    assert entries(record) == {"left by a thread": 0}
    assert (record.unfinished, record.missing) == (2, ())


def test_killed_program_keeps_what_was_recorded(programs: Path) -> None:
    record = recorded(str(programs / "regions"), "killed")
    assert entries(record) == {"done": 1, "interrupted": 0}
    assert record.unfinished == 1


def test_forked_process_is_apart(programs: Path) -> None:
    record = recorded(str(programs / "regions"), "forked")
    assert entries(record) == {"before": 1, "child": 1}
    ranks = {one.path: one.times[0].rank for one in record.regions}
    assert {*ranks.values()} == {0, 1}


def test_ranks_are_told_apart(programs: Path) -> None:
    script = 'for PMI_RANK in 0 1; do export PMI_RANK; "$0" faults 10; done'
    record = recorded("sh", "-c", script, str(programs / "regions"))
    assert [one.rank for one in by_path(record, "faults").times] == [0, 1]
    assert by_path(record, "faults").entries == 2


def test_million_pairs_are_one_region(programs: Path) -> None:
    record = recorded(str(programs / "regions"), "many", "1000000")
    assert entries(record) == {"pair": 1_000_000}


def test_too_many_regions_are_counted(programs: Path) -> None:
    record = recorded(str(programs / "regions"), "distinct", "400")
    assert (len(record.regions), record.omitted) == (255, 145)


def test_events_are_counted_in_each_region(programs: Path) -> None:
    wrong = {"name": "cpu::none", "type": 99, "config": 0}
    absent = {"name": "none::none", "device": "none", "event": "none"}
    events = [FAULTS, wrong, absent]
    record = recorded(str(programs / "regions"), "faults", "500", events=events)
    outside, inside = (
        record.counts(by_path(record, "outside")),
        record.counts(by_path(record, "faults")),
    )
    # The first entry into a region may touch pages of the recorder.
    assert outside[0].value is not None
    assert outside[0].value < 50
    assert inside[0].value is not None
    assert 500 <= inside[0].value < 550
    assert inside[0].dutycycle == 1.0
    assert "the kernel does not count cpu::none" in inside[1].reason
    assert inside[2].reason == "the kernel does not offer none::none"


PIPED = """
echo begin outer > "$SUPERTWIN_REGIONS"
for step in 1 2 3; do
    echo "begin a step" > "$SUPERTWIN_REGIONS"
    sleep 0.05
    echo "end a step" > "$SUPERTWIN_REGIONS"
done
echo end outer > "$SUPERTWIN_REGIONS"
"""


def test_lines_in_the_pipe_are_regions() -> None:
    record = recorded("sh", "-c", PIPED)
    assert entries(record) == {"outer": 1, "outer / a step": 3}
    step = by_path(record, "outer / a step")
    assert step.seconds >= 0.1
    assert step.cpu is None


def test_wrong_lines_are_counted() -> None:
    lines = (
        "'nonsense' 'begin' 'end never' 'begin open' ' ' 'begin b\\033' 'end b\\033'"
    )
    record = recorded("sh", "-c", f'printf "%b\\n" {lines} > "$SUPERTWIN_REGIONS"')
    assert entries(record) == {"open": 0, "open / b\\x1b": 1}
    assert (record.unreadable, record.unbalanced, record.unfinished) == (2, 1, 1)


def test_pipe_takes_more_than_it_holds() -> None:
    script = 'yes "begin a\nend a" | head -n 100000 > "$SUPERTWIN_REGIONS"'
    assert entries(recorded("sh", "-c", script)) == {"a": 50_000}


def test_many_regions_in_the_pipe_are_counted() -> None:
    script = (
        'for i in $(seq 300); do echo "begin $i\nend $i"; done > "$SUPERTWIN_REGIONS"'
    )
    record = recorded("sh", "-c", script)
    assert (len(record.regions), record.omitted) == (256, 44)


def test_reason_is_told_if_nothing_can_be_recorded(
    programs: Path, tmp_path: Path
) -> None:
    (none,) = recorded("true").missing
    assert none.startswith("no region was named")
    (static,) = recorded(str(programs / "static"), "nested").missing
    assert static.startswith("the program is static")
    env = {"PATH": str(tmp_path)}
    (lacking,) = recorded(str(programs / "regions"), "nested", env=env).missing
    assert lacking.startswith("there is no C compiler")


def test_pipe_works_without_a_compiler() -> None:
    record = recorded("sh", "-c", PIPED, env={"CC": "no"})
    assert entries(record) == {"outer": 1, "outer / a step": 3}
    assert "there is no C compiler" in record.missing[0]
