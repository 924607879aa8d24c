"""The rules that saved queries obey, built-in and added ones alike."""

import pytest

from queries.catalogue import LONGEST_VALUE, load_catalogue, parse_query
from queries.check import MOST_PARAMETERS, check_query
from queries.errors import CatalogueError, EndlessParameterError

CATALOGUE = load_catalogue()

GOOD = """\
#+ title: Threads
#+ description: Some threads
#+ params:
#+   host: {type: string, description: Name of the host}
#+   cpu: {type: integer, default: 3, description: Number of the thread}
#+ returns: [thread, cpu]
PREFIX st: <https://w3id.org/supertwin/ns#>
SELECT ?thread ?cpu WHERE {
  VALUES (?host ?cpu0) { (UNDEF 3) }
  ?node st:hostname ?host .
  ?thread st:osIndex ?cpu0 , ?cpu ; st:isPartOf ?node .
}
"""
HOST = "?node st:hostname ?host ."


@pytest.mark.parametrize("query", CATALOGUE.values(), ids=CATALOGUE)
def test_every_built_in_query_passes(query):
    check_query(query)


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


PARAMS = "".join(
    f"#+   p{n}: {{type: string, description: x}}\n" for n in range(MOST_PARAMETERS)
)
MANY = " ".join(f"?p{n}" for n in range(MOST_PARAMETERS))


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.replace("  VALUES (?host ?cpu0) { (UNDEF 3) }\n", "")
        + "VALUES (?host ?cpu0) { (UNDEF 3) }",
        changed("[thread, cpu]", "[]").replace("SELECT ?thread ?cpu WHERE", "ASK"),
        changed("[thread, cpu]", "[]").replace(
            "SELECT ?thread ?cpu WHERE", "CONSTRUCT { ?node st:osIndex ?cpu0 } WHERE"
        ),
        changed(HOST, f'{HOST} FILTER (?x != "SERVICE")'),
        changed(" , ?cpu ;", " ?cpu ;").replace("?cpu0 ?cpu", "?cpu")
        + "GROUP BY ?thread ?cpu ?cpu0 HAVING (?cpu > ?cpu0) ORDER BY ?cpu",
    ],
)
def test_good_query_passes(text):
    check_query(parse_query("a/b", text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed(", description: Name of the host", ""), "host has no description"),
        (changed(HOST, f"{HOST} SERVICE <urn:x> {{ }}"), "line 10: SERVICE asks"),
        (changed(HOST, f"{HOST} service<urn:x> {{ }}"), "line 10: SERVICE asks"),
        (changed("?thread st:osIndex", "?thread ; ; , st:osIndex"), "expected"),
        (GOOD + "; DELETE WHERE { ?s ?p ?o }", "expected"),
        (changed(HOST, HOST * 150), "nested too deeply, or has too long a group"),
        (changed(HOST, HOST * 600), "words and signs, at most"),
        (changed("(UNDEF 3)", "( UNDEF 3 )"), r"row of its parameters as \(UNDEF 3\)"),
        (changed("PREFIX st:", "PREFIX rdf: <urn:x>\nPREFIX st:"), "prefix rdf: is <"),
        (changed("PREFIX st:", "PREFIX ex: <urn:x>\nPREFIX st:"), "its prefix ex:"),
        (changed("st:osIndex", "st:osIndx"), "st:osIndx is not in the ontology"),
        (
            changed("[thread, cpu]", "[host, cpu]")
            .replace("SELECT ?thread", "SELECT ?host")
            .replace("#+   host: {type: string, description: Name of the host}\n", "")
            .replace("(?host ?cpu0) { (UNDEF 3) }", "(?cpu0) { (3) }"),
            "but has no parameter host",
        ),
    ],
)
def test_wrong_query_is_refused(text, message):
    with pytest.raises(CatalogueError, match=message) as caught:
        check_query(parse_query("a/b", text))
    assert "\n" not in str(caught.value)
    assert caught.value.code == "bad-saved-query"


@pytest.mark.parametrize(
    "text",
    [
        changed(HOST, "") + "ORDER BY ?host",
        changed(HOST, "") + "GROUP BY ?host ORDER BY ?host",
        changed("[thread, cpu]", "[]").split("SELECT")[0]
        + "DESCRIBE ?host ?cpu VALUES (?host ?cpu) { (UNDEF 3) }",
        changed(HOST, "").replace("SELECT ?thread", "SELECT (?host AS ?thread)"),
        changed(
            "type: string, ", f"type: string, enum: [a, {'x' * (LONGEST_VALUE + 1)}], "
        ),
        changed("#+   host", f"{PARAMS}#+   host").replace(
            "(?host ?cpu0) { (UNDEF 3) }",
            f"({MANY} ?host ?cpu0) {{ ({'UNDEF ' * MOST_PARAMETERS}UNDEF 3) }} "
            f"FILTER (?cpu IN ({MANY.replace(' ', ', ')}))",
        ),
    ],
    ids=[
        "ordered by",
        "grouped by",
        "no pattern",
        "selected only",
        "long choice",
        "many parameters",
    ],
)
def test_endless_parameter_is_refused(text):
    with pytest.raises(EndlessParameterError) as caught:
        check_query(parse_query("a/b", text))
    assert caught.value.code == "endless-parameter"
