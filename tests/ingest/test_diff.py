"""How two states of a host differ, from their descriptions alone."""

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from core.stores.results import TermRows
from ingest.history.changes import changes
from ingest.history.diff import difference
from ingest.history.states import HostState
from queries.natural_order import natural
from tests.ingest.documents import IRIS, describe_json
from tests.ingest.test_history import BANKS, HOST, probed

PROBES = st.lists(
    st.tuples(st.sampled_from(["6.1", "6.2"]), st.sets(st.integers(0, 3), max_size=3)),
    min_size=2,
    max_size=5,
)


@settings(max_examples=40, deadline=None)
@given(PROBES)
def test_diff_equals_the_difference_of_two_descriptions(
    seen: list[tuple[str, set[int]]],
) -> None:
    """Compares the last state with the first; the facts give the expected result."""
    described = [
        describe_json(
            probed(os={"kernel": kernel}, banks=[BANKS[number] for number in banks]),
            IRIS,
        ).twin
        for kernel, banks in seen
    ]
    rows: list[list[Any]] = []
    for number, (old, new) in enumerate(pairwise(described), 2):
        delta = difference(old.ntriples().encode(), new, IRIS.host(HOST))
        rows += [[number, "removed", *fact] for fact in delta.removed]
        rows += [[number, "added", *fact] for fact in delta.added]
    numbered = {n: HostState(n, "", "", "", 1, "", True) for n in range(1, 9)}
    found = changes(
        TermRows(["number", "way", "s", "p", "o"], rows), IRIS, HOST, numbered
    )
    (kernel, before), (new_kernel, after) = seen[0], seen[-1]
    expected = {("vanished", f"memory/{BANKS[n]['slot']}") for n in before - after}
    expected |= {("appeared", f"memory/{BANKS[n]['slot']}") for n in after - before}
    expected |= {("changed", "host")} if kernel != new_kernel else set()
    assert {(change.what, change.name) for change in found} == expected


def test_names_are_in_natural_order() -> None:
    names = ["core-10", "core-2", "a", "a/10", "a/9"]
    expected = ["a", "a/9", "a/10", "core-2", "core-10"]
    assert sorted(names, key=natural) == expected
