"""Numbers as people read them, with the same cases in Python and in browsers."""

import json
import subprocess
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path

import pytest
from rdflib import XSD, Literal

from core.stores.results import TermRows
from dashboards.units import drawn_unit, quantity
from ontology.figures import Number, figures, one_line
from ontology.terms import UNIT
from supertwin.cli.tables import as_csv, as_json, as_table
from tests.dashboards.node import node
from tests.servers import ROOT

_SCRIPT = Path(__file__).with_name("units.mjs")
_OF_BROWSERS = ROOT / "api/web/static/charts/units.js"
CASES = json.loads(Path(__file__).with_name("figures.json").read_text("utf-8"))
FIGURES, QUANTITIES = CASES["figures"], CASES["quantities"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *FIGURES,
        # A value that JavaScript's numbers cannot represent.
        (Decimal("1024601.000000000"), "1024601"),
        (Decimal("7.717070926395168552489911"), "7.717"),
        (10**18, "1000000000000000000"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
    ],
)
def test_numbers_are_rounded(number: Number, text: str) -> None:
    assert figures(number) == text


@pytest.mark.parametrize(("number", "unit", "text"), QUANTITIES)
def test_quantities_have_number_and_unit(number: Number, unit: str, text: str) -> None:
    assert quantity(number, drawn_unit(unit)[0]) == text


def test_javascript_formats_the_same() -> None:
    asked = [[number, None] for number, _ in FIGURES]
    asked += [[number, asdict(drawn_unit(unit)[0])] for number, unit, _ in QUANTITIES]
    done = subprocess.run(
        [node(), _SCRIPT, _OF_BROWSERS],
        input=json.dumps(asked),
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert json.loads(done.stdout) == [case[-1] for case in FIGURES + QUANTITIES]


def test_tables_show_units_as_symbols_and_other_forms_their_iris() -> None:
    units = [UNIT["KibiBYTE"], UNIT["NUM"], UNIT["FURLONG"]]
    rows = TermRows(["unit"], [[unit] for unit in units])
    assert as_table(rows).split("\n")[2:5] == ["KiB", "", str(units[2])]
    for unit in units:
        assert unit in as_csv(rows) and unit in as_json(rows)


def test_tables_round_and_other_formats_do_not() -> None:
    exact = "7.717070926395168552489911"
    values = (exact, "1024601.000000000", "0.5")
    cells = [Literal(value, datatype=XSD.decimal, normalize=False) for value in values]
    rows = TermRows(["n"], [[cell] for cell in cells])
    assert as_table(rows).split("\n")[2:5] == ["7.71707", "1024601", "0.5"]
    assert exact in as_csv(rows) and exact in as_json(rows)


def test_tables_show_a_command_in_one_line_and_other_formats_all_of_it() -> None:
    script = "sh -c 'set -e\n  cd /tmp\n" + "x" * 100
    rows = TermRows(["run", "command"], [[Literal("a\tb"), Literal(script)]])
    shown = f"sh -c 'set -e cd /tmp {'x' * 57}…"
    assert as_table(rows).split("\n")[2] == f"a\tb  {shown}"
    assert script in as_csv(rows)
    assert json.loads(as_json(rows))[0]["command"] == script


def test_short_text_is_not_cut() -> None:
    assert one_line("x" * 80) == "x" * 80
    assert one_line(" a\n b ") == "a b"
