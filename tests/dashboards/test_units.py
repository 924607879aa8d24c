"""Units: all units of PCP metrics are drawn, also per second for rates."""

from fractions import Fraction

import pytest

from dashboards.errors import UnitError
from dashboards.spec import Unit
from dashboards.units import _UNITS, drawn_unit, local_name, one_unit
from ontology import units as pcp
from ontology.terms import UNIT
from ontology.unit_symbols import unit_symbol

# From Grafana's packages/grafana-data/src/valueFormats/categories.ts.
GRAFANA = {
    *("short", "none", "percent", "percentunit", "bytes", "Bps", "bps", "s", "hertz"),
    *("cps", "flops", "watt", "joule", "volt", "amp", "celsius", "rotrpm"),
}
PCP_UNITS = sorted(pcp._UNITS)


@pytest.mark.parametrize("text", PCP_UNITS)
def test_every_unit_of_pcp_is_drawn(text: str) -> None:
    iri = pcp.qudt_unit(text)
    assert iri is not None
    unit, scale = drawn_unit(local_name(str(iri)))
    assert unit.grafana in GRAFANA
    assert scale > 0


@pytest.mark.parametrize(
    ("qudt", "rate", "drawn", "grafana", "scale"),
    [
        ("BYTE", False, "BYTE", "bytes", Fraction(1)),
        ("KibiBYTE", False, "BYTE", "bytes", Fraction(1024)),
        ("ExbiBYTE", False, "BYTE", "bytes", Fraction(2**60)),
        ("KibiBYTE", True, "BYTE-PER-SEC", "Bps", Fraction(1024)),
        ("MilliSEC", False, "SEC", "s", Fraction(1, 1000)),
        ("MilliSEC", True, "FRACTION", "percentunit", Fraction(1, 1000)),
        ("MicroSEC", True, "FRACTION", "percentunit", Fraction(1, 10**6)),
        ("NanoSEC", True, "FRACTION", "percentunit", Fraction(1, 10**9)),
        ("HR", False, "SEC", "s", Fraction(3600)),
        ("NUM", False, "NUM", "short", Fraction(1)),
        ("NUM", True, "NUM-PER-SEC", "cps", Fraction(1)),
        ("J", True, "W", "watt", Fraction(1)),
        ("MicroJ", True, "W", "watt", Fraction(1, 10**6)),
        ("DEG_C", False, "DEG_C", "celsius", Fraction(1)),
        ("MegaHZ", False, "HZ", "hertz", Fraction(10**6)),
        ("PPTH", False, "FRACTION", "percentunit", Fraction(1, 1000)),
        (None, False, "UNITLESS", "short", Fraction(1)),
        (None, True, "NUM-PER-SEC", "cps", Fraction(1)),
    ],
)
def test_unit_has_its_drawn_unit_and_scale(
    qudt: str | None, rate: bool, drawn: str, grafana: str, scale: Fraction
) -> None:
    unit, found = drawn_unit(qudt, rate=rate)
    assert (unit.qudt, unit.grafana, found) == (drawn, grafana, scale)


@pytest.mark.parametrize("qudt", sorted(_UNITS))
def test_drawn_unit_has_a_symbol(qudt: str) -> None:
    symbol = unit_symbol(str(UNIT[qudt]))
    assert symbol is not None
    # A rate follows a number, and a share is drawn in percent.
    drawn = drawn_unit(qudt)
    if drawn[1] == 1 and qudt not in ("NUM-PER-SEC", "FRACTION"):
        assert symbol == drawn[0].symbol


def test_bytes_are_shortened_by_1024_and_rates_by_1000() -> None:
    assert drawn_unit("KibiBYTE")[0].prefixes == "binary"
    assert drawn_unit("KibiBYTE", rate=True)[0].prefixes == "decimal"
    assert drawn_unit("DEG_C")[0].prefixes == "none"


@pytest.mark.parametrize(
    ("qudt", "rate", "message"),
    [
        ("FURLONG", False, "no way to draw the unit 'FURLONG'; known: A, BIT"),
        ("DEG_C", True, "no unit for 'DEG_C' per second: state one"),
        ("NUM-PER-SEC", True, "no unit for 'NUM-PER-SEC' per second"),
    ],
)
def test_units_that_cannot_be_drawn_are_refused(
    qudt: str, rate: bool, message: str
) -> None:
    with pytest.raises(UnitError, match=message) as caught:
        drawn_unit(qudt, rate=rate)
    assert "\n" not in str(caught.value)


def test_panel_has_one_unit() -> None:
    byte, kibi = drawn_unit("BYTE")[0], drawn_unit("KibiBYTE")[0]
    assert one_unit([byte, kibi]) == byte
    with pytest.raises(UnitError, match="several units, BYTE and SEC: split them"):
        one_unit([byte, drawn_unit("SEC")[0]])


def test_local_names_of_other_units_are_complete() -> None:
    assert local_name(str(UNIT["BYTE"])) == "BYTE"
    assert local_name("urn:x") == "urn:x"
    assert isinstance(drawn_unit("W")[0], Unit)
