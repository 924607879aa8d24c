"""Derived figures of a run, as its page shows them."""

from dataclasses import dataclass

from api.metrics import unit_of
from api.observations.figures import figure
from api.observations.search import Row, rows
from api.services import Services
from dashboards.units import local_name
from ontology.figures import figures

QUERY = "observations/derived"


@dataclass(frozen=True)
class DerivedRow:
    """One figure, or why there is none; ``counted`` is the share of time counted."""

    name: str
    text: str
    raw: str
    counted: str
    reason: str


async def find_derived(services: Services, iri: str) -> list[DerivedRow]:
    """Return all figures of a run, by name; raises EndpointError."""
    return [_derived(row) for row in await rows(services, QUERY, {"id": iri})]


def _derived(row: Row) -> DerivedRow:
    value, cycle = row["value"], row["dutycycle"]
    # A unit that cannot be drawn is shown by its name.
    unit = str(row["unit"] or "")
    drawn, scale = unit_of(unit, local_name(unit), rate=False)
    partly = cycle is not None and float(cycle) < 1
    return DerivedRow(
        str(row["figure"]),
        "" if value is None else figure(float(value), drawn, float(scale)),
        "" if value is None else figures(float(value), 15),
        f"counted {figures(100 * float(cycle), 3)} % of the time" if partly else "",
        str(row["reason"] or ""),
    )
