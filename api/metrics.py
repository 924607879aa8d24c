"""Metrics of the catalogue as pages and pictures speak of them."""

from dataclasses import dataclass
from fractions import Fraction

from core.stores.fuseki import Row
from dashboards.errors import UnitError
from dashboards.spec import Unit
from dashboards.units import drawn_unit, local_name
from ontology.limits import greatest_rate
from ontology.terms import PREFIXES

METRIC_PREFIXES = "".join(
    f"PREFIX {prefix}: <{PREFIXES[prefix]}>\n" for prefix in ("st", "qudt", "rdfs")
)
# What `metric_of` reads beside ?name and ?db, where ?metric is bound.
METRIC_COLUMNS = "?name ?db ?kind ?unit ?pcp ?comment"
METRIC_PATTERN = (
    "OPTIONAL { ?metric st:semantics ?kind } "
    "OPTIONAL { ?metric qudt:hasUnit ?unit } "
    "OPTIONAL { ?metric st:pcpUnits ?pcp } "
    "OPTIONAL { ?metric rdfs:comment ?comment }"
)


@dataclass(frozen=True)
class Metric:
    """A metric by PCP's name.

    ``unit`` is that of a value, ``drawn`` that of a picture: of a counter the rate.
    Both come with what a stored value is multiplied by.
    """

    name: str
    db_name: str
    is_counter: bool
    comment: str
    unit: tuple[Unit, Fraction]
    drawn: tuple[Unit, Fraction]
    pcp_units: str = ""

    def greatest(self, cpus: int | None = None) -> float | None:
        """What a drawn value cannot exceed on a host of so many CPUs.

        None: nobody knows.
        """
        if not self.is_counter:
            return None
        rate = greatest_rate(self.name, self.pcp_units, cpus)
        return None if rate is None else rate * float(self.drawn[1])


def metric_of(row: Row) -> Metric:
    """The metric of a row of METRIC_COLUMNS."""

    def text(name: str) -> str:
        return row[name].value if name in row else ""

    counter = text("kind").endswith("#Counter")
    drawn = unit_of(text("unit"), text("pcp"), rate=counter)
    return Metric(
        name=text("name"),
        db_name=text("db"),
        is_counter=counter,
        comment=text("comment"),
        unit=unit_of(text("unit"), text("pcp"), rate=False),
        drawn=drawn,
        pcp_units=text("pcp"),
    )


def unit_of(qudt: str, pcp: str, *, rate: bool) -> tuple[Unit, Fraction]:
    """The unit to draw; for one that nobody knows how to draw, PCP's own text."""
    try:
        return drawn_unit(local_name(qudt) if qudt else None, rate)
    except UnitError:
        symbol = f"{pcp}/s" if rate else pcp
        return Unit(local_name(qudt), symbol, "short"), Fraction(1)
