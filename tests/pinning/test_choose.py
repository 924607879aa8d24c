"""Choices on a made-up machine, their reasons, and their refusals."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core.stores.endpoint import Endpoint
from pinning.choose import choose, from_rows
from pinning.errors import LimitError, PinningError, PlaceError, PolicyError
from pinning.placement import PolicyFacts
from pinning.policy import read_policy
from pinning.tree import ThreadDomain, Tree
from tests.pinning.conftest import BIG
from tests.pinning.table import computed, load

KNOWN = PolicyFacts(
    near={("gpu", "gpu0"): [8, 9, 24, 25], ("nic", "nic0"): [0, 9, 16, 25]},
    cores={"p": range(8), "e": range(8, 16)},
)


def cpus(tree: Tree, text: str, count: int | None, known: PolicyFacts | None = None):
    return list(choose(tree, read_policy(text), count, known).cpus)


@pytest.fixture(scope="module")
def stored(twin: Endpoint, made_up: Callable[[str], tuple[Tree, Path]]) -> Endpoint:
    """The store with the machine, which spreads threads over it."""
    tree, path = made_up(BIG)
    load(twin, path, tree.host)
    return twin


@pytest.mark.parametrize(
    ("text", "count", "expected"),
    [
        ("compact", 5, [0, 16, 1, 17, 2]),
        ("compact-cores", 5, [0, 1, 2, 3, 4]),
        ("scatter", 4, [0, 4, 8, 12]),
        ("distinct:l3", 4, [0, 2, 4, 6]),
        ("distinct:socket", 2, [0, 8]),
        ("distinct:numa+scatter", 2, [0, 8]),
        ("share:l3", 4, [0, 16, 1, 17]),
        ("share:l3:of=21", 3, [4, 20, 5]),
        ("share:socket:of=8+distinct:l3", 4, [8, 10, 12, 14]),
        ("per:socket=2+distinct:l1", None, [0, 1, 8, 9]),
        ("per:l3=1+scatter", 4, [0, 2, 4, 6]),
        ("per:numa=2+share:l3+compact-cores", 4, [0, 1, 4, 5]),
        ("per:numa=1+distinct:socket", 2, [0, 8]),
        ("per:core=1+distinct:l3", 4, [0, 2, 4, 6]),
        ("per:core=1+distinct:l3+scatter", 3, [0, 2, 4]),
        ("exclude:0-7,16+compact", 3, [17, 18, 19]),
        ("near:gpu=gpu0", 3, [8, 24, 9]),
        ("near:gpu=gpu0+distinct:core", 2, [8, 9]),
        ("near:gpu=gpu0+near:nic=nic0+exclude:9", 1, [25]),
        ("cores:e+exclude:8", 2, [9, 10]),
        ("exclude:0+exclude:16", 1, [1]),
        ("likwid:S0:0-1@S1:0-1", None, [0, 1, 8, 9]),
    ],
)
def test_order_matches_the_documented_one(
    tree: Tree, stored: Endpoint, text: str, count: int | None, expected: list[int]
) -> None:
    assert computed(stored, tree, read_policy(text), count, KNOWN) == expected


def test_placement_names_the_sets_over_which_to_spread(tree: Tree) -> None:
    made = choose(tree, read_policy("per:socket=2+scatter"), None)
    assert made.unspread == (
        frozenset({*range(8), *range(16, 24)}),
        frozenset({*range(8, 16), *range(24, 32)}),
    )
    spread = {made.unspread[0]: (0, 4), made.unspread[1]: (8, 12)}
    known = PolicyFacts(spread=spread)
    final = choose(tree, read_policy("per:socket=2+scatter"), None, known)
    assert (final.cpus, final.unspread) == ((0, 4, 8, 12), ())


@pytest.mark.parametrize(
    ("text", "count", "message"),
    [
        ("distinct:l3", 30, "8 L3 caches, 30 asked"),
        ("compact", 33, "32 threads may be used, 33 asked"),
        ("compact-cores", 17, "16 cores, 17 asked"),
        ("share:l3", 5, "no L3 cache of m0 has room for 5 threads: the largest has 4"),
        ("share:l3:of=4", 5, "not the L3 cache of CPU 4 of m0 has room for 5"),
        ("share:l3+distinct:core", 3, "that share no core: the largest has 2, 3 asked"),
        ("share:l3+exclude:14-15", 5, "no L3 cache of m0 has room for 5 threads: the "),
        ("share:l3+exclude:14-15", 5, "the largest has 4, 5 asked"),
        ("share:socket+share:l3", 5, "room in one L3 cache for 5 threads: the largest"),
        ("share:socket+share:l3", 5, "the largest has 4, 5 asked"),
        ("share:socket+share:l2:of=31", 3, "no socket of m0 has room in the L2 cache "),
        (
            "share:socket+share:l2:of=31",
            3,
            "of CPU 31 for 3 threads: the largest has 2",
        ),
        ("share:l3+exclude:0-30+distinct:core", 2, "core: the largest has 1, 2 asked"),
        ("share:die", 1, "m0 has no die"),
        ("share:socket+share:die", 1, "m0 has no die"),
        ("distinct:die", 1, "m0 has no die"),
        ("per:die=1", None, "m0 has no die"),
        ("per:socket=3", 4, "multiples of 3 threads, 4 asked"),
        ("per:socket=3", 9, "2 sockets of m0 can take 3 threads, 3 asked"),
        ("per:socket=9+distinct:l1", None, "socket 0 of m0: 8 L1 caches, 9 asked"),
        (
            "per:numa=1+distinct:socket",
            3,
            "2 NUMA domains of m0 can take 1 thread that",
        ),
        ("per:numa=1+distinct:socket", None, "that share no socket, 4 asked"),
        ("per:numa=9+distinct:socket", None, "NUMA domain 0 of m0: 1 socket, 9 asked"),
        ("per:core=2+distinct:l2", 4, "0 cores of m0 can take 2 threads that share no"),
        ("exclude:0-31", 1, "exclude leaves no CPU of the 32 of m0"),
        ("exclude:8-9,24-25+near:gpu=gpu0", 1, "near:gpu=gpu0 leaves no CPU of the 28"),
        ("exclude:0-7+cores:p+per:die=1", 1, "cores:p leaves no CPU of the 24 of m0"),
        ("likwid:S0:0-80", None, "S0:0-80: 16 threads there, 81 asked"),
        ("likwid:S0:0", 2, "names 1 CPU, 2 asked"),
    ],
)
def test_impossible_count_is_refused_with_the_limit(
    tree: Tree, text: str, count: int | None, message: str
) -> None:
    with pytest.raises(LimitError) as caught:
        cpus(tree, text, count, KNOWN)
    assert message in str(caught.value).replace(tree.host, "m0")


def test_rows_of_a_query_are_the_placement(tree: Tree) -> None:
    """Rows in another order show that they are not computed again."""
    policy, facts = read_policy("compact"), PolicyFacts()
    assert from_rows(tree, policy, 2, facts, [9, 3]).cpus == (9, 3)
    with pytest.raises(LimitError, match="changed in the meantime"):
        from_rows(tree, policy, 2, facts, [9])
    with pytest.raises(LimitError, match="multiples of 2 threads, 3 asked"):
        from_rows(tree, read_policy("per:socket=2"), 3, facts, [0, 1, 8])
    with pytest.raises(LimitError, match="has no die"):
        from_rows(tree, read_policy("per:die=1"), None, facts, [])


def test_distinct_skips_threads_without_the_component() -> None:
    """Two sockets and two L2 caches, but both caches on one socket."""
    held = [("socket", {0, 1}), ("socket", {2, 3}), ("l2", {0}), ("l2", {1})]
    things = [
        ThreadDomain(kind, f"{kind}-{min(some)}", frozenset(some))
        for kind, some in held
    ]
    every = frozenset(range(4))
    uneven = Tree("h", every, every, tuple(things))
    with pytest.raises(LimitError, match="^1 thread that share no socket and no L2"):
        cpus(uneven, "distinct:socket+distinct:l2", 2)


@pytest.mark.parametrize(
    ("text", "count", "error", "message"),
    [
        ("compact", 0, PolicyError, "0 threads: ask for 1 to"),
        ("compact", -3, PolicyError, "-3 threads"),
        ("compact", 10**9, PolicyError, "1000000000 threads"),
        ("compact", None, PolicyError, "needs the number of threads"),
        ("exclude:99", 1, PlaceError, "has no CPU 99; its last is 31"),
        ("share:l3:of=99", 1, PlaceError, "has no CPU 99"),
        ("idle", 1, PlaceError, "leave idle out"),
        ("likwid:0,99", None, PlaceError, "CPU 99 of"),
        ("likwid:S9:0", None, PlaceError, "has no S9; it has: S0, S1"),
        ("likwid:0,0", None, PlaceError, "CPU 0 more than once"),
    ],
)
def test_invalid_request_gives_one_line(
    tree: Tree, text: str, count: int | None, error: type[PinningError], message: str
) -> None:
    with pytest.raises(error) as caught:
        cpus(tree, text, count)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_offline_sibling_is_not_busy(tree: Tree) -> None:
    some = replace(tree, allowed=tree.allowed - {19, 24, 25, 26, 27})
    load = dict.fromkeys(some.allowed, 0.3)
    assert cpus(some, "idle", 1, PolicyFacts(load=load | {3: 0.0})) == [3]
    eight = dict.fromkeys(range(8, 16), 0.0)
    assert cpus(some, "idle+share:socket", 1, PolicyFacts(load=load | eight)) == [8]


def test_shared_domain_is_the_idlest_one(tree: Tree) -> None:
    load = PolicyFacts(
        load=dict.fromkeys(range(32), 0.5) | dict.fromkeys(range(12, 16), 0.0)
    )
    assert cpus(tree, "per:numa=1+distinct:socket+idle", 2, load) == [12, 0]


def test_threads_that_are_offline_are_never_chosen(tree: Tree) -> None:
    some = replace(tree, allowed=tree.allowed - {0, 16, 1})
    assert cpus(some, "compact", 2) == [17, 2]
    assert cpus(some, "distinct:l3", 2) == [17, 2]
    with pytest.raises(LimitError, match="15 cores, 16 asked"):
        cpus(some, "compact-cores", 16)
    for text in ("likwid:0", "share:l3:of=0"):
        with pytest.raises(PlaceError, match="CPU 0 .* offline or not allowed"):
            cpus(some, text, 1)
    assert "CPUs 0-1,16 are offline" in choose(some, read_policy("compact"), 1).reason
    with pytest.raises(PlaceError, match="probe it"):
        cpus(replace(tree, allowed=frozenset()), "compact", 1)


def test_idlest_cores_come_first(tree: Tree) -> None:
    load = dict.fromkeys(range(32), 0.0) | {0: 0.9, 1: 0.5, 17: 0.5, 2: 0.01}
    assert cpus(tree, "idle", 3, PolicyFacts(load=load)) == [2, 18, 3]
    assert cpus(tree, "idle+distinct:l3", 8, PolicyFacts(load=load))[-1] == 16
    # Cores rank by their mean load; in a core, the idler thread comes first.
    uneven = dict.fromkeys(range(32), 0.3) | {0: 0.0, 16: 0.9, 1: 0.4, 17: 0.1}
    assert cpus(tree, "idle", 2, PolicyFacts(load=uneven)) == [17, 1]
    # A thread that is not sampled counts as fully busy.
    assert cpus(tree, "idle", 1, PolicyFacts(load={7: 0.1, 23: 0.1})) == [7]
    # The socket with the lowest load is the shared one.
    assert cpus(tree, "idle+share:socket", 1, PolicyFacts(load=load)) == [8]


def test_reason_describes_every_step(tree: Tree) -> None:
    text = "per:socket=2+distinct:l1+exclude:0+near:gpu=gpu0"
    near = PolicyFacts(near={("gpu", "gpu0"): range(32)})
    reason = choose(tree, read_policy(text), None, near).reason
    for message in (
        "4 threads on",
        "CPUs 16,1,8,9.",
        "CPU 0 is excluded.",
        "Nearest to gpu gpu0 are CPUs 0-31.",
        "2 on each of 2 sockets.",
        "No two share an L1 cache: there are 16 L1 caches.",
        "in the order of the topology tree",
    ):
        assert message in reason
