"""Slices of a thread in rows in which every end ends the last that began."""

from hypothesis import given
from hypothesis import strategies as st

from observations.timeline.slices import Slice, in_time_order, region_slices, rows

SLICES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 12)).map(
        lambda pair: Slice(pair[0], sum(pair), f"{pair}")
    )
)


def drawn(row: list[Slice]) -> list[Slice]:
    """Return what a reader draws that ends the last slice that began."""
    open_: list[Slice] = []
    found, before = [], 0
    for at, one in in_time_order(row):
        assert at >= before
        before = at
        if one:
            open_.append(one)
        else:
            found.append(open_.pop()._replace(end=at))
    assert not open_
    return found


@given(SLICES)
def test_rows_draw_every_slice_as_it_was(slices: list[Slice]) -> None:
    found = [one for row in rows(slices) for one in drawn(row)]
    assert sorted(found) == sorted(slices)


def test_nested_slices_are_in_one_row_and_overlapping_ones_are_not() -> None:
    outer, inner, next_ = Slice(0, 9, "o"), Slice(2, 9, "i"), Slice(9, 12, "n")
    assert rows([inner, next_, outer]) == [[outer, inner, next_]]
    across = Slice(8, 11, "x")
    assert rows([outer, inner, across, next_]) == [[outer, inner, next_], [across]]


def test_threads_are_named_and_in_order() -> None:
    def thread(rank: int, number: int, *, piped: bool = False) -> dict[str, object]:
        about = {"rank": rank, "process": 4, "thread": number, "piped": piped}
        return {**about, "times": [], "slices": [[0, 1, 2]]}

    none = {**thread(0, 3), "slices": []}
    threads = [
        thread(-1, 0, piped=True),
        thread(1, 0),
        none,
        thread(0, 1),
        thread(0, 0),
    ]
    event = {"regions": [[-1, "solve"]], "threads": [*threads, thread(-1, 2)]}
    found = list(region_slices(event))
    assert [one.name for one in found] == [
        *("process 4, thread 2", "rank 0, thread 0", "rank 0, thread 1"),
        *("rank 1, thread 0", "lines in $SUPERTWIN_REGIONS"),
    ]
    assert found[0].slices == [Slice(1, 2, "solve")]


def test_older_events_have_no_slices() -> None:
    thread = {"rank": 0, "process": 0, "thread": 0, "piped": False, "times": []}
    assert not list(region_slices({"regions": [], "threads": [thread]}))
