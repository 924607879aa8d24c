"""Tokens that are limited to a host: nothing of another host is in any answer."""

import pytest

from api.access.tokens import TokenRole, add_token
from bench.questions.load import IRIS
from core.stores.scope import Scope
from tests.api.servers import Closed, code_of
from tests.api.two_hosts import HIDDEN, HOST, TwoHosts

IDLE = "kernel.percpu.cpu.idle"
_HIDDEN_IDLE = f"<{IRIS.telemetry(HIDDEN, IDLE, 'cpu0')}>"
_NODE, _GRAPH = f"<{IRIS.host(HIDDEN)}>", f"<{IRIS.twin_graph(HIDDEN)}>"

# Forms of queries whose answers name the hidden host, if they may.
NAMING = {
    "all triples": "SELECT * { ?s ?p ?o }",
    "type of all": "SELECT ?s { ?s a ?kind }",
    "class": "SELECT ?host { ?host a st:ComputeNode }",
    "literal": f'SELECT ?node {{ ?node st:hostname "{HIDDEN}" }}',
    "object": f"SELECT ?part {{ ?part st:ofHost {_NODE} }}",
    "graph variable": "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }",
    "graph variable alone": "SELECT ?g { GRAPH ?g {} }",
    "graph by name": f"SELECT ?s {{ GRAPH {_GRAPH} {{ ?s ?p ?o }} }}",
    "graph from VALUES": (
        f"SELECT ?s {{ VALUES ?g {{ {_GRAPH} }} GRAPH ?g {{ ?s ?p ?o }} }}"
    ),
    "graph from BIND": f"SELECT ?s {{ BIND ({_GRAPH} AS ?g) GRAPH ?g {{ ?s ?p ?o }} }}",
    "union graph by name": (
        "SELECT ?s { GRAPH <urn:x-arq:UnionGraph> { ?s a st:ComputeNode } }"
    ),
    "entailed graph": (
        f"SELECT ?s {{ GRAPH <{IRIS.graphs}entailed/{HIDDEN}> {{ ?s ?p ?o }} }}"
    ),
    "FROM": f"SELECT ?s FROM {_GRAPH} {{ ?s ?p ?o }}",
    "FROM both": f"SELECT ?s FROM graph:metrics FROM {_GRAPH} {{ ?s ?p ?o }}",
    "FROM NAMED": f"SELECT ?g FROM NAMED {_GRAPH} {{ GRAPH ?g {{ ?s ?p ?o }} }}",
    "FROM union": ("SELECT ?s FROM <urn:x-arq:UnionGraph> { ?s a st:ComputeNode }"),
    "path +": "SELECT ?a { ?a st:isPartOf+ ?host . ?host a st:ComputeNode }",
    # A path of no steps ends at its start, whether or not the graph has it.
    "path * to a name": (
        f"SELECT ?part {{ ?part st:isPartOf* {_NODE} FILTER (?part != {_NODE}) }}"
    ),
    "path ^": f"SELECT ?part {{ {_NODE} ^st:isPartOf/^st:isPartOf ?part }}",
    "path |": f"SELECT ?x {{ {_NODE} (st:exposes|^st:ofHost)/^st:ofComponent ?x }}",
    "path ?": "SELECT ?p { ?p st:isPartOf? ?n . ?n st:hostname ?h }",
    "path !": "SELECT ?s { ?s !rdf:type ?o }",
    "path across hosts": (
        "SELECT ?other { ?h st:hostname "
        f'"{HOST}" . ?h st:exposes/^st:exposes ?other }}'
    ),
    "path in a graph": f"SELECT ?s {{ GRAPH {_GRAPH} {{ ?s st:isPartOf+ ?o }} }}",
    "OPTIONAL": (
        f'SELECT ?n {{ ?h st:hostname "{HOST}" OPTIONAL {{ ?n st:hostname ?o }} }}'
    ),
    "UNION": "SELECT ?s { { ?s a st:Disk } UNION { ?s a st:ComputeNode } }",
    "MINUS": f'SELECT ?s {{ ?s a st:ComputeNode MINUS {{ ?s st:hostname "{HOST}" }} }}',
    "subquery": "SELECT ?h { { SELECT ?h { ?n st:hostname ?h } ORDER BY DESC(?h) } }",
    "aggregate": "SELECT (MAX(?h) AS ?m) { ?n st:hostname ?h }",
    "GROUP_CONCAT": "SELECT (GROUP_CONCAT(?h) AS ?m) { ?n st:hostname ?h }",
    "group": "SELECT ?h (COUNT(*) AS ?n) { ?s st:ofHost ?h } GROUP BY ?h",
    "SAMPLE": (
        f'SELECT (SAMPLE(?h) AS ?m) {{ ?n st:hostname ?h FILTER (?h != "{HOST}") }}'
    ),
    "EXISTS": (
        f'SELECT ?h {{ BIND (IF(EXISTS {{ {_NODE} ?p ?o }}, "{HIDDEN}", "") AS ?h) }}'
    ),
    "NOT EXISTS": (
        "SELECT ?h { ?n a st:ComputeNode ; st:hostname ?h FILTER NOT EXISTS "
        f'{{ ?n st:hostname "{HOST}" }} }}'
    ),
    "EXISTS in a graph": (
        f'SELECT (IF(?is, "{HIDDEN}", "") AS ?h) {{ BIND (EXISTS {{ GRAPH ?g '
        f"{{ {_NODE} ?p ?o }} }} AS ?is) }}"
    ),
    "FILTER by text": f'SELECT ?s {{ ?s ?p ?o FILTER CONTAINS(STR(?s), "{HIDDEN}") }}',
    "LATERAL": (
        "SELECT ?h { ?n a st:ComputeNode LATERAL { SELECT ?h { ?n st:hostname ?h } } }"
    ),
    "CONSTRUCT": "CONSTRUCT { ?s ?p ?o } { ?s a st:ComputeNode ; ?p ?o }",
    "CONSTRUCT WHERE": "CONSTRUCT WHERE { ?s st:hostname ?o }",
    "CONSTRUCT from a graph": (
        f"CONSTRUCT {{ ?s ?p ?o }} {{ GRAPH {_GRAPH} {{ ?s ?p ?o }} }}"
    ),
    "DESCRIBE by name": f"DESCRIBE {_NODE}",
    "DESCRIBE by pattern": "DESCRIBE ?s { ?s a st:ComputeNode }",
    "runs": "SELECT ?run ?host { ?run st:ranOn ?host }",
    "jobs": "SELECT ?group ?job { ?group st:jobId ?job }",
    "plans": "SELECT ?plan { ?plan a st:SamplingPlan }",
    "telemetry": "SELECT ?t { ?t a st:SWTelemetry }",
    "placement": (f'SELECT ?thread {{ ("{HIDDEN}") st:treeOrder (?rank ?thread) }}'),
    "placement by name": (
        "SELECT ?thread { ?n st:hostname ?h . (?h 2) st:distrib (?rank ?thread) }"
    ),
    "last values": "SELECT ?t ?v { ?t a st:SWTelemetry . ?t st:last (?v) }",
    "samples": (
        'SELECT ?t ?v { ?t st:ofMetric/st:samplerName "mem.util.free" . '
        '?t st:rawSamples ("now-5m" "now" ?time ?v) }'
    ),
    "windows": (
        f'SELECT ?t ?v {{ ?t st:ofMetric/st:samplerName "{IDLE}" . '
        '?t st:rate ("now-5m" "now" ?v) }'
    ),
    "coverage": (
        f'SELECT ?t ?v ?why {{ ?t st:ofMetric/st:samplerName "{IDLE}" . '
        '?t st:rate ("now-5m" "now" ?v ?present ?expected ?why) }'
    ),
}


