"""The form of a query is determined from its tokens, not from its text."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.lexer import ResultForm, read_form
from core.errors import BadQueryError

SERVICE = "SERVICE <http://127.0.0.1:9/> {}"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("SELECT * {}", ResultForm.SELECT),
        ("select*{}", ResultForm.SELECT),
        ("ASK{}", ResultForm.ASK),
        ("# SELECT\nASK {}", ResultForm.ASK),
        ("# INSERT DATA {}\rCONSTRUCT {} {}", ResultForm.CONSTRUCT),
        ("CONSTRUCT { GRAPH ?g {?s ?p ?o} } WHERE { }", ResultForm.QUADS),
        ("construct{?s ?p ?o graph ?g{}}{}", ResultForm.QUADS),
        ("CONSTRUCT WHERE { GRAPH ?g {?s ?p ?o} }", ResultForm.QUADS),
        ("CONSTRUCT {?s ?p ?o} WHERE { GRAPH ?g {?s ?p ?o} }", ResultForm.CONSTRUCT),
        ('CONSTRUCT { ?s ?p "GRAPH" } WHERE { }', ResultForm.CONSTRUCT),
        ("CONSTRUCT", ResultForm.CONSTRUCT),
        ("PREFIX select: <http://x/ask> DESCRIBE select:ask", ResultForm.DESCRIBE),
        ("BASE <http://x/DELETE>\nPREFIX : <#INSERT> ASK {}", ResultForm.ASK),
        ("BASE<http://x/>SELECT*{}", ResultForm.SELECT),
        ('VERSION "1.2" SELECT * {}', ResultForm.SELECT),
        ("\ufeffSELECT * {}", ResultForm.SELECT),
        ('ASK { ?s ?p "INSERT DATA {}" }', ResultForm.ASK),
        ("SELECT ?service $service { ?service ?insert ?delete }", ResultForm.SELECT),
        (f'ASK {{ ?s ?p "{SERVICE}" }}', ResultForm.ASK),
        (f"ASK {{ ?s ?p '''a'' {SERVICE}''' }}", ResultForm.ASK),
        (f'ASK {{ ?s ?p """a"" \\""" {SERVICE}""" }}', ResultForm.ASK),
        (f'ASK {{ ?s ?p "\\"{SERVICE}" }}', ResultForm.ASK),
        (f"ASK {{ ?s ?p 1 }} # {SERVICE}", ResultForm.ASK),
        ("ASK { ?s <http://x/service> ?o }", ResultForm.ASK),
        ("ASK { ?s service:x ?o . ?s x:service ?o }", ResultForm.ASK),
        ("ASK { ?s ?p x:a\\#service }", ResultForm.ASK),
        ("ASK { _:service ?p 'a'@service }", ResultForm.ASK),
        (f'ASK {{ ?s ?p """a""""{SERVICE}" }}', ResultForm.ASK),
        ("ASK { FILTER (1 < 2 && 3 > 2) }", ResultForm.ASK),
    ],
)
def test_form_of_a_query_is_read(text: str, form: ResultForm) -> None:
    assert read_form(text) is form


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { <a:a> <a:b> 1 }",
        "prefix x: <http://x/> delete where { ?s ?p ?o }",
        "# SELECT * {}\nCLEAR ALL",
        "LOAD <http://x/>",
        "WITH <http://g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "DROP SILENT GRAPH <http://g>",
    ],
)
def test_updates_are_refused(text: str) -> None:
    with pytest.raises(BadQueryError, match="only queries are run here") as refused:
        read_form(text)
    assert refused.value.code == "update-refused"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "none of SELECT"),
        ("# SELECT * {}", "none of SELECT"),
        ("SELEKT * {}", "'SELEKT' at line 1, column 1"),
        ("PREFIX x: <http://x/>\n  JSON {}", "'JSON' at line 2, column 3"),
        ("'SELECT'", "none of SELECT"),
    ],
)
def test_other_text_is_a_syntax_error_with_its_position(
    text: str, message: str
) -> None:
    with pytest.raises(BadQueryError, match=message) as refused:
        read_form(text)
    assert refused.value.code == "syntax-error"


@given(st.text(st.sampled_from(string.printable + "é\u200d\ufeff\0"), max_size=60))
def test_any_text_gives_a_form_or_an_error(text: str) -> None:
    try:
        read_form(text)
    except BadQueryError as refused:
        assert "\n" not in refused.detail


@given(st.text(st.sampled_from("\"'\\\n#<>ab: .?@"), max_size=30))
def test_quoted_text_never_changes_the_form(text: str) -> None:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    query = f'ASK {{ ?s ?p "{quoted} {SERVICE}" }}'
    assert read_form(query) is ResultForm.ASK
