"""Units, by what QUDT states of them."""

import pytest

from core.stores.errors import UnitMismatchError
from virtual_telemetry.errors import UnknownUnitError
from virtual_telemetry.units import SECOND, product, scale, unit


@pytest.mark.parametrize(
    ("from_", "to", "by"),
    [
        ("KibiBYTE", "BYTE", 1024),
        ("GibiBYTE", "MebiBYTE", 1024),
        ("BYTE-PER-SEC", "BIT-PER-SEC", 8),
        ("W", "MegaW", 1e-6),
        ("KiloW-HR", "J", 3.6e6),
        ("UNITLESS", "PERCENT", 100),
        ("PPTH", "UNITLESS", 0.001),
        ("HR", "SEC", 3600),
        ("NUM-PER-SEC", "HZ", 1),
    ],
)
def test_units_convert(from_: str, to: str, by: float) -> None:
    assert scale(unit(from_), unit(to)) == by
    assert scale(unit(to), unit(from_)) == pytest.approx(1 / by, rel=1e-12)


@pytest.mark.parametrize(
    ("one", "other"),
    [("W", "J"), ("BYTE", "NUM"), ("BYTE-PER-SEC", "HZ"), ("DEG_C", "UNITLESS")],
)
def test_units_of_different_quantities_do_not_convert(one: str, other: str) -> None:
    with pytest.raises(UnitMismatchError, match=f"unit:{one} .*unit:{other}") as error:
        scale(unit(one), unit(other))
    assert error.value.code == "unit-mismatch"


@pytest.mark.parametrize(
    ("left", "power", "right", "made"),
    [
        ("J", -1, "SEC", "W"),
        ("W", 1, "SEC", "J"),
        ("W", 1, "HR", "3600 L+2 M+1 T-2"),
        ("KiloW", 1, "HR", "unit:KiloW-HR"),
        ("BYTE", -1, "SEC", "BYTE-PER-SEC"),
        ("NUM", -1, "SEC", "NUM-PER-SEC"),
        ("MilliSEC", -1, "SEC", "PPTH"),
        ("W", -1, "W", "UNITLESS"),
        ("KiloW", -1, "W", "1000"),
        ("DEG_C", 1, "UNITLESS", "DEG_C"),
        ("V", 1, "UNITLESS", "V"),
    ],
)
def test_products_have_the_unit_of_qudt(
    left: str, power: int, right: str, made: str
) -> None:
    found = product(unit(left), unit(right), power)
    assert str(found) in (made, f"unit:{made}")


def test_second_is_that_of_qudt() -> None:
    assert unit("SEC") == SECOND


def test_unknown_unit_is_refused() -> None:
    with pytest.raises(UnknownUnitError, match="KiloW"):
        unit("Horse")
