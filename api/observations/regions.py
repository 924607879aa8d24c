"""Regions of a run, as its page shows them."""

from dataclasses import dataclass

from api.observations.figures import duration
from api.observations.search import Row, rows
from api.services import Services
from ontology.figures import figures

QUERY = "observations/regions"
_MOST = 100


@dataclass(frozen=True)
class ShownRegion:
    """A region in texts; ``raw`` is its time in seconds."""

    path: str
    threads: str
    count: str
    took: str
    raw: str
    share: str
    cpu: str
    figures: str


@dataclass(frozen=True)
class ShownRegions:
    """The regions that took the longest; ``more`` are not shown."""

    regions: list[ShownRegion]
    more: int
    missing: str


async def find_regions(services: Services, iri: str) -> ShownRegions | None:
    """Return the regions of a run; None if they were not requested."""
    found = await rows(services, QUERY, {"id": iri})
    if not found:
        return None
    named = [row for row in found if row["region"] is not None]
    shown = [_region(row) for row in named[:_MOST]]
    return ShownRegions(shown, len(named) - len(shown), str(found[0]["missing"] or ""))


def _region(row: Row) -> ShownRegion:
    cpu, share = row["cpuSeconds"], row["share"]
    return ShownRegion(
        str(row["region"]),
        str(row["threads"]),
        str(row["count"]),
        duration(float(row["seconds"])),
        figures(float(row["seconds"]), 15),
        "" if share is None else f"{figures(100 * float(share), 3)} %",
        "" if cpu is None else duration(float(cpu)),
        str(row["figures"] or ""),
    )
