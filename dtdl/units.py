"""QUDT's units and PCP's types in DTDL: semantic type, unit and schema.

From the standard's tables: DTDL has bytes, but no counts and no FLOPS. Values in other
units are exported without a unit.
"""

import re
from functools import cache

from rdflib import XSD, URIRef

from ontology.load import definitions
from ontology.terms import ST, UNIT

UNITS: dict[URIRef, tuple[str, str]] = {
    UNIT["BYTE"]: ("DataSize", "byte"),
    UNIT["KibiBYTE"]: ("DataSize", "kibibyte"),
    UNIT["MebiBYTE"]: ("DataSize", "mebibyte"),
    UNIT["GibiBYTE"]: ("DataSize", "gibibyte"),
    UNIT["TebiBYTE"]: ("DataSize", "tebibyte"),
    UNIT["ExbiBYTE"]: ("DataSize", "exbibyte"),
    UNIT["BIT-PER-SEC"]: ("DataRate", "bitPerSecond"),
    UNIT["BYTE-PER-SEC"]: ("DataRate", "bytePerSecond"),
    UNIT["NanoSEC"]: ("TimeSpan", "nanosecond"),
    UNIT["MicroSEC"]: ("TimeSpan", "microsecond"),
    UNIT["MilliSEC"]: ("TimeSpan", "millisecond"),
    UNIT["SEC"]: ("TimeSpan", "second"),
    UNIT["MIN"]: ("TimeSpan", "minute"),
    UNIT["HR"]: ("TimeSpan", "hour"),
    UNIT["HZ"]: ("Frequency", "hertz"),
    UNIT["KiloHZ"]: ("Frequency", "kilohertz"),
    UNIT["MegaHZ"]: ("Frequency", "megahertz"),
    UNIT["GigaHZ"]: ("Frequency", "gigahertz"),
    UNIT["W"]: ("Power", "watt"),
    UNIT["J"]: ("Energy", "joule"),
    UNIT["DEG_C"]: ("Temperature", "degreeCelsius"),
    UNIT["V"]: ("Voltage", "volt"),
}
NUMERIC = frozenset({"integer", "long", "float", "double", "unsignedLong"})

_PCP = {"32": "integer", "u32": "long", "64": "long", "float": "float"}
_PCP |= {"u64": "long", "double": "double"}
_DATATYPES = {
    XSD.integer: "long",
    XSD.decimal: "double",
    XSD.double: "double",
    XSD.float: "float",
    XSD.boolean: "boolean",
    XSD.dateTime: "dateTime",
    XSD.date: "date",
}

_KIND = re.compile(r"\s+a\s[^;.]*owl:(?:Object|Datatype)Property\b")
_UNIT = re.compile(rf"\sst:valueUnit\s+(?:unit:|<{UNIT})([\w-]+)")


def metric_schema(value_type: str | None) -> str:
    """The schema of a metric's values, from PCP's name of their type."""
    return _PCP.get(value_type or "", "string")


def literal_schema(datatype: URIRef | None) -> str:
    """The schema of a literal."""
    return _DATATYPES.get(datatype, "string") if datatype else "string"


@cache
def property_unit(predicate: URIRef) -> URIRef | None:
    """The unit of all values of a property, from the ontology."""
    definition = definitions().get(predicate.removeprefix(str(ST)), "")
    found = _UNIT.search(definition)
    return UNIT[found[1]] if found else None


def own_properties() -> list[URIRef]:
    """Every property of our vocabulary."""
    return sorted(
        ST[name]
        for name, definition in definitions().items()
        if _KIND.match(definition)
    )
