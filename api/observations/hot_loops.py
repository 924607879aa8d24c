"""The hot loops of a run, as its page shows them."""

from dataclasses import dataclass

from api.nodes import Node
from api.observations.search import Row, rows
from api.services import Services
from ontology.figures import figures
from ontology.terms import ST

QUERY = "observations/hot-loops"
_CYCLES = ("sequential", "path", "chain", "predicted", "perfect")
_DIGITS = 3


@dataclass(frozen=True)
class LoopRow:
    """A loop; ``cycles`` are texts of its bounds. Without a share, there is no loop."""

    place: str
    function: str
    binary: str
    share: str
    cycles: list[str]
    limit: str
    processor: str
    missing: str


async def find_loops(services: Services, node: Node) -> list[LoopRow]:
    """Return the loops of a run; none if they were not requested."""
    # Few runs have them, and the page need not wait for a query without an answer.
    if (node.iri, ST.hasLoopAnalysis, None) not in node.graph:
        return []
    return [_row(one) for one in await rows(services, QUERY, {"id": str(node.iri)})]


def _row(row: Row) -> LoopRow:
    source, address = row["source"], row["address"]
    place = f"{str(source).rpartition('/')[2]}:{row['line']}" if source else ""
    return LoopRow(
        place or (f"{int(address):#x}" if address is not None else ""),
        str(row["function"] or ""),
        str(row["binary"] or ""),
        f"{float(row['share']):.1%}" if row["share"] is not None else "",
        [
            figures(float(row[n]), _DIGITS) if row[n] is not None else ""
            for n in _CYCLES
        ],
        str(row["boundBy"] or ""),
        str(row["processor"] or "an unknown processor"),
        str(row["missing"] or ""),
    )
