"""The catalogue of saved queries, and the files that it refuses to load."""

import re
from itertools import pairwise

import pytest
from rdflib.namespace import XSD

from ontology.terms import PREFIXES
from queries.catalogue import load_catalogue, parse_query, saved_query
from queries.errors import CatalogueError, ParameterError, UnknownQueryError

CATALOGUE = load_catalogue()

GOOD = """\
#+ title: Threads
#+ description: Some threads
#+ params: {host: {type: string}, cpu: {type: integer, default: 3}}
#+ returns: [thread, cpu]
PREFIX st: <https://w3id.org/supertwin/ns#>
SELECT ?thread ?cpu WHERE {
  VALUES (?host ?cpu0) { (UNDEF 3) }
  ?node st:hostname ?host . # } ) "
  ?thread st:osIndex ?cpu0 , ?cpu ; st:isPartOf ?node .
}
"""


def test_valid_query_is_loaded():
    query = parse_query("a/b", GOOD)
    assert query.name == "a/b"
    assert query.title == "Threads"
    assert query.form == "select"
    assert list(query.params) == ["host", "cpu"]
    assert query.params["cpu"].default == 3
    assert query.returns == ["thread", "cpu"]
    assert query.panels == ()


def test_bind_replaces_only_the_values_row():
    bound = parse_query("a/b", GOOD).bind({"host": "n1", "cpu": "5"})
    assert bound == GOOD.replace("(UNDEF 3)", '("n1" 5)')


def test_bind_keeps_defaults_and_none_unbinds():
    query = parse_query("a/b", GOOD)
    assert query.bind({}) == GOOD
    assert query.bind({"cpu": None}) == GOOD.replace("(UNDEF 3)", "(UNDEF UNDEF)")


@pytest.mark.parametrize("end", ["VALUES", "VALUES (?host)", "VALUES ?host { UNDEF }"])
def test_other_values_blocks_are_unchanged(end):
    assert parse_query("a/b", GOOD + end).bind({}) == GOOD + end


def test_term_of_several_tokens_is_one():
    text = GOOD.replace("integer, default: 3", "number, default: -2.5")
    text = text.replace("UNDEF 3", f'UNDEF "-2.5"^^<{XSD.decimal}>')
    assert "(UNDEF 1)" in parse_query("a/b", text).bind({"cpu": 1})


