"""QUDT's units and PCP's types as DTDL knows them: semantic type, unit, schema.

Of the standard's tables: DTDL knows bytes, but no count and no FLOPS; what it does not
know goes without a unit there.
"""

from rdflib import OWL, RDF, XSD, URIRef

from ontology.load import ontology_graph
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


def metric_schema(value_type: str | None) -> str:
    """The schema of a metric's values, from PCP's name of their type."""
    return _PCP.get(value_type or "", "string")


def literal_schema(datatype: URIRef | None) -> str:
    """The schema of a literal."""
    return _DATATYPES.get(datatype, "string") if datatype else "string"


def property_unit(predicate: URIRef) -> URIRef | None:
    """The unit that all values of a property are in, as the ontology states it."""
    found = ontology_graph().value(predicate, ST.valueUnit)
    return found if isinstance(found, URIRef) else None


def own_properties() -> list[URIRef]:
    """Every property of our vocabulary."""
    graph = ontology_graph()
    kinds = (OWL.ObjectProperty, OWL.DatatypeProperty)
    found = {term for kind in kinds for term in graph.subjects(RDF.type, kind)}
    return sorted(t for t in found if isinstance(t, URIRef) and t.startswith(str(ST)))
