"""The ontology over HTTP: whole, by module and version, and the page of its terms."""

import json
import re

import httpx
import pytest
from rdflib import OWL, RDF, Graph, URIRef

from ontology.load import context, module_paths, ontology_graph
from ontology.published import module_files, whole_ontology
from ontology.terms import ONTOLOGY, ST, VERSION
from tests.ontology.graphs import unnamed

pytestmark = pytest.mark.filterwarnings(
    "ignore:ConjunctiveGraph is deprecated:DeprecationWarning"
)
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
TERMS = sorted(
    term.removeprefix(str(ST))
    for term in set(ontology_graph().subjects(RDF.type))
    if str(term).startswith(str(ST))
)


def get(api: httpx.Client, path: str, accept: str) -> httpx.Response:
    return api.get(path, headers={"Accept": accept})


@pytest.fixture(scope="module")
def page(api: httpx.Client) -> str:
    answer = get(api, "/ontology", BROWSER)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["vary"] == "Accept, Accept-Encoding"
    return answer.text


def section(page: str, name: str) -> str:
    """Return the page's section on a term."""
    found = re.search(rf'<section class="term" id="{name}">.*?</section>', page, re.S)
    assert found, f"the page has no {name}"
    return found[0]


def test_all_formats_hold_the_same_graph(api: httpx.Client) -> None:
    turtle = get(api, "/ontology", "text/turtle")
    assert turtle.headers["content-type"] == "text/turtle; charset=utf-8"
    json_ld = ("application/ld+json", "application/json", "*/*")
    (document,) = {get(api, "/ontology", accept).text for accept in json_ld}
    triples = get(api, "/ontology", "application/n-triples").text
    forms = ((turtle.text, "turtle"), (document, "json-ld"), (triples, "nt"))
    graphs = [Graph().parse(data=text, format=form) for text, form in forms]
    expected, *found = map(unnamed, (whole_ontology(), *graphs))
    assert found == [expected] * len(forms)
    assert get(api, "/ontology", "image/png").status_code == 406
    assert api.get("/ontology?format=turtle").text == turtle.text


def test_document_is_one_ontology_of_this_version(api: httpx.Client) -> None:
    graph = Graph().parse(data=get(api, "/ontology", "text/turtle").text)
    (header,) = graph.subjects(RDF.type, OWL.Ontology)
    assert str(header) == ONTOLOGY
    version = graph.value(header, OWL.versionIRI)
    assert str(version) == f"{ONTOLOGY}/{VERSION}"
    again = get(api, f"/ontology/{VERSION}", "text/turtle")
    assert unnamed(Graph().parse(data=again.text)) == unnamed(graph)


@pytest.mark.parametrize("name", module_files())
def test_every_module_is_a_document(api: httpx.Client, name: str) -> None:
    expected = unnamed(Graph().parse(module_files()[name]))
    for path in (f"/ontology/{name}", f"/ontology/{VERSION}/{name}"):
        turtle = get(api, path, "text/turtle")
        assert unnamed(Graph().parse(data=turtle.text)) == expected
    document = get(api, f"/ontology/{name}", "application/ld+json").text
    assert unnamed(Graph().parse(data=document, format="json-ld")) == expected
    led = get(api, f"/ontology/{name}", BROWSER)
    assert (led.status_code, led.headers["location"]) == (
        303,
        f"/ontology#module-{name}",
    )


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/ontology/nothing", "there are: "),
        ("/ontology/0.0.1/core", f"version {VERSION}"),
        ("/ontology/..%2firis", "no module"),
    ],
)
def test_unknown_term_or_module_is_404(
    api: httpx.Client, path: str, message: str
) -> None:
    answer = get(api, path, "application/json")
    assert answer.status_code == 404
    if "%2f" not in path:
        assert message in answer.json()["detail"]


def test_every_term_has_a_section(page: str) -> None:
    assert sorted(re.findall(r'<section class="term" id="(\w+)">', page)) == TERMS
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) - {"main"} <= set(ids)
    for path in module_paths():
        assert f'id="module-{path.stem}"' in page


def test_page_is_cached_by_browsers(api: httpx.Client, page: str) -> None:
    first = get(api, "/ontology", BROWSER)
    kept = {"Accept": BROWSER, "If-None-Match": first.headers["etag"]}
    again = api.get("/ontology", headers=kept)
    assert (again.status_code, again.content) == (304, b"")
    for name in ("etag", "vary", "content-security-policy"):
        assert again.headers[name] == first.headers[name]
    kept["If-None-Match"] = '"another"'
    assert api.get("/ontology", headers=kept).text == page


def test_class_section_shows_definition_and_superclasses(page: str) -> None:
    core = section(page, "Core")
    assert "the execution resources that its hardware threads share." in core
    for term in ("Interface", "isPartOf", "Die", "Socket", "ComputeNode"):
        assert f'href="#{term}"' in core
    assert "sosa:FeatureOfInterest" in core
    assert "dtmi:dtdl:class:Interface;3" in section(page, "Interface")
    assert "unit:BYTE" in section(page, "cacheSize")


def test_class_section_lists_its_shapes(page: str) -> None:
    core = section(page, "Core")
    assert "topology#core-in-socket" in core
    assert "is a core and must be part of a die" in core
    assert "topology#core-in-socket" not in section(page, "Disk")
    # The page of a property lists the shapes with it on a path, including nested ones.
    assert "topology#thread-in-core" in section(page, "isPartOf")
    assert "warning" in section(page, "allowed")


def test_term_section_lists_queries_that_use_it(page: str) -> None:
    assert 'href="/queries/cache/sharing"' in section(page, "usesCache")
    assert 'href="/queries/cache/sharing"' not in section(page, "macAddress")


def test_term_that_is_not_stored_is_marked(page: str) -> None:
    assert "Not stored: it follows from st:isPartOf." in section(page, "isWithin")


def test_pages_link_to_the_ontology(api: httpx.Client) -> None:
    node = get(api, "/twin/n1/socket/socket-0", BROWSER).text
    assert '<a href="/ontology">Ontology</a>' in node
    assert '<a class="class" href="/ontology#Socket"' in node
    assert 'href="/ontology#osIndex"' in node
    known = {f"/ontology#{term}" for term in TERMS}
    assert set(re.findall(r'href="(/ontology#[^"]+)"', node)) <= known


def test_json_ld_document_embeds_its_context(api: httpx.Client) -> None:
    document = json.loads(get(api, "/ontology", "application/ld+json").text)
    assert set(context()["@context"]) <= set(document["@context"])
    nodes = {node["@id"] for node in document["@graph"]}
    assert "st:Core" in nodes or str(ST.Core) in nodes
    assert URIRef(ONTOLOGY) in {URIRef(node) for node in nodes}
