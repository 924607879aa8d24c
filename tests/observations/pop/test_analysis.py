"""Efficiencies by hand-computed cases, and what holds for all of them."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from observations.pop.analysis import Efficiencies, analyse, not_recorded
from observations.pop.table import table

SECOND = 1_000_000_000
Times = tuple[float, ...]


def process(
    seconds: float,
    *threads: Times,
    rank: int = -1,
    size: int = 0,
    openmp: str = "recorded",
) -> Mapping[str, Any]:
    """Times as the recorder writes them; each thread has up to seven, in seconds."""
    padded = [[*times, *[0.0] * (7 - len(times))] for times in threads]
    return {
        "rank": rank,
        "size": size,
        "openmp": openmp,
        "ns": int(seconds * SECOND),
        "threads": [[int(t * SECOND) for t in times] for times in padded],
    }


def event(*processes: Mapping[str, Any], reason: str = "") -> Mapping[str, Any]:
    return {"event": "pop", "reason": reason, "processes": list(processes)}


def equal(found: Efficiencies | None, *values: float) -> None:
    assert found
    assert (
        found.parallel,
        found.load_balance,
        found.communication,
    ) == pytest.approx(values)


def test_openmp_alone() -> None:
    # Mean of 8 and 4 s in 10 s.
    found = analyse(event(process(10, (8, 2), (4, 1, 5))))
    equal(found.whole, 0.6, 0.75, 0.8)
    assert found.openmp == found.whole
    assert found.mpi is None
    assert (found.total.useful, found.total.barrier, found.total.idle) == (12, 3, 5)


def test_mpi_alone() -> None:
    ranks = (
        process(10, (9, 0, 0, 0, 0, 1, 0), rank=0, size=2, openmp="none"),
        process(10, (6, 0, 0, 0, 0, 1, 3), rank=1, size=2, openmp="none"),
    )
    found = analyse(event(*ranks))
    equal(found.whole, 0.75, 7.5 / 9, 0.9)
    equal(found.mpi, 0.75, 7.5 / 9, 0.9)
    assert found.openmp is None


def test_hybrid_is_the_product_of_mpi_and_openmp() -> None:
    # Outside MPI: 8 and 10 s. Useful: 8, 4, 10 and 2 s.
    ranks = (
        process(10, (8, 0, 0, 0, 0, 2, 0), (4, 0, 6), rank=0, size=2),
        process(10, (10,), (2, 8), rank=1, size=2),
    )
    found = analyse(event(*ranks))
    equal(found.whole, 0.6, 0.6, 1.0)
    equal(found.mpi, 0.9, 0.9, 1.0)
    equal(found.openmp, 0.6 / 0.9, 0.6 / 0.9, 1.0)


def test_rank_that_computes_during_mpi_is_outside_it() -> None:
    # The second thread computes while the first is in MPI.
    rank = process(10, (2, 0, 0, 0, 0, 8, 0), (9, 0, 1), rank=0, size=1)
    found = analyse(event(rank))
    equal(found.mpi, 0.9, 1.0, 0.9)
    equal(found.openmp, 0.55 / 0.9, 5.5 / 9, 1.0)


def test_slowest_rank_counts() -> None:
    ranks = (
        process(5, (5,), rank=0, size=2, openmp="none"),
        process(10, (10,), rank=1, size=2, openmp="none"),
    )
    equal(analyse(event(*ranks)).whole, 0.75, 0.75, 1.0)


def test_mpi_is_known_if_openmp_was_not_recorded() -> None:
    rank = process(10, (8, 0, 0, 0, 0, 2), rank=0, size=1, openmp="libgomp")
    found = analyse(event(rank))
    equal(found.mpi, 0.8, 1.0, 0.8)
    assert found.whole is found.openmp is None
    assert "--libomp" in found.missing["parallel efficiency"]
    found = analyse(event(rank, reason="libomp is not installed"))
    assert "libomp is not installed" in found.missing["parallel efficiency"]


ONE_OF_TWO = process(1, (1,), rank=0, size=2)


@pytest.mark.parametrize(
    ("recorded", "reason"),
    [
        (event(reason="there is no C compiler"), "there is no C compiler"),
        (event(ONE_OF_TWO), "1 of 2 ranks have times"),
        (event(ONE_OF_TWO, ONE_OF_TWO), "several programs"),
        (event(process(1, (1,)), process(1, (1,))), "several programs"),
        (event(process(1, (1,), openmp="other-tool")), "another OMPT tool"),
        (event(process(1, (0, 1))), "no thread computed"),
    ],
)
def test_reason_is_given_without_times(
    recorded: Mapping[str, Any], reason: str
) -> None:
    found = analyse(recorded)
    assert found.whole is None
    assert reason in found.missing["parallel efficiency"]
    assert any(reason in line for line in table(found))


def test_program_that_only_links_openmp_does_not_count() -> None:
    other = process(1, (1,), openmp="libgomp")
    found = analyse(event(other, process(10, (8, 2), (4, 1, 5)), other))
    equal(found.whole, 0.6, 0.75, 0.8)
    assert "--libomp" in analyse(event(other, other)).missing["parallel efficiency"]


def test_run_that_ended_before_has_a_reason() -> None:
    (line,) = table(not_recorded())
    assert "the run ended before" in line


def test_table_shows_efficiencies_and_where_the_time_went() -> None:
    lines = table(analyse(event(process(10, (8, 2), (4, 1, 5)))))
    assert lines == [
        "ranks: 1, threads: 2, recorded: 10.000 s",
        "time: useful 60.0%, OpenMP barriers 15.0%, idle 25.0%",
        "efficiency    parallel  load balance  communication",
        "all              0.600         0.750          0.800",
        "OpenMP           0.600         0.750          0.800",
        "no MPI: the program used no MPI",
    ]


SECONDS = st.floats(0, 1)


@given(
    st.lists(st.lists(SECONDS, min_size=1, max_size=4), min_size=1, max_size=4),
    st.lists(SECONDS, min_size=4, max_size=4),
)
def test_efficiencies_are_shares_and_products(
    useful: list[list[float]], in_mpi: list[float]
) -> None:
    assume(max(map(max, useful)) > 1e-3)
    ranks = [
        process(
            1,
            *((t * (1 - in_mpi[r]) if n == 0 else t,) for n, t in enumerate(times)),
            rank=r,
            size=len(useful),
        )
        for r, times in enumerate(useful)
    ]
    for r, rank in enumerate(ranks):
        rank["threads"][0][6] = int(in_mpi[r] * SECOND)
    found = analyse(event(*ranks))
    assume(found.whole)
    assert found.whole
    assert found.mpi
    assert found.openmp
    for one in (found.whole, found.mpi):
        for value in (one.parallel, one.load_balance, one.communication):
            assert 0 < value <= 1
        assert one.load_balance * one.communication == pytest.approx(one.parallel)
    assert 0 < found.openmp.parallel <= 1
    assert 0 < found.openmp.communication <= 1
    assert found.mpi.parallel * found.openmp.parallel == pytest.approx(
        found.whole.parallel
    )
