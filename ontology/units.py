"""Convert PCP's units, as pmUnitsStr prints them, to QUDT's."""

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
_SPACES = re.compile(r"\s+")


def qudt_unit(pcp_units: str) -> URIRef | None:
    """The QUDT unit of e.g. ``Kbyte`` or ``count / sec``; None if none fits.

    PCP leaves the units of both temperatures and load averages empty. It is unknown
    whether such a value is a pure number, so it gets no unit.
    """
    name = _UNITS.get(_SPACES.sub(" ", pcp_units.strip()))
    return None if name is None else UNIT[name]
