"""Units with their dimensions and multipliers, as QUDT states them."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from rdflib import RDF, URIRef

from core.stores.errors import UnitMismatchError
from ontology.load import ontology_graph
from ontology.terms import QUDT, UNIT
from virtual_telemetry.errors import UnknownUnitError

# QUDT gives bytes the dimensions of a count: only the quantity kind tells them apart.
_INFORMATION = {"InformationEntropy", "DataRate"}
_BYTES = "B"
_EXPONENT = re.compile(r"([A-Z])(-?\d+)")
# Preferred among several units with the same dimensions and multiplier.
_FIRST = ("UNITLESS", "NUM-PER-SEC")


@dataclass(frozen=True)
class Measure:
    """A unit: exponents of base dimensions, and what multiplied makes values coherent.

    ``iri`` is empty for a unit that QUDT, or our part of it, does not name.
    """

    dimensions: frozenset[tuple[str, int]] = frozenset()
    factor: float = 1.0
    iri: str = ""

    def __str__(self) -> str:
        if self.iri:
            return f"unit:{self.iri.removeprefix(str(UNIT))}"
        parts = " ".join(f"{base}{power:+d}" for base, power in sorted(self.dimensions))
        return f"{self.factor:.12g} {parts}".strip()

    @property
    def is_number(self) -> bool:
        """Whether values are plain numbers."""
        return self == NUMBER or self.iri == str(UNIT["NUM"])


NUMBER = Measure(iri=str(UNIT.UNITLESS))
SECOND = Measure(frozenset({("T", 1)}), iri=str(UNIT.SEC))


def unit(name: str) -> Measure:
    """A unit by its local name in QUDT, or its IRI; raises UnknownUnitError."""
    found = _units().get(name.removeprefix(str(UNIT)))
    if found is None:
        raise UnknownUnitError(
            f"unit {name[:80]!r} is not among those of the ontology: "
            f"{', '.join(sorted(_units()))}"
        )
    return found


def scale(from_: Measure, to: Measure) -> float:
    """The factor between two units; raises UnitMismatchError, which names both."""
    if from_.dimensions != to.dimensions:
        raise UnitMismatchError(f"{from_} does not convert to {to}")
    return _rounded(from_.factor / to.factor)


def product(left: Measure, right: Measure, power: int = 1) -> Measure:
    """The unit of a product, or with ``power`` -1 of a quotient."""
    # To multiply with a number keeps the unit.
    if right.is_number:
        return left
    if left.is_number and power == 1:
        return right
    powers = dict(left.dimensions)
    for base, exponent in right.dimensions:
        powers[base] = powers.get(base, 0) + power * exponent
    kept = frozenset((base, exponent) for base, exponent in powers.items() if exponent)
    return named(Measure(kept, left.factor * right.factor**power))


def named(measure: Measure) -> Measure:
    """The unit with its IRI, if one of QUDT's has its dimensions and multiplier."""
    if measure.iri:
        return measure
    by_name = _units()
    for name in (*_FIRST, *by_name):
        if _equal(by_name[name], measure):
            return by_name[name]
    return measure


def _equal(known: Measure, measure: Measure) -> bool:
    return known.dimensions == measure.dimensions and math.isclose(
        known.factor, measure.factor, rel_tol=1e-9
    )


def _rounded(value: float) -> float:
    """Without the rounding errors of a quotient of multipliers: 1024, 0.001."""
    return float(f"{value:.14g}")


@cache
def _units() -> Mapping[str, Measure]:
    graph = ontology_graph()
    found = {}
    for iri in graph.subjects(RDF.type, QUDT.Unit):
        factor = graph.value(iri, QUDT.conversionMultiplier)
        if isinstance(iri, URIRef) and factor is not None:
            found[str(iri).removeprefix(str(UNIT))] = Measure(
                _dimensions(iri), float(str(factor)), str(iri)
            )
    return found


def _dimensions(iri: URIRef) -> frozenset[tuple[str, int]]:
    graph = ontology_graph()
    vector = str(graph.value(iri, QUDT.hasDimensionVector)).rpartition("/")[2]
    found = [(base, int(power)) for base, power in _EXPONENT.findall(vector)]
    kind = str(graph.value(iri, QUDT.hasQuantityKind)).rpartition("/")[2]
    if kind in _INFORMATION:
        found.append((_BYTES, 1))
    return frozenset((base, power) for base, power in found if power and base != "D")
