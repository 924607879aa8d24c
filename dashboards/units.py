"""Convert QUDT's units and values to what a picture shows."""

from collections.abc import Iterable
from fractions import Fraction

from dashboards.errors import UnitError
from dashboards.spec import Unit
from ontology.figures import Number, figures
from ontology.terms import UNIT

_LARGE, _SMALL = ("k", "M", "G", "T", "P", "E"), ("m", "µ", "n", "p")
# The factor between two prefixes, then large and small prefixes.
_PREFIXES: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {
    "binary": (1024, ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), ()),
    "decimal": (1000, _LARGE, ()),
    "metric": (1000, _LARGE, _SMALL),
    "parts": (1000, (), _SMALL),
    "none": (1, (), ()),
}

_BYTE = Unit("BYTE", "B", "bytes", "binary")
_SECOND = Unit("SEC", "s", "s", "parts")
_COUNT = Unit("NUM", "", "short")
_PER_SECOND = Unit("NUM-PER-SEC", "/s", "cps")
_BYTES_PER_SECOND = Unit("BYTE-PER-SEC", "B/s", "Bps")
_BITS_PER_SECOND = Unit("BIT-PER-SEC", "bit/s", "bps")
_SHARE = Unit("FRACTION", "%", "percentunit", "none")
_HERTZ = Unit("HZ", "Hz", "hertz", "metric")
_JOULE = Unit("J", "J", "joule", "metric")
_WATT = Unit("W", "W", "watt", "metric")

# For each unit: the unit drawn instead, and the factor for its values.
_UNITS: dict[str, tuple[Unit, Fraction]] = {
    unit.qudt: (unit, Fraction(1))
    for unit in (
        *(_BYTE, _SECOND, _COUNT, _PER_SECOND, _BYTES_PER_SECOND, _BITS_PER_SECOND),
        *(_SHARE, _HERTZ, _JOULE, _WATT),
        Unit("PERCENT", "%", "percent", "none"),
        Unit("UNITLESS", "", "short"),
        Unit("FLOPS", "FLOPS", "flops"),
        Unit("DEG_C", "°C", "celsius", "none"),
        Unit("REV-PER-MIN", "rpm", "rotrpm", "none"),
        Unit("V", "V", "volt", "metric"),
        Unit("A", "A", "amp", "metric"),
    )
} | {
    "KibiBYTE": (_BYTE, Fraction(2**10)),
    "MebiBYTE": (_BYTE, Fraction(2**20)),
    "GibiBYTE": (_BYTE, Fraction(2**30)),
    "TebiBYTE": (_BYTE, Fraction(2**40)),
    "PebiBYTE": (_BYTE, Fraction(2**50)),
    "ExbiBYTE": (_BYTE, Fraction(2**60)),
    "NanoSEC": (_SECOND, Fraction(1, 10**9)),
    "MicroSEC": (_SECOND, Fraction(1, 10**6)),
    "MilliSEC": (_SECOND, Fraction(1, 10**3)),
    "PPTH": (_SHARE, Fraction(1, 10**3)),
    "PPM": (_SHARE, Fraction(1, 10**6)),
    "PPB": (_SHARE, Fraction(1, 10**9)),
    "MIN": (_SECOND, Fraction(60)),
    "HR": (_SECOND, Fraction(3600)),
    "KiloHZ": (_HERTZ, Fraction(10**3)),
    "MegaHZ": (_HERTZ, Fraction(10**6)),
    "GigaHZ": (_HERTZ, Fraction(10**9)),
    "MicroJ": (_JOULE, Fraction(1, 10**6)),
    "MegaJ": (_JOULE, Fraction(10**6)),
    "KiloW-HR": (_JOULE, Fraction(3_600_000)),
    "MilliW": (_WATT, Fraction(1, 10**3)),
    "KiloW": (_WATT, Fraction(10**3)),
    "MegaW": (_WATT, Fraction(10**6)),
    "MebiBYTE-PER-SEC": (_BYTES_PER_SECOND, Fraction(2**20)),
}

# The unit of a rate per second: seconds per second are a share.
_RATES = {
    _BYTE: _BYTES_PER_SECOND,
    _SECOND: _SHARE,
    _COUNT: _PER_SECOND,
    _JOULE: _WATT,
}


def drawn_unit(qudt: str | None, rate: bool = False) -> tuple[Unit, Fraction]:
    """The unit that a picture shows, and the factor for its values.

    ``qudt`` is the local name of the values' unit, None for a metric without one; with
    ``rate``, the values are its change per second. Raises UnitError.
    """
    name = qudt or ("NUM" if rate else "UNITLESS")
    if name not in _UNITS:
        known = ", ".join(sorted(_UNITS))
        raise UnitError(f"no way to draw the unit {name[:60]!r}; known: {known}")
    unit, scale = _UNITS[name]
    if not rate:
        return unit, scale
    if unit not in _RATES:
        raise UnitError(f"no unit for {name!r} per second: state one in the header")
    return _RATES[unit], scale


def one_unit(units: Iterable[Unit]) -> Unit:
    """The common unit, since a picture has one axis; raises UnitError."""
    found = list(dict.fromkeys(units))
    if len(found) != 1:
        names = " and ".join(unit.qudt for unit in found) or "none"
        raise UnitError(
            f"the rows have several units, {names}: split them with a column 'panel', "
            "or by the metrics of several panels"
        )
    return found[0]


def quantity(number: Number, unit: Unit) -> str:
    """``32 KiB``, ``2.4 GHz``, ``17``, ``98.5 %``: at most four significant digits.

    `api/web/static/charts/units.js` follows the same rules.
    """
    if unit.grafana == "percentunit":
        return f"{figures(100 * float(number))} %"
    value, prefix = _prefixed(number, unit)
    return f"{figures(value)} {prefix}{unit.symbol}".strip()


def _prefixed(value: Number, unit: Unit) -> tuple[Number, str]:
    """Choose the prefix by the rounded value, so that rounding cannot give 1024 KiB."""
    step, large, small = _PREFIXES[unit.prefixes]
    prefix = ""
    for larger in large:
        if abs(float(figures(value))) < step:
            break
        value, prefix = float(value) / step, larger
    for smaller in small:
        if not value or abs(float(figures(value))) >= 1:
            break
        value, prefix = float(value) * step, smaller
    return value, prefix


def local_name(iri: str) -> str:
    """``BYTE`` for QUDT's IRI of it, any other IRI unchanged."""
    return iri.removeprefix(str(UNIT))
