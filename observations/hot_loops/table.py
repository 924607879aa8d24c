"""The hot loops of a run in a few lines of text."""

from collections.abc import Iterator

from observations.hot_loops.analysis import HotLoop, LoopAnalysis

_SHOWN = 5
_NAME = 24
_HEAD = (
    f"{'hot loop':{_NAME}}{'share':>7}{'sequential':>12}{'path':>7}{'chain':>7}"
    f"{'predicted':>11}{'perfect':>9}  limit"
)


def table(analysis: LoopAnalysis) -> list[str]:
    """Return a line for each of the hottest loops, and one for how they were found."""
    return list(_lines(analysis))


def _lines(analysis: LoopAnalysis) -> Iterator[str]:
    if analysis.reason:
        yield f"no hot loops: {analysis.reason}"
        return
    how = f"samples of {analysis.sampler}: {analysis.samples}"
    if analysis.analyser:
        how += f", cycles of an iteration by {analysis.analyser} for {analysis.cpu}"
    yield f"hot loops: {len(analysis.loops)}, {how}"
    if analysis.note:
        yield analysis.note
    if analysis.loops:
        yield _HEAD
    yield from map(_loop, analysis.loops[:_SHOWN])
    for one in analysis.functions[:_SHOWN] if not analysis.loops else ():
        why = f" ({one.reason})" if one.reason else ""
        yield f"{one.share:.1%} in {one.title} of {one.binary}{why}"


def _loop(loop: HotLoop) -> str:
    bounds = loop.bounds
    start = f"{_name(loop):{_NAME}}{loop.share:7.1%}"
    if bounds is None:
        return f"{start}  {loop.reason}"
    path = _figure(bounds.chains.critical_path if bounds.chains else None, 7)
    chain = _figure(bounds.chains.carried if bounds.chains else None, 7)
    return (
        f"{start}{bounds.sequential:12.1f}{path}{chain}{bounds.scheduled:11.1f}"
        f"{bounds.perfect:9.1f}  {bounds.limit}"
    )


def _figure(value: float | None, width: int) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:{width}.1f}"


def _name(loop: HotLoop) -> str:
    """Return the place in the source, else the address; long names are cut."""
    if loop.source:
        name = f"{loop.source[0].rpartition('/')[2]}:{loop.source[1]}"
    else:
        name = f"{loop.function.title}+{loop.start - loop.function.start:#x}"
    return name if len(name) < _NAME else f"{name[: _NAME - 2]}…"
