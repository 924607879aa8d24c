"""The regions of a run in a few lines of text."""

from collections.abc import Iterator

from observations.regions.regions import Region, RegionRecord

_HEAD = (
    f"{'region':32}{'threads':>8}{'count':>10}{'seconds':>12}{'of run':>8}{'CPU s':>12}"
)
_MOST = 15
_COUNTED = {
    "omitted": ("region", "left out: there are too many, or they are too deep"),
    "unbalanced": ("end", "without a beginning"),
    "unfinished": ("region", "without an end"),
    "unreadable": ("line", "other than `begin NAME` and `end NAME`"),
}


def table(record: RegionRecord, seconds: float) -> list[str]:
    """Return a line for each region of a run of ``seconds``, and what is missing.

    A region is indented below the region around it.
    """
    shown = [one for one in _in_order(record) if one.times]
    lines = [_HEAD] if shown else []
    lines += [_row(record, one, seconds) for one in shown[:_MOST]]
    if len(shown) > _MOST:
        more = _counted(len(shown) - _MOST, "more region")
        lines.append(f"{more}: see observations/regions")
    return [*lines, *_missing(record)]


def _in_order(record: RegionRecord) -> Iterator[Region]:
    """Yield the regions so that each is followed by those within it."""
    within: dict[int, list[int]] = {}
    for number, region in enumerate(record.regions):
        within.setdefault(region.parent, []).append(number)
    waiting = within.get(-1, [])[::-1]
    while waiting:
        number = waiting.pop()
        yield record.regions[number]
        waiting += within.get(number, [])[::-1]


def _row(record: RegionRecord, region: Region, seconds: float) -> str:
    depth, parent = 0, region.parent
    while parent >= 0:
        depth, parent = depth + 1, record.regions[parent].parent
    name = f"{'  ' * min(depth, 10)}{region.name}"
    shown = name if len(name) <= 31 else f"{name[:30]}…"
    share = region.seconds / seconds if seconds else 0.0
    cpu = "" if region.cpu is None else f"{region.cpu:.6f}"
    return (
        f"{shown:32}{len(region.times):8}{region.entries:10}{region.seconds:12.6f}"
        f"{share:8.1%}{cpu:>12}"
    )


def _missing(record: RegionRecord) -> Iterator[str]:
    for reason in record.missing:
        yield f"regions: {reason}"
    for event, reason in record.events.items():
        if reason:
            yield f"regions: {event}: {reason}"
    for name, (noun, text) in _COUNTED.items():
        if number := getattr(record, name):
            yield f"regions: {_counted(number, noun)} {text}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