@pytest.mark.parametrize("form", NAMING)
def test_no_form_of_query_names_another_host(
    two: TwoHosts, everything: str, limited: str, form: str
) -> None:
    # The answer of the same query without a limit names it.
    whole = two.sparql(everything, NAMING[form])
    assert (whole.status_code, HIDDEN in whole.text) == (200, True), whole.text[:500]
    part = two.sparql(limited, NAMING[form])
    assert part.status_code == 200, part.text
    assert HIDDEN not in part.text


# Forms whose answers depend on the hidden host without naming it, and the same query
# about the visible host alone.
COUNTING = {
    "triples": (
        "SELECT (COUNT(*) AS ?n) { ?s st:ofHost ?h }",
        "SELECT (COUNT(*) AS ?n) { ?s st:ofHost twin:alpha }",
    ),
    "graphs": (
        "SELECT (COUNT(DISTINCT ?g) AS ?n) { GRAPH ?g { ?s st:ofHost ?h } }",
        "SELECT (COUNT(DISTINCT ?g) AS ?n) { GRAPH ?g { ?s st:ofHost twin:alpha } }",
    ),
    "distinct values": (
        "SELECT (COUNT(DISTINCT ?h) AS ?n) { ?s st:hostname ?h }",
        'SELECT (COUNT(DISTINCT ?h) AS ?n) { ?s st:hostname ?h FILTER (?h = "alpha") }',
    ),
    "sum of samples": (
        'SELECT (SUM(?v) AS ?n) { ?t st:ofMetric/st:samplerName "mem.util.free" . '
        '?t st:max ("now-5m" "now" ?v) }',
        'SELECT (SUM(?v) AS ?n) { ?t st:ofMetric/st:samplerName "mem.util.free" ; '
        'st:ofHost twin:alpha . ?t st:max ("now-5m" "now" ?v) }',
    ),
    "property": (
        "SELECT (COUNT(DISTINCT ?o) AS ?n) { ?s st:ranOn ?o }",
        'SELECT (COUNT(DISTINCT ?o) AS ?n) { ?s st:ranOn ?o FILTER (?o = "alpha") }',
    ),
}


