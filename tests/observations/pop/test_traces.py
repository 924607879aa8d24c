"""When the threads of real programs were in MPI and OpenMP, by the wall clock."""

import subprocess
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from observations.errors import RunnerEventError
from observations.events import event_of
from observations.pop.analysis import analyse
from observations.pop.table import trace_line
from observations.slice_times import MOST_SLICES
from observations.timeline.slices import Slice, call_slices, rows
from tests.observations.pop.recorded import MPIRUN, build, recorded

pytestmark = pytest.mark.serial

NS = 10**9
MANY = Path(__file__).with_name("many.c")
# As in slices.h.
SLICES_OF_A_THREAD = 8192
# On a busy machine sleeps end late.
LATE = 0.25
PARALLEL, THREAD = "OpenMP parallel region", "OpenMP thread"
BARRIER, LOCK = "OpenMP barrier", "OpenMP lock"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    folder = tmp_path_factory.mktemp("programs")
    return cache(lambda kind: build(kind, folder))


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("OMP_WAIT_POLICY", "passive")
        yield


def traced(*argv: str, **more: Any) -> Mapping[str, Any]:
    return recorded(*argv, trace=True, **more)


def by_thread(event: Mapping[str, Any]) -> dict[str, list[Slice]]:
    return {
        one.name: sorted(one.slices, key=lambda one: one.begin)
        for one in call_slices(event)
    }


def seconds(slices: list[Slice], name: str) -> list[float]:
    return [(one.end - one.begin) / NS for one in slices if one.name == name]


def test_hybrid_program_has_slices_by_rank_and_thread(
    built: Callable[[str], str],
) -> None:
    # Useful: 2 * 0.1 and 2 * 0.3 s in rank 0, twice that in rank 1.
    before = time.time_ns()
    event = traced(*MPIRUN, built("hybrid"), "0", "0.1", "0.3")
    found = by_thread(event)
    ranks = [f"rank {rank}, thread {thread}" for rank in (0, 1) for thread in (0, 1)]
    assert [*found] == ranks
    every = [one for slices in found.values() for one in slices]
    assert before <= min(one.begin for one in every)
    assert max(one.end for one in every) <= time.time_ns()
    for rank in (0, 1):
        first, other = (found[f"rank {rank}, thread {n}"] for n in (0, 1))
        work = 0.3 * (1 + rank)
        assert seconds(first, PARALLEL) == pytest.approx([work, work], abs=LATE)
        assert seconds(other, PARALLEL) == []
        # The wait of a worker for the next region is not a part of this one.
        assert seconds(other, THREAD) == pytest.approx([work, work], abs=LATE)
        waits = seconds(first, BARRIER)
        assert waits == pytest.approx([work * 2 / 3] * 2, abs=LATE)
        assert min(waits) > max(seconds(other, BARRIER))
    assert seconds(found[ranks[0]], "MPI_Barrier") == pytest.approx([0.6], abs=LATE)
    assert seconds(found[ranks[2]], "MPI_Barrier") == pytest.approx([0.0], abs=LATE)
    # Both ranks leave the barrier at the same time, by one clock.
    ends = [found[rank][-1].end / NS for rank in (ranks[0], ranks[2])]
    assert ends[0] == pytest.approx(ends[1], abs=LATE)
    assert event["trace"]["left_out_slices"] == 0


def test_slices_are_nested_and_agree_with_the_sums(built: Callable[[str], str]) -> None:
    event = traced(built("llvm"), "0.1", "0.1", "0.2", "critical")
    found = by_thread(event)
    assert [*found] == ["process 0, thread 0", "process 0, thread 1"]
    (process,) = analyse(event).processes
    for slices, times in zip(found.values(), process.threads, strict=True):
        (row,) = rows(slices)
        assert len(row) == len(slices)
        assert sum(seconds(slices, BARRIER)) == pytest.approx(times.barrier, abs=1e-5)
        assert sum(seconds(slices, LOCK)) == pytest.approx(times.lock, abs=1e-5)


def test_trace_changes_nothing_else(built: Callable[[str], str]) -> None:
    words = (built("llvm"), "0", "0.01", "0.02")
    plain, with_trace = recorded(*words), traced(*words)
    assert "trace" not in plain
    assert list(call_slices(plain)) == []
    assert trace_line(plain) == []
    assert {*with_trace["processes"][0]} == {*plain["processes"][0]}


def test_longest_calls_of_many_are_kept(tmp_path: Path) -> None:
    program = tmp_path / "many"
    words = ["gcc", str(MANY), "-o", str(program), "-l:libmpi.so.40"]
    subprocess.run(words, check=True, timeout=120)
    event = traced(str(program), "100000")
    ((name, slices),) = by_thread(event).items()
    assert name == "rank 0, thread 0"
    assert {one.name for one in slices} == {"MPI_Iprobe"}
    assert SLICES_OF_A_THREAD // 2 <= len(slices) <= SLICES_OF_A_THREAD
    assert len(slices) + event["trace"]["left_out_slices"] == 100_000
    left_out = f"{100_000 - len(slices)} shorter ones left out"
    assert trace_line(event) == [
        f"trace: {len(slices)} times in MPI and OpenMP, {left_out}"
    ]
    in_mpi = analyse(event).processes[0].threads[0].in_mpi
    kept = seconds(slices, "MPI_Iprobe")
    assert sum(kept) / len(kept) >= in_mpi / 100_000


def test_program_without_calls_has_an_empty_trace(built: Callable[[str], str]) -> None:
    event = traced(built("serial"), "0", "0", "0")
    assert event["trace"] == {"names": [], "left_out_slices": 0, "threads": []}


def test_event_with_a_wrong_trace_is_refused(built: Callable[[str], str]) -> None:
    event = {**traced(built("llvm"), "0", "0", "0"), "event": "pop"}
    event_of(orjson.dumps(event))
    thread = event["trace"]["threads"][0]
    for wrong in (
        [[99, 1, 2]],
        [[0, 2, 1]],
        [[0, -1, 1]],
        [[0, 1, 1]] * (MOST_SLICES + 1),
    ):
        thread["slices"] = wrong
        with pytest.raises(RunnerEventError) as caught:
            event_of(orjson.dumps(event))
        assert caught.value.code == "bad-event"
