"""File I/O of a run, as its page shows it."""

from dataclasses import dataclass

from api.nodes import Node
from api.observations.figures import duration
from api.observations.search import Row, rows
from api.services import Services
from ontology.figures import figures
from ontology.terms import ST

QUERY = "observations/io"
_MOST = 50
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


@dataclass(frozen=True)
class ShownFile:
    """The I/O of a file in texts; ``bytes`` are those read and written."""

    file: str
    interface: str
    ranks: int
    read: str
    written: str
    bytes: tuple[int, int]
    reads: int
    writes: int
    opens: int
    seconds: float
    took: str


@dataclass(frozen=True)
class ShownIo:
    """The files with the most bytes; ``more`` rows are not shown."""

    files: list[ShownFile]
    more: int


async def find_io(services: Services, node: Node) -> ShownIo | None:
    """Return the file I/O of a run; None if no log of it was imported."""
    if (node.iri, ST.hasIoRecord, None) not in node.graph:
        return None
    found = await rows(services, QUERY, {"id": str(node.iri)})
    return ShownIo([_file(row) for row in found[:_MOST]], max(0, len(found) - _MOST))


def _file(row: Row) -> ShownFile:
    read, written = int(row["read"]), int(row["written"])
    times = (row["readSeconds"], row["writeSeconds"], row["metaSeconds"])
    seconds = sum(map(float, times))
    return ShownFile(
        str(row["file"] or f"{row['files']} other files"),
        str(row["interface"]),
        int(row["ranks"]),
        _size(read),
        _size(written),
        (read, written),
        int(row["reads"]),
        int(row["writes"]),
        int(row["opens"]),
        seconds,
        duration(seconds),
    )


def _size(number: int) -> str:
    """Return a number of bytes with three digits and a unit."""
    power = min(max(number.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{figures(number / 1024**power, 3)} {_UNITS[power]}"