@pytest.mark.parametrize("form", COUNTING)
def test_no_count_includes_another_host(
    two: TwoHosts, everything: str, limited: str, form: str
) -> None:
    query, of_visible = COUNTING[form]
    expected = two.rows(everything, of_visible)
    assert two.rows(everything, query) != expected
    assert two.rows(limited, query) == expected


ASKING = {
    "host": f"ASK {{ {_NODE} ?p ?o }}",
    "graph": f"ASK {{ GRAPH {_GRAPH} {{ ?s ?p ?o }} }}",
    "path": f"ASK {{ ?part st:isPartOf+ {_NODE} }}",
    "name": f'ASK {{ ?run st:ranOn "{HIDDEN}" }}',
    "from": f"ASK FROM {_GRAPH} {{ ?s ?p ?o }}",
}


@pytest.mark.parametrize("form", ASKING)
def test_ask_knows_no_other_host(
    two: TwoHosts, everything: str, limited: str, form: str
) -> None:
    assert "true" in two.sparql(everything, ASKING[form]).text
    assert "false" in two.sparql(limited, ASKING[form]).text


CALLS = {
    "last": "?t st:last (?v)",
    "raw": '?t st:rawSamples ("now-5m" "now" ?time ?v)',
    "avg": '?t st:avg ("now-5m" "now" ?v)',
    "steps": '?t st:rate ("now-5m" "now" "1m" ?time ?v)',
    "quantile": '?t st:quantile (0.5 "now-5m" "now" ?v)',
}


@pytest.mark.parametrize("call", CALLS)
def test_samples_by_iri_are_unknown_telemetry(
    two: TwoHosts, everything: str, limited: str, call: str
) -> None:
    query = f"SELECT ?v {{ VALUES ?t {{ {_HIDDEN_IDLE} }} {CALLS[call]} }}"
    assert two.rows(everything, query)
    answer = two.sparql(limited, query)
    assert (answer.status_code, code_of(answer)) == (400, "unknown-telemetry")


@pytest.mark.parametrize("name", ["default-graph-uri", "named-graph-uri"])
def test_graphs_of_the_protocol_are_limited(
    two: TwoHosts, everything: str, limited: str, name: str
) -> None:
    query = "SELECT ?s { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
    form = {name: _GRAPH.strip("<>")}
    assert two.rows(everything, query, **form)
    assert not two.rows(limited, query, **form)


@pytest.mark.parametrize("asof", ["2026-11-02", "2026-11-03T12:00:00Z"])
def test_past_of_another_host_is_hidden(
    two: TwoHosts, everything: str, limited: str, asof: str
) -> None:
    query = "SELECT ?s ?o { ?s st:kernelRelease ?o }"
    assert HIDDEN in two.sparql(everything, query, asof=asof).text
    part = two.sparql(limited, query, asof=asof)
    assert (part.status_code, HIDDEN in part.text, HOST in part.text) == (
        200,
        False,
        True,
    )


def test_explanation_names_no_other_host(
    two: TwoHosts, everything: str, limited: str
) -> None:
    query = NAMING["windows"]
    assert HIDDEN in two.sparql(everything, query, explain="true").text
    part = two.sparql(limited, query, explain="true")
    assert (HIDDEN in part.text, HOST in part.text) == (False, True)


def test_clients_cannot_set_the_scope(two: TwoHosts, limited: str) -> None:
    sent = '{"base": "http://localhost:8000"}'
    answer = two.ask(
        limited,
        "/sparql",
        params={
            "query": "SELECT ?h { ?n <https://w3id.org/supertwin/ns#hostname> ?h }",
            "scope": sent,
        },
        headers={"SuperTwin-Scope": sent},
    )
    assert HIDDEN not in answer.text
    assert HIDDEN not in two.sparql(limited, NAMING["class"], scope=sent).text


def test_scope_applies_where_reading_is_open(opened: Closed) -> None:
    scope = Scope(hosts=("n2",))
    token = add_token(opened.home, "elsewhere", TokenRole.READER, None, scope)
    assert opened.get("/twin/n1").status_code == 200
    assert opened.get("/twin/n1", token).status_code == 404
    assert code_of(opened.get("/observations", token)) == "out-of-scope"


def test_limited_answers_are_complete(two: TwoHosts, everything: str) -> None:
    """With all hosts in its scope, a token sees what one without a scope sees."""
    both = two.token(hosts=[HOST, HIDDEN])
    query = "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }"
    assert two.rows(both, query) == two.rows(everything, query)
