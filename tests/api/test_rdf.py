"""RDF/XML, how an answer reports a truncated part, and unknown parameters."""

import json

import httpx
import pytest
from rdflib import Graph, URIRef
from rdflib.compare import isomorphic

from api.rdf import json_ld, rdf_xml
from ontology.terms import ST
from tests.ontology.graphs import unnamed

NODE = URIRef("http://twin.example/twin/n1")
CUT = ["only 500 incoming st:ofComponent links are shown -- of 2571"]


@pytest.mark.parametrize("path", ["/twin/n1", "/ontology", "/twin"])
def test_rdf_xml_equals_turtle(api: httpx.Client, path: str) -> None:
    xml = api.get(path, headers={"Accept": "application/rdf+xml"})
    assert xml.headers["content-type"].startswith("application/rdf+xml")
    turtle = api.get(path, headers={"Accept": "text/turtle"})
    found = unnamed(Graph().parse(data=xml.text, format="xml"))
    assert found
    assert found == unnamed(Graph().parse(data=turtle.text, format="turtle"))


def test_body_marks_a_truncated_answer() -> None:
    graph = Graph()
    graph.add((NODE, ST.isPartOf, NODE))
    assert "<!-- cut: only 500 incoming" in rdf_xml(graph, CUT)
    assert isomorphic(Graph().parse(data=rdf_xml(graph, CUT), format="xml"), graph)
    document = json.loads(json_ld(graph, "http://twin.example/c", NODE, CUT))
    assert document["cut"] == CUT
    assert "cut" not in json.loads(json_ld(graph, "http://twin.example/c", NODE))


@pytest.mark.parametrize(
    "path",
    [
        *("/twin", "/plans", "/queries", "/dashboards", "/observations/running"),
        *("/history/n1", "/twin/n1", "/twin/n1/thread/0", "/pin?host=n1"),
        *("/dashboards/monitor?host=n1", "/dashboards/monitor/grafana?host=n1"),
        "/why?host=n1&metric=mem.util.free",
    ],
)
def test_unknown_parameter_is_refused(api: httpx.Client, path: str) -> None:
    answer = api.get(f"{path}{'&' if '?' in path else '?'}most=2")
    assert answer.status_code == 400
    assert "no parameter 'most' here" in answer.json()["detail"]


def test_dashboard_url_holds_what_is_shown(api: httpx.Client) -> None:
    shown = {"host": "n1", "component": "", "last": "15m", "from": "1", "to": "2"}
    assert api.get("/dashboards/monitor", params=shown).status_code == 200
