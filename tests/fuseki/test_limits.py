"""What a query may call, and how long its literals may be."""

import asyncio
import os
import re
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from core.stores.connections import Connections
from core.stores.endpoint import Endpoint
from core.stores.errors import EndpointError
from core.stores.fuseki import GraphStore
from core.stores.sparql_dataset import JSON_RESULTS
from tests.fuseki.samples import CPU0
from tests.servers import Fuseki, wait_until

PREFIXES = """PREFIX st: <https://w3id.org/supertwin/ns#>
PREFIX afn: <http://jena.apache.org/ARQ/function#>
PREFIX apf: <http://jena.apache.org/ARQ/property#>
PREFIX fn: <http://www.w3.org/2005/xpath-functions#>
PREFIX list: <http://jena.apache.org/ARQ/list#>
PREFIX math: <http://www.w3.org/2005/xpath-functions/math#>
PREFIX js: <http://jena.apache.org/ARQ/jsFunction#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
PREFIX x: <http://x.example/>
"""
WAIT = "afn:wait(100000000)"


def error_of(fuseki: Fuseki, query: str, name: str = "twin") -> EndpointError:
    with (
        Endpoint(f"{fuseki.url}/{name}", timeout=60) as dataset,
        pytest.raises(EndpointError) as caught,
    ):
        dataset.answer(PREFIXES + query, "text/csv")
    assert "\n" not in str(caught.value)
    return caught.value


def rows(fuseki: Fuseki, query: str) -> list[str]:
    with Endpoint(f"{fuseki.url}/twin", timeout=240) as dataset:
        answer = dataset.answer(PREFIXES + query, "text/csv").decode()
    return answer.split("\r\n")[1:-1]


@pytest.mark.parametrize("dataset", ["twin", "history"])
@pytest.mark.parametrize(
    "query",
    [
        f"SELECT ({WAIT} AS ?x) {{}}",
        f"ASK {{ FILTER ({WAIT}) }}",
        f"SELECT * {{ BIND (IF(true, {WAIT}, 1) AS ?x) }}",
        f"SELECT * {{}} ORDER BY {WAIT}",
        f"SELECT (COUNT(*) AS ?n) {{}} GROUP BY ({WAIT} AS ?x)",
        f"SELECT (SUM({WAIT}) AS ?n) {{}}",
        f"SELECT (COUNT(*) AS ?n) {{}} HAVING {WAIT}",
        f"SELECT * {{ {{ SELECT ({WAIT} AS ?x) {{}} }} }}",
        f"SELECT * {{ FILTER NOT EXISTS {{ BIND ({WAIT} AS ?x) }} }}",
        f"SELECT * {{ OPTIONAL {{ FILTER ({WAIT}) }} }}",
        f"CONSTRUCT {{ ?x x:p 1 }} WHERE {{ BIND ({WAIT} AS ?x) }}",
        f"DESCRIBE ?x {{ BIND ({WAIT} AS ?x) }}",
        'SELECT (CALL(IRI(CONCAT("ja","va:x.Y"))) AS ?x) {}',
        "SELECT (fn:apply(afn:wait, 1) AS ?x) {}",
        'SELECT (fn:matches("a", "(.*a){20}b") AS ?x) {}',
        "SELECT (<java:java.lang.System>(1) AS ?x) {}",
        "SELECT (js:f(1) AS ?x) {}",
        'SELECT (afn:sprintf("%1000000000d", 1) AS ?x) {}',
        "SELECT (x:unknown(1) AS ?x) {}",
        "SELECT (AGG x:unknown(1) AS ?x) {}",
        "SELECT (FOLD(?x) AS ?l) { VALUES ?x { 1 } }",
        "SELECT * { ?x <java:x.Y> ?y }",
        "SELECT * { ?x <java:x.Y>/x:p ?y }",
        "SELECT * { ?x !(x:p|^<java:x.Y>) ?y }",
        'SELECT * { ?x apf:concat ("a" "b") }',
        f"SELECT * {{ {CPU0} st:median (1 2 ?value) }}",
        f"SELECT * {{ GRAPH ?g {{ {CPU0} st:median () }} }}",
        "SELECT * { (?host 8) st:scatter ?thread }",
    ],
)
def test_other_functions_are_refused(server: Fuseki, dataset: str, query: str) -> None:
    assert error_of(server, query, dataset).code == "function-refused"


