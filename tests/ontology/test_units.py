import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import RDF

from ontology.load import ontology_graph
from ontology.terms import QUDT, UNIT
from ontology.units import qudt_unit
from pmapi import units_text


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
def test_other_units_have_none(pcp: str) -> None:
    assert qudt_unit(pcp) is None


@given(st.text())
def test_any_text_gives_a_known_unit_or_none(pcp: str) -> None:
    unit = qudt_unit(pcp)
    assert unit is None or (unit, RDF.type, QUDT.Unit) in ontology_graph()


@pytest.mark.parametrize(
    "pcp",
    ["byte", "Pbyte", "Ebyte", "count", "/ sec", "/ millisec", "/ nanosec"],
)
def test_every_unit_that_is_given_is_described(pcp: str) -> None:
    assert (qudt_unit(pcp), RDF.type, QUDT.Unit) in ontology_graph()


def packed(*parts: int) -> int:
    """struct pmUnits: dimensions of space, time and count, then their scales."""
    return sum((part & 15) << (28 - 4 * at) for at, part in enumerate(parts))


def test_spellings_are_those_that_pcp_prints() -> None:
    """Asked of PCP itself: dimensions and scales of space, time and count."""
    printed = {
        units_text(packed(1, 0, 0, 1, 0, 0)): "KibiBYTE",
        units_text(packed(1, 0, 0, 6, 0, 0)): "ExbiBYTE",
        units_text(packed(0, 1, 0, 0, 2, 0)): "MilliSEC",
        units_text(packed(0, 1, 0, 0, 5, 0)): "HR",
        units_text(packed(0, 0, 1, 0, 0, 0)): "NUM",
        units_text(packed(0, -1, 1, 0, 3, 0)): "NUM-PER-SEC",
        units_text(packed(1, -1, 0, 0, 3, 0)): "BYTE-PER-SEC",
        units_text(packed(0, -1, 0, 0, 1, 0)): "MegaHZ",
    }
    assert {text: UNIT[name] for text, name in printed.items()} == {
        text: qudt_unit(text) for text in printed
    }
