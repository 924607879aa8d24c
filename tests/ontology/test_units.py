import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pcp.pmapi import pmUnits
from rdflib import RDF

from ontology.load import ontology_graph
from ontology.terms import QUDT, UNIT
from ontology.unit_symbols import unit_symbol
from ontology.units import RATES, qudt_unit
from queries.catalogue import saved_query


@pytest.mark.parametrize(
    ("pcp", "unit"),
    [
        ("byte", "BYTE"),
        ("Kbyte", "KibiBYTE"),
        ("Mbyte", "MebiBYTE"),
        ("Gbyte", "GibiBYTE"),
        ("Tbyte", "TebiBYTE"),
        ("nanosec", "NanoSEC"),
        ("microsec", "MicroSEC"),
        ("millisec", "MilliSEC"),
        ("sec", "SEC"),
        ("min", "MIN"),
        ("hour", "HR"),
        ("count", "NUM"),
        ("count / sec", "NUM-PER-SEC"),
        ("byte / sec", "BYTE-PER-SEC"),
        ("/ sec", "HZ"),
        ("/ microsec", "MegaHZ"),
        (" count  /  sec ", "NUM-PER-SEC"),
    ],
)
def test_pcp_units_have_a_unit_of_qudt(pcp: str, unit: str) -> None:
    assert qudt_unit(pcp) == UNIT[unit]


@pytest.mark.parametrize(
    "pcp",
    [
        "",
        "none",
        "x 10^3",
        "count x 10^6",
        "byte^2",
        "nanosec / count",
        "kbyte",
        "BYTE",
    ],
)
def test_other_units_have_no_qudt_unit(pcp: str) -> None:
    assert qudt_unit(pcp) is None


@given(st.text())
def test_any_text_gives_a_known_unit_or_none(pcp: str) -> None:
    unit = qudt_unit(pcp)
    assert unit is None or (unit, RDF.type, QUDT.Unit) in ontology_graph()


@pytest.mark.parametrize(
    "pcp",
    ["byte", "Pbyte", "Ebyte", "count", "/ sec", "/ millisec", "/ nanosec"],
)
def test_every_used_unit_is_described(pcp: str) -> None:
    assert (qudt_unit(pcp), RDF.type, QUDT.Unit) in ontology_graph()


def test_unit_spellings_match_pcp() -> None:
    """PCP itself gives them: dimensions and scales of space, time and count."""
    printed = {
        str(pmUnits(1, 0, 0, 1, 0, 0)): "KibiBYTE",
        str(pmUnits(1, 0, 0, 6, 0, 0)): "ExbiBYTE",
        str(pmUnits(0, 1, 0, 0, 2, 0)): "MilliSEC",
        str(pmUnits(0, 1, 0, 0, 5, 0)): "HR",
        str(pmUnits(0, 0, 1, 0, 0, 0)): "NUM",
        str(pmUnits(0, -1, 1, 0, 3, 0)): "NUM-PER-SEC",
        str(pmUnits(1, -1, 0, 0, 3, 0)): "BYTE-PER-SEC",
        str(pmUnits(0, -1, 0, 0, 1, 0)): "MegaHZ",
    }
    assert {text: UNIT[name] for text, name in printed.items()} == {
        text: qudt_unit(text) for text in printed
    }


def test_units_of_rates_match_the_query() -> None:
    text = saved_query("observations/statistics").text
    pairs = re.findall(r"\(unit:([\w-]+) unit:([\w-]+)\)", text)
    assert {UNIT[counted]: UNIT[rate] for counted, rate in pairs} == RATES
    for rate in RATES.values():
        assert (rate, RDF.type, QUDT.Unit) in ontology_graph()


@pytest.mark.parametrize(
    ("iri", "symbol"),
    [
        (UNIT["NUM"], ""),
        (UNIT["UNITLESS"], ""),
        (UNIT["KibiBYTE"], "KiB"),
        (UNIT["NUM-PER-SEC"], "1/s"),
        (UNIT["DEG_C"], "°C"),
        (UNIT["FURLONG"], None),
        ("NUM", None),
    ],
)
def test_units_have_symbols(iri: str, symbol: str | None) -> None:
    assert unit_symbol(iri) == symbol
