"""Texts of expressions, and expressions as texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtual_telemetry.errors import ExpressionError
from virtual_telemetry.expression import (
    FUNCTIONS,
    LONGEST,
    Call,
    Conversion,
    Expression,
    Input,
    Number,
    Operation,
    Pattern,
    parse,
)

NUMBERS = st.floats(0, 1e15, allow_subnormal=False).map(Number)
INPUTS = st.from_regex(r"[a-z0-9/.~:#-]+", fullmatch=True).map(Input)
PATTERNS = st.sampled_from(
    [
        "?telemetry st:samplerName 'x}y'",
        '?telemetry ?p "a { b" . { ?a ?b ?c } UNION { ?d ?e <f#g> }',
        '?telemetry ?p """a "} # b""" FILTER REGEX(?a, "\\\\d") . ?b ?c "\\""',
        "?telemetry st:ofHost ?h FILTER (?n < 3 && ?m > 2)",
    ]
).map(Pattern)


def _larger(of: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.builds(Operation, st.sampled_from("+-*/"), of, of),
        st.builds(Call, st.sampled_from(FUNCTIONS), of),
        st.builds(Conversion, of, st.sampled_from(["W", "KiloW-HR", "DEG_C"])),
    )


EXPRESSIONS = st.recursive(st.one_of(NUMBERS, INPUTS, PATTERNS), _larger, max_leaves=12)


@given(EXPRESSIONS)
def test_text_of_an_expression_is_read_as_the_same(expression: Expression) -> None:
    assert parse(str(expression)) == expression


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1 + 2 * 3", "(1 + (2 * 3))"),
        ("1 - 2 - 3", "((1 - 2) - 3)"),
        ("8 / 4 / 2", "((8 / 4) / 2)"),
        ("-<a> - -.5e2", "((-1 * <a>) - -50)"),
        (" sum ( { ?telemetry ?p 1 } ) ", "sum({ ?telemetry ?p 1 })"),
    ],
)
def test_operators_are_read_from_left_to_right(text: str, same: str) -> None:
    assert str(parse(text)) == same


@pytest.mark.parametrize(
    "text",
    [
        *("", "(1", "1 +", "1 2", "rate", "rate()", "<a b>", "<a> ** 2", "median(<a>)"),
        *("{ ?telemetry ?p ?o", "sum({ { })", "in(<a>)", "in(<a>, W)", "1e999", "$x"),
        *("(" * 3000 + "1" + ")" * 3000, "{" * 2000 + "}" * 2000),
        "+".join("1" * 2000),
        "sum({ ?telemetry ?p '" + "x" * LONGEST + "' })",
        # Each would end its pattern earlier for SPARQL than for the expression.
        "sum({ ?telemetry ?p 1 . # {\n } HAVING EXISTS { ?a ?b ?c # }\n })",
        "sum({ ?telemetry ?p '''a'\"''' } HAVING EXISTS { ?a ?b '\"' })",
        'sum({ ?telemetry ?p \'"\\u007D\' . ?a ?b "" })',
        "sum({ ?telemetry ?p 1 \\u007D HAVING EXISTS \\u007B ?a ?b ?c })",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError) as error:
        parse(text)
    assert error.value.code == "bad-expression-text"


def test_error_names_the_place() -> None:
    with pytest.raises(ExpressionError, match="at character 5, '\\+ \\? <b>'"):
        parse("<a> + ? <b>")
