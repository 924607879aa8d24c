"""Values that a source gives but the twin leaves out, each with its reason.

A reader reports them at any depth, and the caller of the reader collects them. Each
thread has its own list.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# One damaged file must not fill the graph.
MOST = 100
_LONGEST = 200
_found: ContextVar[list[str] | None] = ContextVar("gaps", default=None)


@contextmanager
def collected_gaps() -> Iterator[list[str]]:
    """Collect the gaps that this block reports: MOST lines and a count of the rest."""
    gaps: list[str] = []
    token = _found.set(gaps)
    try:
        yield gaps
    finally:
        _found.reset(token)
        gaps[:] = dict.fromkeys(gaps)
        if len(gaps) > MOST:
            gaps[MOST:] = [f"{len(gaps) - MOST} more values were left out"]


def report_gap(what: str, value: object, expected: str) -> None:
    """Report that a value was left out: ``size of sda: '' is not a number``."""
    gaps = _found.get()
    if gaps is not None:
        text = f"{what}: {value!r} is not {expected}"
        gaps.append(" ".join(text.split())[:_LONGEST])
