"""Rooflines on dashboards: their lines, and the runs of as many threads."""

from collections.abc import Iterator

import pytest

from core.stores.endpoint import Endpoint
from core.stores.errors import QuerySyntaxError
from core.stores.results import TermRows
from dashboards.build import BoundQuery, build, run
from dashboards.spec import Panel
from tests.dashboards.benchmarked import publish_roofline
from tests.dashboards.synthetic import publish_document
from tests.dashboards.synthetic_facts import big_document, topology
from tests.servers import Fuseki

BASE = "http://localhost:8000"


@pytest.fixture(scope="module")
def graph(emptied_fuseki: Fuseki) -> Iterator[Endpoint]:
    """Two hosts; the roofs of idle were measured."""
    for name in ("idle", "poor"):
        document = big_document(name, topology("pack:1 numa:1 core:1 pu:2"))
        publish_document(emptied_fuseki.url, BASE, document)
    publish_roofline(emptied_fuseki.url, BASE, "idle")
    with Endpoint(f"{emptied_fuseki.url}/twin") as twin:
        yield twin


def roofline_of(graph: Endpoint, host: str) -> Panel:
    dashboard = run(
        build("roofline", host, BASE), lambda question: graph.select(question.sparql)
    )
    panels = [one for section in dashboard.sections for one in section.panels]
    return next(one for one in panels if one.title == "Roofline")


def test_roofline_has_lines_and_runs_on_as_many_threads(graph: Endpoint) -> None:
    roofline = roofline_of(graph, "idle")
    assert roofline.table and roofline.points
    assert len(roofline.table.rows) == 6
    assert '("idle" 2)' in roofline.points.query
    assert [row[1] for row in roofline.points.rows] == ["benchmark"]
    numeric = [one.name for one in roofline.points.columns if one.numeric]
    assert numeric == ["intensity", "rate"]


def test_roofline_without_roofs_says_how_to_measure_them(graph: Endpoint) -> None:
    roofline = roofline_of(graph, "poor")
    assert roofline.points is None
    assert roofline.why == (
        "no roofs were measured; supertwin bench quick --host HOST does",
    )


def test_failed_query_for_points_keeps_the_lines(graph: Endpoint) -> None:
    def ask(question: BoundQuery) -> TermRows:
        if question.values.get("threads"):
            raise QuerySyntaxError("no such query")
        return graph.select(question.sparql)

    dashboard = run(build("roofline", "idle", BASE), ask)
    panels = [one for section in dashboard.sections for one in section.panels]
    roofline = next(one for one in panels if one.title == "Roofline")
    assert roofline.table and roofline.table.rows
    assert roofline.why == ("no such query",)
