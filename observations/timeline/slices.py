"""Divides the slices of time that threads spent in regions into rows for a timeline."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple


class Slice(NamedTuple):
    """What a thread did from ``begin`` to ``end``, in Unix ns."""

    begin: int
    end: int
    name: str


class ThreadSlices(NamedTuple):
    """The slices of one thread; ``name`` is the name of its track."""

    name: str
    slices: Sequence[Slice]


def region_slices(event: Mapping[str, Any]) -> Iterator[ThreadSlices]:
    """Yield the regions of each thread in a runner's event, ordered by rank."""
    return _slices([name for _, name in event["regions"]], event["threads"])


def call_slices(event: Mapping[str, Any]) -> Iterator[ThreadSlices]:
    """Yield when each thread was in MPI and OpenMP; nothing unless it was traced."""
    trace = event.get("trace")
    return _slices(trace["names"], trace["threads"]) if trace else iter(())


def _slices(
    names: Sequence[str], threads: Sequence[Mapping[str, Any]]
) -> Iterator[ThreadSlices]:
    for thread in sorted(threads, key=_place):
        found = [
            Slice(begin, end, names[at]) for at, begin, end in thread.get("slices", ())
        ]
        if found:
            yield ThreadSlices(_thread_name(thread), found)


def _place(thread: Mapping[str, Any]) -> tuple[bool, int, int, int]:
    piped = thread.get("piped", False)
    return piped, thread["rank"], thread["process"], thread["thread"]


def _thread_name(thread: Mapping[str, Any]) -> str:
    if thread.get("piped"):
        return "lines in $SUPERTWIN_REGIONS"
    process = f"process {thread['process']}"
    rank = f"rank {thread['rank']}" if thread["rank"] >= 0 else process
    return f"{rank}, thread {thread['thread']}"


def rows(slices: Iterable[Slice]) -> list[list[Slice]]:
    """Divide slices into rows in which any two slices are nested or disjoint.

    Regions may overlap, but an end in a row always ends the slice that began last.
    """
    found: list[list[Slice]] = []
    open_: list[list[int]] = []
    for one in sorted(slices, key=lambda one: (one.begin, -one.end)):
        at = next((n for n, ends in enumerate(open_) if _fits(one, ends)), len(found))
        if at == len(found):
            found.append([])
            open_.append([])
        found[at].append(one)
        open_[at].append(one.end)
    return found


def _fits(one: Slice, ends: list[int]) -> bool:
    """Remove the ends before a slice, and return whether it is inside the others."""
    while ends and ends[-1] <= one.begin:
        ends.pop()
    return not ends or one.end <= ends[-1]


def in_time_order(row: Iterable[Slice]) -> Iterator[tuple[int, Slice | None]]:
    """Yield the begin of each slice with the slice, and each end with None, by time.

    ``row`` is one of those that `rows` returns.
    """
    open_: list[int] = []
    for one in row:
        while open_ and open_[-1] <= one.begin:
            yield open_.pop(), None
        yield one.begin, one
        open_.append(one.end)
    while open_:
        yield open_.pop(), None