@pytest.mark.parametrize(
    ("query", "near"),
    [
        (f"SELECT * {{ {CPU0} st:maxx (1 2 ?value) }}", "near: st:max"),
        ("SELECT (xsd:integr(1) AS ?x) {}", "near: xsd:integer"),
        (f"SELECT (st:avg({CPU0}) AS ?x) {{}}", "?telemetry st:avg (...)"),
    ],
)
def test_error_names_the_nearest_function(
    server: Fuseki, query: str, near: str
) -> None:
    assert near in str(error_of(server, query))


@pytest.mark.parametrize(
    ("query", "row"),
    [
        ('SELECT (xsd:integer("7") + fn:abs(-1) AS ?x) {}', "8"),
        ("SELECT (math:sqrt(math:pow(2, 4)) AS ?x) {}", "4.0e0"),
        ('SELECT (REGEX("aBc"@en, "^AB", "i") AS ?x) {}', "true"),
        ('SELECT (REGEX("abc", ?p) AS ?x) { VALUES ?p { "c$" } }', "true"),
        ('SELECT (REGEX(1, "1") AS ?x) {}', ""),
        ('SELECT (REGEX("a", ?p) AS ?x) { VALUES ?p { "(" } }', ""),
        ('SELECT (REPLACE("abcabc", "(b)(c)", "$2$1") AS ?x) {}', "acbacb"),
        ('SELECT (REPLACE("aAa", "a", "b", "i") AS ?x) {}', "bbb"),
        ('SELECT (CONCAT("a", "b", ?u) AS ?x) { VALUES ?u { "c" } }', "abc"),
        ("SELECT (?n * 2.5 AS ?x) { VALUES ?n { 3 } }", "7.5"),
        ("SELECT (STDEV(?n) AS ?x) { VALUES ?n { 3 3 } }", "0.0e0"),
        (
            "SELECT (GROUP_CONCAT(?n; separator='+') AS ?x) { VALUES ?n { 1 2 } }",
            "1+2",
        ),
        ("SELECT (GROUP_CONCAT(DISTINCT ?n) AS ?x) { VALUES ?n { 1 1 } }", "1"),
        ("SELECT (GROUP_CONCAT(?n) AS ?x) { VALUES ?n { 1 2 UNDEF } }", ""),
    ],
)
def test_functions_of_sparql_work(server: Fuseki, query: str, row: str) -> None:
    assert rows(server, query) == [row]


def test_terms_of_the_ontology_are_not_functions(server: Fuseki) -> None:
    count = "SELECT (COUNT(*) AS ?n) { ?t st:samplerName ?name"
    assert rows(server, f"{count} }}") != ["0"]
    assert rows(server, f"{count} . ?t st:noSuchTerm ?x }}") == ["0"]
    assert rows(server, "SELECT * { ?x x:list (1 2) }") == []


def doublings(function: str, start: str = '"0123456789"') -> str:
    steps = " ".join(
        f"BIND ({function.replace('?', f'?x{n}')} AS ?x{n + 1})" for n in range(30)
    )
    return f"BIND ({start} AS ?x0) {steps}"


GROWTH = [
    doublings("CONCAT(?, ?)"),
    doublings('REPLACE(?, "^(.*)$", "$1$1")'),
    doublings('REPLACE(?, ".", "00")'),
    doublings("? * ?", "99999"),
    doublings("? * ?", "9.9999"),
    doublings("math:pow(?, 2)", "99999"),
    f"{doublings('CONCAT(?, ?)')} FILTER (?x30 = 1)",
    f"FILTER EXISTS {{ {doublings('CONCAT(?, ?)')} }}",
]


@pytest.mark.parametrize("pattern", GROWTH)
def test_literals_are_limited(server: Fuseki, pattern: str) -> None:
    assert error_of(server, f"SELECT * {{ {pattern} }}").code == "literal-too-long"


@pytest.mark.parametrize("times", [1, 3])
def test_query_is_cancelled_when_nobody_waits_for_it(
    server: Fuseki, times: int
) -> None:
    numbers = " ".join(map(str, range(100)))
    values = " ".join(f"VALUES ?x{n} {{ {numbers} }}" for n in range(8))
    query = f"SELECT (COUNT(*) AS ?cancelled{times}) {{ {values} }}"
    began = re.compile(rf"\[(\d+)\] Query = .*AS \?cancelled{times}\)")

    def has_ended() -> bool:
        found = began.search(server.output())
        return bool(found and re.search(rf"\[{found[1]}\] \d\d\d ", server.output()))

    async def leave() -> None:
        async with Connections() as client:
            store = GraphStore(client, f"{server.url}/twin", 3600, 1000)
            asked = asyncio.create_task(store.query(query, JSON_RESULTS))
            await asyncio.to_thread(wait_until, lambda: began.search(server.output()))
            for _ in range(times):
                asked.cancel()
                await asyncio.sleep(0)
            with suppress(asyncio.CancelledError):
                await asked
            await asyncio.to_thread(wait_until, has_ended, what="the end of the query")

    asyncio.run(leave())


