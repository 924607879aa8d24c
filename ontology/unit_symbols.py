"""The symbols of QUDT's units, without rdflib: every table needs them."""

_UNIT = "http://qudt.org/vocab/unit/"
# By the local name; a pure number has none.
_SYMBOLS = {
    **dict.fromkeys(("NUM", "UNITLESS", "FRACTION"), ""),
    **{"BYTE": "B", "BYTE-PER-SEC": "B/s", "BIT-PER-SEC": "bit/s"},
    **{"KibiBYTE": "KiB", "MebiBYTE": "MiB", "GibiBYTE": "GiB"},
    **{"TebiBYTE": "TiB", "PebiBYTE": "PiB", "ExbiBYTE": "EiB"},
    **{"NanoSEC": "ns", "MicroSEC": "µs", "MilliSEC": "ms", "SEC": "s"},
    **{"MIN": "min", "HR": "h", "NUM-PER-SEC": "1/s", "REV-PER-MIN": "rpm"},
    **{"HZ": "Hz", "KiloHZ": "kHz", "MegaHZ": "MHz", "GigaHZ": "GHz"},
    **{"J": "J", "MicroJ": "µJ", "MegaJ": "MJ", "KiloW-HR": "kW·h"},
    **{"W": "W", "MilliW": "mW", "KiloW": "kW", "MegaW": "MW", "V": "V", "A": "A"},
    **{"MebiBYTE-PER-SEC": "MiB/s"},
    **{"DEG_C": "°C", "FLOPS": "FLOPS"},
    **{"PERCENT": "%", "PPTH": "‰", "PPM": "ppm", "PPB": "ppb"},
}


def unit_symbol(iri: str) -> str | None:
    """``KiB`` for QUDT's kibibyte, empty for a pure number; None for any other IRI."""
    return _SYMBOLS.get(iri.removeprefix(_UNIT)) if iri.startswith(_UNIT) else None