def test_bind_refuses_unknown_parameters_and_lists_the_known():
    with pytest.raises(ParameterError, match="no parameter 'core'; it has: host, cpu"):
        parse_query("a/b", GOOD).bind({"core": 1})


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT ?a { ?a ?b ?c }", "has no header"),
        (changed("#+ title: Threads\n", ""), "header lacks title"),
        (changed("#+ title: Threads\n", "#+ title: [\n"), "header is not YAML"),
        (changed("title: Threads", "title: 5"), "title must be a text"),
        (changed("#+ title", "#+ colour: red\n#+ title"), "unknown keys colour"),
        (changed("#+ title", "#+ title: Twice\n#+ title"), "title occurs twice"),
        (changed("#+ title", "#+ panel: 5\n#+ title"), "panel must be a mapping"),
        (changed("#+ title", "#+ dataset: 5\n#+ title"), "dataset must be one of"),
        (
            changed("#+ title", "#+ dataset: history\n#+ panel: {}\n#+ title"),
            "panels are drawn from twin alone",
        ),
        *(
            (changed("title: Threads", f"title: {value}"), message)
            for value, message in (
                ("!!int x", "a value that YAML cannot convert .* quote it"),
                ("!!bool x", "a value that YAML cannot convert"),
                ("!!timestamp x", "a value that YAML cannot convert"),
                ("2020-13-45", "a value that YAML cannot convert .month must be"),
                ("9" * 5000, "a value that YAML cannot convert"),
                ("{? [a] : b}", "has a key that is not text"),
                ("[" * 300_000, "nested too deeply"),
                ("&a [*a]", "more than 10000 values"),
                ("&a {b: *a}", "more than 10000 values"),
                (
                    "[&a [x, x, x, x, x, x, x, x, x, x]"
                    + "".join(
                        f", &{name} [{', '.join([f'*{before}'] * 10)}]"
                        for before, name in pairwise("abcdefghi")
                    )
                    + "]",
                    "more than 10000 values",
                ),
            )
        ),
        (changed("[thread, cpu]", "[thread]"), "returns .* but projects"),
        (changed("[thread, cpu]", "thread"), "returns must be a list"),
        (changed("SELECT ?thread ?cpu", "SELECT *"), "projects"),
        (changed("{host: {", "{nic: {type: iri}, host: {"), "exactly one 'VALUES"),
        (changed("(?host ?cpu0)", "(?host ?cpu0 ?core)"), "exactly one 'VALUES"),
        (changed("{ (UNDEF 3) }", "{ (UNDEF 3) (UNDEF 4) }"), "exactly one 'VALUES"),
        (
            changed("VALUES", "VALUES (?host ?cpu0) { (UNDEF 3) } VALUES"),
            "exactly one 'VALUES .* has 2",
        ),
        (
            changed("  ?node st:hostname ?host .", ""),
            r"never uses its parameter \?host",
        ),
        (changed("(UNDEF 3)", "(UNDEF 4)"), "differs from the defaults"),
        (changed("(UNDEF 3)", "(UNDEF)"), "differs from the defaults"),
        (changed("type: string", "type: text"), "parameter host has no type of"),
        (changed("type: string", "kind: string"), "unknown keys kind"),
        (changed("{type: string}", "string"), "parameter host must be a mapping"),
        (changed("default: 3", "default: three"), "parameter cpu: 'three' given"),
        (changed("default: 3", "default: '3'"), "is not of type integer"),
        (changed("default: 3", "default: 3, enum: [4]"), "expected one of 4"),
        (changed("default: 3", "default: 3, enum: 4"), "enum must be a list"),
        (changed("type: string", "type: string, everywhere: 1"), "true or false"),
        (changed("default: 3", "default: 3, everywhere: true"), "of host alone"),
        (changed("cpu: {", "a-b: {"), "parameter a-b is not a name"),
        (changed("cpu: {", "ofCore: {"), "parameter ofCore has capital letters"),
        (changed("cpu: {", "version: {"), "every query has one of this name"),
        (changed("{host: {type: string}, cpu", "[host, cpu"), "header is not YAML"),
        (GOOD + "}", "line 11: '}' closes nothing"),
        (changed(".\n}\n", ".\n"), "line 6: '{' is never closed"),
        (changed("?thread st:", "?thread \x01 st:"), "line 9 is not SPARQL"),
        (changed("?thread st:osIndex", "?thread foaf:age"), "prefix foaf: is not"),
        (changed("(UNDEF 3)", '("a"^^xsd:token 3)'), "prefix xsd: is not"),
        (changed("(UNDEF 3)", "(UNDEF +3)"), "differs from the defaults"),
        (changed("?node st:hostname", r"?node \ st:hostname"), "line 8 is not SPARQL"),
        (changed("SELECT ?thread ?cpu WHERE", "INSERT"), "is not a query"),
    ],
)
def test_invalid_query_is_refused(text, message):
    with pytest.raises(CatalogueError, match=message) as caught:
        parse_query("a/b", text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("form", ["ASK", "CONSTRUCT { ?host ?cpu0 1 } WHERE"])
def test_other_forms_return_no_columns(form):
    text = changed("[thread, cpu]", "[]").replace("SELECT ?thread ?cpu WHERE", form)
    assert parse_query("a/b", text).form == form.split()[0].lower()


def test_expressions_are_projected_under_their_names():
    text = changed(
        "SELECT ?thread ?cpu WHERE",
        'SELECT DISTINCT (STR(?t) AS ?thread) (IF(?x, "a AS ?y", 1) AS ?cpu) WHERE',
    )
    assert parse_query("a/b", text).returns == ["thread", "cpu"]


def test_error_names_the_file(tmp_path):
    path = tmp_path / "group" / "name.rq"
    path.parent.mkdir()
    path.write_text("ASK {}")
    with pytest.raises(CatalogueError, match=re.escape(f"{path}: has no header")):
        load_catalogue(tmp_path)


def test_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "group" / "name.rq"
    path.parent.mkdir()
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(CatalogueError, match="name.rq"):
        load_catalogue(tmp_path)


def test_empty_folder_is_an_error(tmp_path):
    with pytest.raises(CatalogueError, match="holds no saved query"):
        load_catalogue(tmp_path)


def test_names_are_group_and_stem(tmp_path):
    for name in ("b/one", "a/two"):
        path = tmp_path / f"{name}.rq"
        path.parent.mkdir()
        path.write_text(GOOD)
    assert list(load_catalogue(tmp_path)) == ["a/two", "b/one"]
    assert saved_query("b/one", tmp_path).name == "b/one"


def test_unknown_name_lists_the_known():
    with pytest.raises(
        UnknownQueryError, match="'a/b'; there are: benchmarks/by-model, "
    ):
        saved_query("a/b")


def test_default_catalogue_is_loaded_once():
    assert load_catalogue() is load_catalogue()


def test_every_prefix_is_one_of_the_ontology():
    declared = [
        (query.name, prefix)
        for query in CATALOGUE.values()
        for prefix in re.findall(r"^PREFIX (\w+): <", query.text, re.MULTILINE)
    ]
    assert not [(name, prefix) for name, prefix in declared if prefix not in PREFIXES]


def test_query_names_its_dataset():
    text = changed("#+ title", "#+ dataset: history\n#+ title")
    assert parse_query("a/b", text).dataset == "history"
    assert parse_query("a/b", GOOD).dataset == "twin"
