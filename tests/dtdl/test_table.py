"""Table 4.2 of the thesis: every class it adds to DTDL, with every field.

"instance" and "compled" are its misprints. A unit is in ``unit`` where DTDL knows it,
and always in ``hasUnit``. Further members are in names of our own.
"""

from typing import Any

import pytest
from rdflib import OWL, RDF, URIRef

from dtdl.terms import class_of, names
from dtdl.units import own_properties, property_unit
from ontology.load import ontology_graph
from ontology.terms import ST

Element = dict[str, Any]
Document = list[Element]

RUN = [
    *("no_threads", "involved_threads", "modifier", "dashboard"),
    *("sampled_sw_metrics", "sampled_hw_metrics"),
]
TABLE: dict[str, list[str]] = {
    "Interface": ["@id", "contents", "displayName", "dashboard"],
    "SWTelemetry": ["@id", "name", "instance", "samplerName", "DBName"],
    "HWTelemetry": ["@id", "name", "instance", "samplerName", "DBName", "PMUName"],
    "BenchmarkInterface": ["@id", "contents", "displayName"],
    "BenchmarkResult": ["@id", "field", "result", "unit", "hasUnit", *RUN],
    "ObservationInterface": ["@id", "displayName", "time", "command", "tag", *RUN],
    # "In shape identical to Interface".
    "ProcessInterface": ["@id", "contents", "displayName"],
}
# Table 2.1: DTDL's own members, as far as the thesis uses them.
DTDL: dict[str, list[str]] = {
    "Telemetry": ["@id", "name", "schema"],
    "Property": ["name", "schema"],
    "Relationship": ["name", "target"],
    "Component": ["name", "schema"],
    "Command": ["name", "request", "response"],
}


def elements(document: Document) -> Document:
    """Every Interface and every content."""
    return [e for i in document for e in (i, *i["contents"])]


def of_class(document: Document, class_: str) -> Document:
    return [e for e in elements(document) if class_ in e["@type"]]


def fields(element: Element) -> set[str]:
    """Members of an element, and the names of its contents."""
    return {*element, *(c["name"] for c in element.get("contents", []))}


@pytest.mark.parametrize("class_", TABLE)
def test_every_field_of_the_table_is_exported(two: Document, class_: str) -> None:
    found = [fields(element) for element in of_class(two, class_)]
    assert any(set(TABLE[class_]) <= names_ for names_ in found), found


@pytest.mark.parametrize("class_", [name for name in TABLE if name != "Interface"])
def test_strict_version_has_the_fields_in_its_comment(
    three: Document, class_: str
) -> None:
    marked = [
        element
        for element in elements(three)
        if f'"a":"{class_}"' in element.get("comment", "")
    ]
    listed = [fields(e) | _said(e) for e in marked]
    assert any(set(TABLE[class_]) <= names_ for names_ in listed), listed


def _said(element: Element) -> set[str]:
    import json

    return set(json.loads(element["comment"]))


@pytest.mark.parametrize("class_", DTDL)
def test_every_class_of_dtdl_is_used(two: Document, class_: str) -> None:
    found = [e for e in elements(two) if class_ in [e["@type"], *e["@type"]]]
    assert found
    assert all(set(DTDL[class_]) <= element.keys() | {"@id"} for element in found)


def test_commands_have_requests_and_responses(two: Document) -> None:
    commands = {c["name"]: c for c in two[0]["contents"] if c["@type"] == "Command"}
    assert commands.keys() == {"probe", "sample", "observe"}
    for command in commands.values():
        for part in ("request", "response"):
            assert command[part]["schema"]["@type"] == "Object"
            assert command[part]["schema"]["fields"]


def test_contents_of_an_interface_match_the_table(two: Document) -> None:
    thread = next(i for i in two if "HardwareThread" in i["@type"])
    kinds = {kind for content in thread["contents"] for kind in content["@type"]}
    assert {"SWTelemetry", "HWTelemetry", "Property"} <= kinds
    benchmark = next(i for i in two if "BenchmarkInterface" in i["@type"])
    assert any("BenchmarkResult" in c["@type"] for c in benchmark["contents"])


def test_table_matches_the_ontology() -> None:
    known = set(ontology_graph().subjects())
    for name in TABLE:
        assert class_of(name) in known
    spelt = set(names().values()) | {"unit", "name", "@id", "contents", "displayName"}
    assert {field for row in TABLE.values() for field in row} <= spelt


def test_properties_and_units_match_the_graph() -> None:
    graph = ontology_graph()
    kinds = (OWL.ObjectProperty, OWL.DatatypeProperty)
    properties = {term for kind in kinds for term in graph.subjects(RDF.type, kind)}
    assert own_properties() == sorted(t for t in properties if t in ST)
    units = dict(graph.subject_objects(ST.valueUnit))
    assert {p: u for p in own_properties() if (u := property_unit(p))} == units


def test_own_terms_do_not_collide_with_dtdl() -> None:
    keywords = {
        *("comment", "contents", "description", "displayName", "extends", "schemas"),
        *("name", "schema", "unit", "target", "properties", "writable", "request"),
        *("response", "minMultiplicity", "maxMultiplicity", "fields", "elementSchema"),
        *("enumValues", "valueSchema", "mapKey", "mapValue", "commandType"),
        # and those of our own documents
        *("value", "predicate", "types", "iri", "more", "exposed", "fingerprint"),
        *("continues", "Value", "Node", "Catalogue", "Page"),
    }
    own = {name for term, name in names().items() if term not in _contents()}
    assert not own & keywords


def _contents() -> set[URIRef]:
    """Alignments with DTDL's own words, which an element's position implies."""
    return {ST.contents, ST.contentName}