@pytest.mark.parametrize(
    "condition",
    ['REGEX(?x, "(.*a){20}b")', 'REPLACE(?x, "(.*a){20}b", "") = ?x'],
)
def test_timeout_stops_a_regular_expression(server: Fuseki, condition: str) -> None:
    query = f'SELECT * {{ VALUES ?x {{ "{"a" * 60}" }} FILTER ({condition}) }}'
    form = {"query": query, "timeout": "1"}
    answer = httpx.post(f"{server.url}/twin/sparql", data=form)
    assert answer.status_code == 503 and "timed out" in answer.text


@pytest.mark.parametrize("condition", ["REGEX(?x, ?p)", 'REPLACE(?x, ?p, "") = ?x'])
def test_text_too_long_for_a_regular_expression_is_an_error(
    server: Fuseki, condition: str
) -> None:
    values = f'VALUES (?x ?p) {{ ("{"a" * 100_000}" "(a|b)*c") }}'
    query = f"SELECT * {{ {values} FILTER ({condition}) }}"
    assert error_of(server, query).code == "literal-too-long"


@pytest.mark.parametrize("function", ['REGEX("a", "(")', 'REPLACE("a", "(", "")'])
def test_wrong_regular_expression_is_explained(server: Fuseki, function: str) -> None:
    error = error_of(server, f"SELECT ({function} AS ?x) {{}}")
    assert error.code == "syntax-error"
    assert "a regular expression is wrong: Unclosed group" in str(error)


@pytest.mark.parametrize("distinct", ["", "DISTINCT"])
def test_literals_of_aggregates_are_limited(server: Fuseki, distinct: str) -> None:
    digits = " ".join(map(str, range(40)))
    values = " ".join(f"VALUES ?{name} {{ {digits} }}" for name in "abc")
    row = 'CONCAT("01234567890123456789", STR(?a), "-", STR(?b), "-", STR(?c))'
    query = f"SELECT (GROUP_CONCAT({distinct} {row}) AS ?x) {{ {values} }}"
    assert error_of(server, query).code == "literal-too-long"


def test_error_in_a_filter_is_not_an_empty_answer(server: Fuseki) -> None:
    text = f'"{"x" * 600_000}"'
    query = f"SELECT * {{ VALUES ?x {{ {text} }} FILTER (CONCAT(?x, ?x) = 1) }}"
    assert error_of(server, query).code == "literal-too-long"


def test_functions_of_an_update_are_checked(server: Fuseki) -> None:
    update = f"INSERT {{ x:s x:p ?x }} WHERE {{ BIND ({WAIT} AS ?x) }}"
    with Endpoint(f"{server.url}/history") as dataset:
        with pytest.raises(EndpointError) as caught:
            dataset.update(PREFIXES + update)
        assert caught.value.code == "function-refused"
        triple = "GRAPH <x:g> { <x:s> <x:p> ?x }"
        dataset.update(f"INSERT {{ {triple} }} WHERE {{ BIND (STR(1) AS ?x) }}")
        assert dataset.ask("ASK { <x:s> <x:p> '1' }")
        dataset.update(f"DELETE WHERE {{ {triple} }}")


@pytest.mark.parametrize("tail", ["ORDER BY DESC(?n)", ""])
def test_many_rows_are_sorted_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tail: str
) -> None:
    """240,000 rows are more than the limit of the configuration."""
    spill = tmp_path / "spill"
    spill.mkdir()
    options = f"{os.environ['JDK_JAVA_OPTIONS']} -Djava.io.tmpdir={spill}"
    monkeypatch.setenv("JDK_JAVA_OPTIONS", options)
    numbers = " ".join(map(str, range(800)))
    some = numbers[: numbers.index(" 300")]
    values = f"VALUES ?a {{ {numbers} }} VALUES ?b {{ {some} }}"
    query = f"SELECT DISTINCT ?n {{ {values} BIND (1000 * ?a + ?b AS ?n) }} {tail}"
    with Fuseki(tmp_path / "fuseki") as server:
        found = [int(row) for row in rows(server, query)]
    expected = [1000 * a + b for a in range(800) for b in range(300)]
    assert (found if tail else sorted(found, reverse=True)) == expected[::-1]
    assert not list(spill.iterdir())
