"""Numbers as people read them, wherever they stand."""

from decimal import Decimal

import pytest
from rdflib import XSD, Literal

from core.stores.results import Rows
from dashboards.figures import Number, figures, quantity
from dashboards.units import drawn_unit
from supertwin.cli.tables import as_csv, as_json, as_table


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (17, "17"),
        (-17, "-17"),
        (1024601, "1024601"),
        (Decimal("1024601.000000000"), "1024601"),
        (Decimal("7.717070926395168552489911"), "7.717"),
        (381469.5, "381470"),
        (12345.678, "12346"),
        (999.96, "1000"),
        (0.25, "0.25"),
        (0.00012345678, "0.0001235"),
        (0.000012345, "1.234e-05"),
        (1e15, "1e+15"),
        (10**18, "1000000000000000000"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
    ],
)
def test_figures(number: Number, text: str) -> None:
    assert figures(number) == text


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (409_600_000_000_000, "BYTE", "372.5 TiB"),
        (32768, "BYTE", "32 KiB"),
        (1048575.9, "BYTE", "1 MiB"),
        (2_400_000_000, "HZ", "2.4 GHz"),
        (999_999, "NUM", "1 M"),
        (17, "NUM", "17"),
        (7.5, "UNITLESS", "7.5"),
        (45.25, "DEG_C", "45.25 °C"),
        (0.5, "FRACTION", "50 %"),
        (2**80, "BYTE", "1048576 EiB"),
    ],
)
def test_quantities(number: Number, unit: str, text: str) -> None:
    assert quantity(number, drawn_unit(unit)[0]) == text


def test_tables_round_and_other_forms_do_not() -> None:
    exact = "7.717070926395168552489911"
    values = (exact, "1024601.000000000", "0.5")
    cells = [Literal(value, datatype=XSD.decimal, normalize=False) for value in values]
    rows = Rows(["n"], [[cell] for cell in cells])
    assert as_table(rows).split("\n")[2:5] == ["7.71707", "1024601", "0.5"]
    assert exact in as_csv(rows) and exact in as_json(rows)
