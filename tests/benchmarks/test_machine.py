"""Thread sets and sizes of memory, from the topology of made-up machines."""

from dataclasses import replace

import pytest

from benchmarks.errors import BenchmarkMachineError
from benchmarks.machine import Cache, Domain, Machine, ThreadSet, machine_of
from benchmarks.suites import FULL, QUICK, SUITES
from core.stores.endpoint import Endpoint
from queries.errors import UnknownHostError
from tests.servers import Fuseki

KIB, MIB = 1024, 1024 * 1024


def two_sockets(l3: int = 32 * MIB) -> Machine:
    """Two sockets of four cores with two threads each: CPUs 0 to 7, then 8 to 15."""
    cores = [frozenset({core, core + 8}) for core in range(8)]
    caches = [Cache(1, 32 * KIB, core) for core in cores]
    caches += [Cache(2, MIB, core) for core in cores]
    for first in (0, 4):
        shared = frozenset().union(*cores[first : first + 4])
        caches.append(Cache(3, l3, shared))
    return Machine("n1", (4, 4), (8, 8), tuple(caches))


def with_domains(*cpus: set[int]) -> Machine:
    domains = (Domain(n, frozenset(each)) for n, each in enumerate(cpus))
    return replace(two_sockets(), domains=tuple(domains))


def test_remote_memory_is_that_of_the_next_domain() -> None:
    machine = with_domains({0, 1, 2, 3, 8, 9, 10, 11}, {4, 5, 6, 7, 12, 13, 14, 15})
    assert machine.remote_domains([5, 0, 4]) == [1, 0, 0]
    words = SUITES["carm"].command("carm", machine, range(8), QUICK)
    assert words[-2:] == [
        f"DRAM:{32 * MIB}",
        f"remote DRAM:{32 * MIB}@1,1,1,1,0,0,0,0",
    ]


def test_domain_without_cpus_is_remote_to_others() -> None:
    assert with_domains({*range(16)}, set()).remote_domains([0, 7]) == [1, 1]


def test_machine_without_a_second_domain_has_no_remote_memory() -> None:
    assert two_sockets().remote_domains([0]) == []
    assert with_domains({*range(16)}).remote_domains([0]) == []
    assert with_domains({0}, {1}).remote_domains([0, 2]) == []


def test_thread_sets_are_those_of_the_topology() -> None:
    sets = two_sockets().thread_sets(quick=False)
    assert sets == [
        *(ThreadSet(count, "compact-cores") for count in (1, 2, 4, 8)),
        ThreadSet(16, "compact"),
    ]
    assert two_sockets().thread_sets(quick=True) == [ThreadSet(8, "compact-cores")]


def test_pairs_of_ranks_are_near_and_far() -> None:
    sets = two_sockets().rank_sets(quick=True)
    pairs = [ThreadSet(2, name) for name in ("compact-cores", "compact", "scatter")]
    assert sets == [*pairs, ThreadSet(8, "compact-cores")]
    single = Machine("n1", (1,), (1,), ())
    assert single.rank_sets(quick=False) == []
    with pytest.raises(BenchmarkMachineError, match="needs 2 CPUs") as caught:
        SUITES["mpi"].sets(single, [], FULL)
    assert caught.value.code == "benchmark-machine"
    with pytest.raises(BenchmarkMachineError):
        SUITES["mpi"].sets(two_sockets(), [1], FULL)


def test_given_numbers_replace_the_suggested_ones() -> None:
    assert SUITES["stream"].sets(two_sockets(), [3], FULL) == [
        ThreadSet(3, "compact-cores")
    ]
    assert len(SUITES["stream"].sets(two_sockets(), [], FULL)) == 5


def test_sizes_are_half_of_the_share_of_each_cache() -> None:
    assert two_sockets().levels([0, 1]) == {
        **{"L1": 16 * KIB, "L2": 512 * KIB, "L3": 8 * MIB},
        "DRAM": 64 * MIB,
    }


def test_threads_of_a_core_share_its_caches() -> None:
    levels = two_sockets().levels([0, 8])
    assert (levels["L1"], levels["L2"]) == (8 * KIB, 256 * KIB)


def test_small_share_of_a_cache_ends_above_the_level_below() -> None:
    levels = two_sockets(l3=5 * MIB).levels([0, 1, 2, 3])
    assert MIB < levels["L3"] == (5 * MIB // 4 + MIB) // 2


def test_level_that_adds_nothing_is_left_out() -> None:
    assert "L3" not in two_sockets(l3=2 * MIB).levels([0, 1, 2, 3])


def test_memory_exceeds_the_last_level_of_all_sockets_that_are_used() -> None:
    machine = two_sockets()
    assert machine.last_level([0]) == 32 * MIB
    assert machine.last_level([0, 4]) == 64 * MIB
    assert machine.levels([0, 4])["DRAM"] * 2 == 4 * 64 * MIB


def test_arrays_of_stream_have_four_times_the_caches() -> None:
    words = SUITES["stream"].arguments(two_sockets(), [0, 4], FULL)
    assert int(words[1]) * 8 == 4 * 64 * MIB
    small = Machine("n1", (1,), (1,), (Cache(1, 32 * KIB, frozenset({0})),))
    assert SUITES["stream"].arguments(small, [0], QUICK)[1] == "10000000"


def test_unknown_host_is_named(emptied_fuseki: Fuseki) -> None:
    with (
        Endpoint(f"{emptied_fuseki.url}/twin") as twin,
        pytest.raises(UnknownHostError, match="no host 'n9'") as caught,
    ):
        machine_of(twin, "n9")
    assert caught.value.code == "unknown-host"
