from collections.abc import Iterator
from pathlib import Path

import pytest
from rdflib import RDF, RDFS, SH, Graph, Literal, URIRef

from ontology.terms import ST
from shapes.errors import NoShapesError, ShapesError
from shapes.load import shape_paths, shapes_graph
from shapes.validate import validate
from shapes.wording import short

THREAD = URIRef("http://localhost:8000/twin/big/thread/5")


@pytest.fixture
def host(big_host: Graph) -> Iterator[Graph]:
    """The host, which a test may damage: repairing it is faster than copying it."""
    whole = set(big_host)
    yield big_host
    found = set(big_host)
    for triple in found - whole:
        big_host.remove(triple)
    for triple in whole - found:
        big_host.add(triple)
    assert len(big_host) == len(whole)


def test_host_of_128_threads_conforms(big_host: Graph) -> None:
    report = validate(big_host)
    assert report.lines == []
    assert report.conforms


def test_large_host_is_as_large_as_a_real_one(big_host: Graph) -> None:
    of_host = [s for s in big_host.subjects() if "/twin/" in str(s)]
    assert 20_000 < len(of_host) < 50_000


def test_one_fault_in_a_large_host_is_found(host: Graph) -> None:
    host.remove((THREAD, ST.allowed, None))
    assert validate(host).lines == [
        "twin/big/thread/5 is a thread and needs exactly one st:allowed, true or false"
    ]


def test_fault_on_every_thread_gives_a_line_each(host: Graph) -> None:
    host.remove((None, ST.allowed, None))
    assert len(validate(host).lines) == 128


def test_empty_graph_conforms() -> None:
    assert validate(Graph()).conforms


def test_validation_changes_neither_data_nor_shapes(big_host: Graph) -> None:
    before = len(big_host), len(shapes_graph())
    validate(big_host)
    assert (len(big_host), len(shapes_graph())) == before


def test_report_graph_matches_its_lines(host: Graph) -> None:
    host.add((THREAD, ST.numberOfLegs, Literal(4)))
    report = validate(host)
    assert not report.conforms
    assert (None, SH.conforms, Literal(False)) in report.graph
    assert (None, SH.conforms, Literal(True)) not in report.graph
    results = list(report.graph.objects(None, SH.result))
    assert len(results) == len(report.lines) == 1
    assert report.graph.value(results[0], SH.focusNode) == ST.numberOfLegs


def test_warning_conforms_and_is_reported(host: Graph) -> None:
    host.remove((THREAD, ST.inNumaDomain, None))
    report = validate(host)
    assert report.conforms
    assert len(report.lines) == 1
    assert report.lines[0].startswith("warning: twin/big/thread/5 ")


def test_violations_come_before_warnings(host: Graph) -> None:
    host.remove((THREAD, ST.inNumaDomain, None))
    host.remove((THREAD, ST.osIndex, None))
    lines = validate(host).lines
    assert [line.startswith("warning") for line in lines] == [False, True]


def test_value_with_line_breaks_stays_on_one_line(host: Graph) -> None:
    host.set((THREAD, ST.osIndex, Literal("a\nb" + "x" * 500)))
    (line,) = validate(host).lines
    assert "\n" not in line
    assert len(line) < 250


def test_subclasses_need_no_inference(host: Graph) -> None:
    """A component states its own class, but not that it is an Interface."""
    assert (ST.HardwareThread, RDFS.subClassOf, ST.Interface) not in host
    assert (None, RDF.type, ST.Interface) not in host
    assert validate(host).conforms


def test_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoShapesError, match="reinstall"):
        shape_paths(tmp_path)
    assert issubclass(NoShapesError, ShapesError)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (THREAD, "twin/big/thread/5"),
        (URIRef("https://twins.example.org/hpc/twin/n1"), "twin/n1"),
        (URIRef("http://localhost:8000/metric/hinv.ncpu"), "metric/hinv.ncpu"),
        (ST.Core, "st:Core"),
        (URIRef("http://example.org/x"), "<http://example.org/x>"),
        (Literal('a "b"'), '"a \\"b\\""'),
        (Literal(5), '"5"'),
    ],
)
def test_nodes_are_written_without_the_base(node: URIRef | Literal, text: str) -> None:
    assert short(node) == text
