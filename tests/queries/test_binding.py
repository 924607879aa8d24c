"""Parameter values: their types, and protection against injection."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Graph, Literal, URIRef

from queries.binding import Param, serialise
from queries.catalogue import LONGEST_VALUE, parse_query
from queries.errors import ParameterError

HOSTILE = [
    '"',
    '"""',
    "'",
    '" } UNION { ?s ?p ?o } #',
    "\\",
    "\\\\",
    '\\"',
    "\\u0041",
    "\\\\u0041",
    "\\U00000041",
    "a\nb\r\tc\b\f",
    "<http://x>",
    "?s",
    "UNDEF",
    "}",
    "# no comment",
    "ü€𝄞\u0301",
    "\u2028\u0085\ufeff",
    "x" * LONGEST_VALUE,
]


def echo(type_: str):
    """A query that returns the value of its parameter."""
    return parse_query(
        "test/echo",
        "#+ title: Echo\n#+ description: Says what it is told\n"
        f"#+ params: {{it: {{type: {type_}}}}}\n#+ returns: [it]\n"
        "SELECT ?it WHERE { VALUES (?it) { (UNDEF) } FILTER (BOUND(?it)) }",
    )


def answer(type_: str, value):
    """The single term that a real SPARQL engine reads from a value."""
    rows = list(Graph().query(echo(type_).bind({"it": value})))
    assert len(rows) == 1
    assert len(rows[0]) == 1
    return rows[0][0]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:20]))
def test_hostile_text_round_trips(text):
    assert answer("string", text) == Literal(text)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:20]))
def test_hostile_text_round_trips_through_fuseki(text, endpoint):
    rows = endpoint.select(echo("string").bind({"it": text})).rows
    assert rows == [[Literal(text)]]


# rdflib's parser accepts raw tabs and carriage returns; U+0000 causes no problem.
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]))
ESCAPES = st.text(alphabet="\\uU0041\"'nrt{}<>#?\n")


@settings(deadline=None)
@given(ANY_TEXT | ESCAPES)
def test_any_text_round_trips(text):
    assert answer("string", text) == Literal(text)


@settings(deadline=None)
@given(st.integers(min_value=-(10**30), max_value=10**30))
def test_any_integer_round_trips(number):
    assert answer("integer", number).toPython() == number
    assert answer("integer", str(number)).toPython() == number


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_number_round_trips(number):
    assert float(answer("number", number).toPython()) == number
    assert float(answer("number", repr(number)).toPython()) == number


@pytest.mark.parametrize(
    "iri", ["http://h/a", "urn:x:y", "http://h/ü~2F?a=b#c", "dtmi:a:b;1", "http://h/'"]
)
def test_iri_round_trips(iri):
    assert answer("iri", iri) == URIRef(iri)


@pytest.mark.parametrize("sign", '<>"{}|^`\\ \n\t\r\x00\x1f\x7f\x85')
def test_iri_with_a_forbidden_character_is_refused(sign):
    with pytest.raises(ParameterError, match="expected an absolute IRI"):
        echo("iri").bind({"it": f"http://h/a{sign}b"})


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("integer", "1.5"),
        ("integer", "one"),
        ("integer", ""),
        ("integer", True),
        ("integer", 1.0),
        ("integer", "1 2"),
        ("integer", "٣"),
        ("integer", "9" * 5000),
        ("number", "nan"),
        ("number", float("inf")),
        ("number", "1e999999"),
        ("number", "1e999"),
        pytest.param("number", 10**5000, id="huge"),
        pytest.param("integer", -(10**5000), id="tiny"),
        ("number", ["a"]),
        ("number", False),
        ("number", "."),
        ("number", "1e٣"),
        ("number", "1_0"),
        ("integer", "٣"),
        ("boolean", "yes"),
        ("boolean", 1),
        ("iri", "relative/path"),
        ("iri", ""),
        ("iri", "http://h/\ud800"),
        ("string", 5),
        ("string", "\ud800"),
        ("string", ["a"]),
    ],
)
def test_value_of_another_type_is_refused(type_, value):
    with pytest.raises(ParameterError, match="parameter it: .* given, expected"):
        echo(type_).bind({"it": value})


def test_value_has_a_greatest_length():
    with pytest.raises(ParameterError, match="it: 65537 characters given, at most"):
        echo("string").bind({"it": "x" * (LONGEST_VALUE + 1)})


def test_refusal_names_parameter_value_and_type_in_one_short_line():
    with pytest.raises(ParameterError) as caught:
        echo("integer").bind({"it": "x\n" * 1000})
    message = str(caught.value)
    assert message.startswith("parameter it: 'x\\nx")
    assert message.endswith("given, expected a whole number")
    assert "\n" not in message
    assert len(message) < 150


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("boolean", "true", True),
        ("boolean", "False", False),
        ("integer", " +7 ", 7),
        ("number", ".5", 0.5),
        ("number", "3", 3),
        ("number", "2E3", 2000),
    ],
)
def test_text_is_converted_to_the_type(type_, text, value):
    assert answer(type_, text).toPython() == value


def test_missing_value_is_undef():
    assert serialise(Param("it", "string"), None) == "UNDEF"


def test_value_outside_the_enum_is_refused():
    param = Param("it", "string", enum=("data", "instruction"))
    assert serialise(param, "data") == '"data"'
    with pytest.raises(ParameterError, match="expected one of data, instruction"):
        serialise(param, "unified")


def test_several_sets_of_values_are_several_rows():
    rows = Graph().query(echo("integer").bind_each([{"it": 1}, {"it": 2}, {}]))
    assert [row[0] for row in rows] == [Literal(1), Literal(2)]
    with pytest.raises(ParameterError, match="has no parameter 'that'"):
        echo("integer").bind_each([{"it": 1}, {"that": 2}])
