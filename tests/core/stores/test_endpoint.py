"""Queries, updates and refusals of the graph store's client, on a real Fuseki."""

import threading
from decimal import Decimal

import pytest
from rdflib import XSD, BNode, Graph, Literal, URIRef

from core.stores.endpoint import Endpoint
from core.stores.errors import EndpointError, QuerySyntaxError, UpdateRefusedError
from tests.core.stores.made_up import GRAPH, many

THING = URIRef("http://x/ü")


def test_select_gives_typed_terms(endpoint):
    rows = endpoint.select(
        'SELECT * { VALUES (?a ?b) { (<http://x/ü> 1) ("x"@de 1.50) (UNDEF true) '
        '("a\\nb" "01"^^<http://www.w3.org/2001/XMLSchema#integer>) } }'
    )
    assert rows.columns == ["a", "b"]
    assert rows.rows[:3] == [
        [THING, Literal(1)],
        [Literal("x", lang="de"), Literal("1.50", datatype=XSD.decimal)],
        [None, Literal(True)],
    ]
    assert str(rows.rows[3][1]) == "01"
    assert rows.values() == [
        ["http://x/ü", 1],
        ["x", Decimal("1.5")],
        [None, True],
        ["a\nb", 1],
    ]


def test_times_are_read_as_rdflib_reads_them(endpoint):
    texts = (
        "2026-02-28T09:00:00.5Z",
        "2026-02-28T09:00:00+02:00",
        "2026-02-30T09:00:00Z",
    )
    rows = " ".join(f'"{text}"^^<{XSD.dateTime}>' for text in texts)
    query = f"SELECT * {{ VALUES ?a {{ {rows} }} }}"
    values = [[Literal(text, datatype=XSD.dateTime).toPython()] for text in texts[:2]]
    assert endpoint.table(query).rows == [*values, [texts[2]]]
    assert endpoint.select(query).values() == endpoint.table(query).rows


def test_texts_are_those_of_csv(endpoint):
    rows = '("a, \\"b\\"\\r\\nü" 1.50) (<http://x/ü> UNDEF)'
    assert endpoint.texts(f"SELECT * {{ VALUES (?a ?b) {{ {rows} }} }}") == [
        {"a": 'a, "b"\r\nü', "b": "1.50"},
        {"a": "http://x/ü", "b": ""},
    ]
    assert endpoint.texts("SELECT ?a { FILTER (false) }") == []


def test_select_gives_blank_nodes(endpoint):
    rows = endpoint.select("SELECT ?b { BIND (BNODE() AS ?b) }")
    assert isinstance(rows.rows[0][0], BNode)


def test_ask_returns_a_boolean(endpoint):
    assert endpoint.ask("ASK {}") is True
    assert endpoint.ask("ASK { ?s ?p ?o }") is False


def test_graphs_are_put_read_and_replaced(endpoint):
    first, second = Graph(), Graph()
    first.add((THING, THING, Literal('quote " and\nline', lang="en")))
    second.add((THING, THING, Literal(2)))
    endpoint.put_graph(GRAPH, first)
    assert set(endpoint.get_graph(GRAPH)) == set(first)
    endpoint.put_graph(GRAPH, second)
    assert set(endpoint.get_graph(GRAPH)) == set(second)
    assert endpoint.get_graph(GRAPH).identifier == URIRef(GRAPH)


def test_missing_graph_is_empty(endpoint):
    assert len(endpoint.get_graph("http://x/none")) == 0


def test_default_graph_is_the_union(endpoint):
    endpoint.put_graph(GRAPH, many(2))
    endpoint.put_graph(GRAPH + "2", many(3))
    rows = endpoint.select("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")
    assert rows.rows == [[Literal(3)]]


def test_construct_returns_a_graph(endpoint):
    endpoint.put_graph(GRAPH, many(3))
    graph = endpoint.construct("CONSTRUCT { ?s a ?p } WHERE { ?s ?p ?o }")
    assert len(graph) == 3


def test_update_is_atomic(endpoint):
    endpoint.update(f"INSERT DATA {{ GRAPH <{GRAPH}> {{ <a:a> <a:b> 1 }} }}")
    with pytest.raises(EndpointError):
        endpoint.update(
            f"DROP GRAPH <{GRAPH}> ; LOAD <http://127.0.0.1:1/nothing> INTO GRAPH <a:b>"
        )
    assert len(endpoint.get_graph(GRAPH)) == 1


def test_syntax_error_is_the_message_of_the_store_in_one_line(endpoint):
    with pytest.raises(
        QuerySyntaxError, match=r"cannot read the query: .*line 2"
    ) as caught:
        endpoint.select("SELECT * {\n\n")
    assert "\n" not in str(caught.value)


def test_syntax_error_in_an_update_is_refused(endpoint):
    with pytest.raises(QuerySyntaxError, match="cannot read the update"):
        endpoint.update("INSERT DATA { <a:b> <a:c> ?x }")


def test_update_is_not_a_query(endpoint):
    with pytest.raises(QuerySyntaxError):
        endpoint.select("INSERT DATA { <a:b> <a:c> 1 }")


def test_query_is_not_an_update(endpoint):
    with pytest.raises(QuerySyntaxError):
        endpoint.update("SELECT * { ?s ?p ?o }")


@pytest.mark.parametrize(
    ("method", "sparql"),
    [
        ("select", "ASK {}"),
        ("select", "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"),
        ("ask", "SELECT * {}"),
        ("construct", "SELECT * {}"),
        ("select", "SELECT * {} # \ud800"),
    ],
)
def test_query_of_another_form_is_refused(endpoint, method, sparql):
    with pytest.raises(EndpointError):
        getattr(endpoint, method)(sparql)


def test_write_to_a_read_only_dataset_is_refused(endpoint, fuseki):
    with Endpoint(f"{fuseki.url}/frozen") as frozen:
        assert frozen.ask("ASK {}")
        with pytest.raises(EndpointError):
            frozen.update("DROP ALL")
        with pytest.raises(UpdateRefusedError, match="refused to write"):
            frozen.put_graph(GRAPH, many(1))


def test_missing_dataset_is_reported(fuseki):
    with Endpoint(f"{fuseki.url}/nothing") as nothing:
        for call in (
            lambda: nothing.select("SELECT * {}"),
            lambda: nothing.update("DROP ALL"),
            lambda: nothing.get_graph(GRAPH),
            lambda: nothing.put_graph(GRAPH, many(1)),
        ):
            with pytest.raises(EndpointError, match="is it a dataset"):
                call()


def test_one_endpoint_serves_many_threads(endpoint):
    endpoint.put_graph(GRAPH, many(50))
    counts: list[int] = []

    def read() -> None:
        for _ in range(5):
            counts.append(len(endpoint.select("SELECT * { ?s ?p ?o }").rows))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [50] * 40
