"""When regions began and ended, by the wall clock."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from observations.errors import RunnerEventError
from observations.events import event_of
from observations.regions.regions import sources
from observations.slice_times import (
    MOST_SLICES,
    keep_longest_slices,
    longest_slices,
    set_wall_clock,
)
from tests.observations.pop.recorded import recorded_event
from tests.observations.regions.recorded import build

# As in regions.c.
SLICES_OF_A_THREAD = 8192
NS = 10**9


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


def recorded(*argv: str) -> Mapping[str, Any]:
    request = {"argv": [*argv], "env": {}, "regions": {"sources": sources()}}
    return recorded_event("regions", request)


def by_name(event: Mapping[str, Any], thread: int = 0) -> list[tuple[str, int, int]]:
    """Return the slices of a thread with the names of their regions."""
    slices = event["threads"][thread]["slices"]
    return [(event["regions"][at][1], begin, end) for at, begin, end in slices]


def test_regions_of_a_program_have_times_by_the_wall_clock(programs: Path) -> None:
    before = time.time_ns()
    event = recorded(str(programs / "regions"), "nested")
    after = time.time_ns()
    (inner, first, last), (outer, start, end) = by_name(event)
    assert (inner, outer) == ("b", "a")
    assert before <= start <= first <= last <= end <= after
    # It computes for 0.2 s, then sleeps for 0.1 s.
    assert end - start >= 0.3 * NS
    # As long as in the sum, which another clock measures.
    sums = {event["regions"][one[0]][1]: one[2] for one in event["threads"][0]["times"]}
    assert abs(end - start - sums["a"]) <= 0.001 * sums["a"]


def test_lines_in_the_pipe_have_times_too() -> None:
    script = 'for n in 1 2; do echo "begin s$n"; sleep 0.1; echo "end s$n"; done'
    before = time.time_ns()
    event = recorded("sh", "-c", f'({script}) > "$SUPERTWIN_REGIONS"')
    (one, first, last), (two, start, end) = by_name(event)
    assert (one, two) == ("s1", "s2")
    assert before <= first <= last <= start <= end <= time.time_ns()
    assert last - first >= 0.05 * NS


def test_longest_slices_of_many_are_kept(programs: Path) -> None:
    event = recorded(str(programs / "regions"), "many", "100000")
    (thread,) = event["threads"]
    kept, left_out = thread["slices"], event["left_out_slices"]
    assert SLICES_OF_A_THREAD // 2 <= len(kept) <= SLICES_OF_A_THREAD
    assert len(kept) + left_out == 100_000
    (times,) = thread["times"]
    assert sum(end - begin for _, begin, end in kept) / len(kept) >= times[2] / times[1]


def test_killed_program_keeps_its_slices(programs: Path) -> None:
    event = recorded(str(programs / "regions"), "killed")
    assert [name for name, *_ in by_name(event)] == ["done"]


def test_slices_of_all_threads_are_limited() -> None:
    threads = [
        {"slices": [[0, 0, 5]] * MOST_SLICES},
        {"slices": [[1, 0, 9], [1, 0, 4]]},
    ]
    assert keep_longest_slices(threads) == 2
    assert threads[1]["slices"] == [[1, 0, 9]]
    assert len(threads[0]["slices"]) == MOST_SLICES - 1


def test_kept_slices_are_in_the_order_of_their_ends() -> None:
    slices = [[0, 3, 9], [1, 1, 2], [0, 0, 5]]
    assert longest_slices(slices, 2) == ([[0, 0, 5], [0, 3, 9]], 1)


def test_clocks_that_drift_apart_are_matched() -> None:
    threads = [{"slices": [[0, 1000, 2000], [0, 1500, 1500]]}]
    # While the monotonic clock counted 1000 ns, the wall clock counted 1010.
    set_wall_clock(threads, (1000, 70_000), (2000, 71_010))
    assert threads[0]["slices"] == [[0, 70_000, 71_010], [0, 70_505, 70_505]]


def test_event_with_wrong_slices_is_refused(programs: Path) -> None:
    event = {**recorded(str(programs / "regions"), "killed"), "event": "regions"}
    event_of(orjson.dumps(event))
    for wrong in ([9, 1, 2], [0, 2, 1], [0, -1, 1], [0, 1]):
        event["threads"][0]["slices"] = [wrong]
        with pytest.raises(RunnerEventError) as caught:
            event_of(orjson.dumps(event))
        assert caught.value.code == "bad-event"
