"""Exports in version 2 read back unchanged."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import RDF, RDFS, XSD, BNode, Graph, Literal, URIRef
from rdflib.compare import isomorphic

from dtdl.errors import NotExportableError
from dtdl.export import export
from dtdl.nodes import Triple
from dtdl.read import read
from ontology.terms import ST, UNIT
from tests.dtdl.twins import BASE, IRIS, MACHINES, ORIGINALS, Twin, large, machines

FOUND = [
    *sorted(MACHINES.glob("*.xml"))[::4],
    *sorted(ORIGINALS.glob("*laptop*.json")),
]
NODE = IRIS.host("n1")
HOST: list[Triple] = [
    (NODE, RDF.type, ST.ComputeNode),
    (NODE, ST.hostname, Literal("n1")),
]


def graph(triples: list[Triple]) -> Graph:
    made = Graph()
    for triple in triples:
        made.add(triple)
    return made


def check(twin: Twin) -> None:
    found = read(twin.document(2), BASE)
    assert found.whole
    assert found.host == twin.host
    assert len(found.triples) == len(set(twin.triples))
    assert isomorphic(graph(found.triples), graph(list(twin.triples)))


def test_host_with_one_of_everything_round_trips(odd: Twin) -> None:
    check(odd)


def test_large_host_round_trips() -> None:
    check(large())


@pytest.mark.parametrize("path", FOUND or [None], ids=lambda p: p and p.stem)
def test_real_machines_round_trip(path: Path | None) -> None:
    if path is None:
        print(f"no topologies of real machines at {MACHINES}: none read back")
        return
    check(dict(machines(path.stem))[path.stem])


def test_document_is_read_below_another_base(odd: Twin) -> None:
    found = read(odd.document(2), "https://other.example/supertwin/")
    listed = {str(t).replace("https://other.example/supertwin", BASE)
            for triple in found.triples for t in triple}  # fmt: skip
    assert listed == {str(term) for triple in odd.triples for term in triple}


def test_document_is_read_under_another_host_name(odd: Twin) -> None:
    found = read(odd.document(2), BASE, "n2")
    assert found.host == "n2"
    node = IRIS.host("n2")
    triples = set(found.triples)
    assert {(node, ST.hostname, Literal("n2")), (node, RDFS.label, Literal("n2"))} <= (
        triples
    )
    assert not [t for t in triples if any(str(odd.node) in str(term) for term in t)]
    # Its digest covers IRIs, which differ here.
    assert len(triples) == len(odd.triples) - 1


def test_edited_document_is_not_complete(odd: Twin) -> None:
    text = odd.document(2).replace(b"stream_c.exe", b"stream_d.exe")
    assert not read(text, BASE).whole


LITERALS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cc"])).map(Literal),
    st.sampled_from(["\n\t\r", "a\nb", '"\\']).map(Literal),
    st.integers().map(Literal),
    st.booleans().map(Literal),
    st.decimals(allow_nan=False, allow_infinity=False).map(
        lambda value: Literal(f"{value:f}", datatype=XSD.decimal, normalize=False)
    ),
    st.sampled_from(
        [
            Literal("1.0", datatype=XSD.decimal, normalize=False),
            Literal("01", datatype=XSD.integer, normalize=False),
            Literal("1e3", datatype=XSD.double, normalize=False),
            Literal("2026-11-21T00:00:00Z", datatype=XSD.dateTime, normalize=False),
            Literal("label", lang="en"),
            Literal("x", datatype=URIRef("urn:own:type")),
        ]
    ),
)
OBJECTS = LITERALS | st.sampled_from([ST.Counter, UNIT.J, URIRef("urn:x:y"), NODE])
PROPERTIES = st.sampled_from(
    [ST.model, ST.period, ST.osIndex, RDFS.label, RDFS.comment, URIRef("urn:own:p")]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(PROPERTIES, OBJECTS), max_size=12))
def test_any_value_of_any_property_round_trips(
    pairs: list[tuple[URIRef, Literal]],
) -> None:
    disk = IRIS.component("n1", "disk", "d")
    triples = [*HOST, (disk, RDF.type, ST.Disk), *((disk, p, o) for p, o in pairs)]
    # The same on a content, whose facts are members.
    metric = IRIS.metric("m")
    triples += [(metric, RDF.type, ST.Metric), (NODE, ST.exposes, metric)]
    triples += [(metric, p, o) for p, o in pairs]
    check(Twin("n1", triples))


IDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60)


@settings(max_examples=40, deadline=None)
@given(st.lists(IDS.filter(lambda text: text not in (".", "..")), max_size=6))
def test_any_component_name_round_trips(names: list[str]) -> None:
    triples = list(HOST)
    for name in names:
        disk = IRIS.component("n1", "disk", name)
        triples += [(disk, RDF.type, ST.Disk), (disk, ST.isPartOf, NODE)]
    check(Twin("n1", triples))


def test_invalid_host_is_not_exported() -> None:
    with pytest.raises(NotExportableError, match="not a host"):
        export(HOST, IRIS.host("n2"), BASE, 2)


def test_blank_node_is_not_exported() -> None:
    with pytest.raises(NotExportableError, match="blank node"):
        list(export([*HOST, (NODE, ST.claims, BNode())], NODE, BASE, 2))  # type: ignore[list-item]
