"""Values that a source gives and that the twin does without, each with its reason.

A reader reports them from wherever it stands; who asked it collects them. Each thread
has a list of its own.
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
    """The gaps that this block reports, at most MOST and a line for the rest."""
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
    """Say that a value was left out: ``size of sda: '' is not a number``."""
    gaps = _found.get()
    if gaps is not None:
        text = f"{what}: {value!r} is not {expected}"
        gaps.append(" ".join(text.split())[:_LONGEST])
