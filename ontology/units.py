"""Convert PCP's units, as pmUnitsStr prints them, to QUDT's, and those to symbols."""

import re

from rdflib import URIRef

from ontology.terms import UNIT

# PCP's K, M, G … are powers of 1024, so they are QUDT's kibi, mebi, gibi.
_UNITS = {
    "byte": "BYTE",
    "Kbyte": "KibiBYTE",
    "Mbyte": "MebiBYTE",
    "Gbyte": "GibiBYTE",
    "Tbyte": "TebiBYTE",
    "Pbyte": "PebiBYTE",
    "Ebyte": "ExbiBYTE",
    "nanosec": "NanoSEC",
    "microsec": "MicroSEC",
    "millisec": "MilliSEC",
    "sec": "SEC",
    "min": "MIN",
    "hour": "HR",
    "count": "NUM",
    "count / sec": "NUM-PER-SEC",
    "byte / sec": "BYTE-PER-SEC",
    "/ sec": "HZ",
    "/ millisec": "KiloHZ",
    "/ microsec": "MegaHZ",
    "/ nanosec": "GigaHZ",
}
# Seconds per unit of time.
SECONDS = {"nanosec": 1e-9, "microsec": 1e-6, "millisec": 1e-3, "sec": 1.0}
# The unit of a counter's growth per second; milliseconds per second are per mille.
RATES = {
    UNIT["NUM"]: UNIT["NUM-PER-SEC"],
    UNIT["BYTE"]: UNIT["BYTE-PER-SEC"],
    UNIT["J"]: UNIT["W"],
    UNIT["SEC"]: UNIT["UNITLESS"],
    UNIT["MilliSEC"]: UNIT["PPTH"],
    UNIT["MicroSEC"]: UNIT["PPM"],
    UNIT["NanoSEC"]: UNIT["PPB"],
}
# By local name; a pure number has no symbol.
_SYMBOLS = {
    **dict.fromkeys(("NUM", "UNITLESS", "FRACTION"), ""),
    **{"BYTE": "B", "BYTE-PER-SEC": "B/s", "BIT-PER-SEC": "bit/s"},
    **{"KibiBYTE": "KiB", "MebiBYTE": "MiB", "GibiBYTE": "GiB"},
    **{"TebiBYTE": "TiB", "PebiBYTE": "PiB", "ExbiBYTE": "EiB"},
    **{"NanoSEC": "ns", "MicroSEC": "µs", "MilliSEC": "ms", "SEC": "s"},
    **{"MIN": "min", "HR": "h", "NUM-PER-SEC": "1/s", "REV-PER-MIN": "rpm"},
    **{"HZ": "Hz", "KiloHZ": "kHz", "MegaHZ": "MHz", "GigaHZ": "GHz"},
    **{"J": "J", "MicroJ": "µJ", "W": "W", "MilliW": "mW", "V": "V", "A": "A"},
    **{"DEG_C": "°C", "FLOPS": "FLOPS"},
    **{"PERCENT": "%", "PPTH": "‰", "PPM": "ppm", "PPB": "ppb"},
}
_SPACES = re.compile(r"\s+")


def qudt_unit(pcp_units: str) -> URIRef | None:
    """The QUDT unit of e.g. ``Kbyte`` or ``count / sec``; None if none fits.

    PCP leaves the units of both temperatures and load averages empty. It is unknown
    whether such a value is a pure number, so it gets no unit.
    """
    name = _UNITS.get(_SPACES.sub(" ", pcp_units.strip()))
    return None if name is None else UNIT[name]


def unit_symbol(iri: str) -> str | None:
    """``KiB`` for QUDT's kibibyte, empty for a pure number; None for any other IRI."""
    is_unit = iri.startswith(str(UNIT))
    return _SYMBOLS.get(iri.removeprefix(str(UNIT))) if is_unit else None
