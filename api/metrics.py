"""Metrics of the catalogue, as used by pages and charts."""

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
# Columns that `metric_of` reads in addition to ?name and ?db; ?metric must be bound.
METRIC_COLUMNS = "?name ?db ?kind ?unit ?pcp ?comment"
METRIC_PATTERN = (
    "OPTIONAL { ?metric st:semantics ?kind } "
    "OPTIONAL { ?metric qudt:hasUnit ?unit } "
    "OPTIONAL { ?metric st:pcpUnits ?pcp } "
    "OPTIONAL { ?metric rdfs:comment ?comment }"
)


@dataclass(frozen=True)
class MetricInfo:
    """A metric by its PCP name.

    ``unit`` is the unit of a value, and ``drawn`` that of a chart, which shows the rate
    of a counter. Each comes with the factor for stored values.
    """

    name: str
    db_name: str
    is_counter: bool
    comment: str
    unit: tuple[Unit, Fraction]
    drawn: tuple[Unit, Fraction]
    pcp_units: str = ""

    def greatest(self, cpus: int | None = None) -> float | None:
        """Return the limit of a drawn value on a host of ``cpus`` CPUs, if known."""
        if not self.is_counter:
            return None
        rate = greatest_rate(self.name, self.pcp_units, cpus)
        return None if rate is None else rate * float(self.drawn[1])


def metric_of(row: Row) -> MetricInfo:
    """Build the metric of a row of METRIC_COLUMNS."""

    def text(name: str) -> str:
        return row[name].value if name in row else ""

    counter = text("kind").endswith("#Counter")
    drawn = unit_of(text("unit"), text("pcp"), rate=counter)
    return MetricInfo(
        name=text("name"),
        db_name=text("db"),
        is_counter=counter,
        comment=text("comment"),
        unit=unit_of(text("unit"), text("pcp"), rate=False),
        drawn=drawn,
        pcp_units=text("pcp"),
    )


def unit_of(qudt: str, pcp: str, *, rate: bool) -> tuple[Unit, Fraction]:
    """Return the unit to draw; if it is unknown, the text of PCP's unit."""
    try:
        return drawn_unit(local_name(qudt) if qudt else None, rate)
    except UnitError:
        symbol = f"{pcp}/s" if rate else pcp
        return Unit(local_name(qudt), symbol, "short"), Fraction(1)
