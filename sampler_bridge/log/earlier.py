"""The segments that earlier processes left in the folder of a log."""

from pathlib import Path
from typing import NamedTuple

from sampler_bridge.log.batch import Position
from sampler_bridge.log.segment import (
    Segment,
    open_segment,
    segment_numbers,
    segment_path,
)


class ClosedSegments(NamedTuple):
    """Segments, oldest first; damaged stretches and torn bytes of all of them."""

    segments: list[Segment]
    damaged: int
    torn_bytes: int


def open_closed(folder: Path, taken: Position) -> ClosedSegments:
    """Open all segments of a folder; the queue starts at ``taken``.

    Raises OSError with the file's name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    segments, damaged, torn = [], 0, 0
    for number in segment_numbers(folder):
        done_before = taken.offset if number == taken.segment else 0
        segment, damage = open_segment(segment_path(folder, number), done_before)
        if number < taken.segment:
            segment.done = segment.points
        segments.append(segment)
        damaged += damage.stretches
        torn += damage.torn_bytes
    return ClosedSegments(segments, damaged, torn)
