"""What every module of the ontology must state, and what keeps it in OWL 2 DL."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from rdflib import OWL, RDF, RDFS, SKOS, XSD, BNode, Graph, URIRef
from rdflib.term import Node

from ontology.load import (
    FOLDER,
    alignment_graph,
    alignment_paths,
    module_paths,
    ontology_graph,
)
from ontology.terms import PROV, QUDT, ST, UNIT, VERSION

ROOT = "https://w3id.org/supertwin/ns/"
MODULES = module_paths() + alignment_paths()
RELATIONS = {OWL.ObjectProperty, OWL.DatatypeProperty}
PROPERTY_KINDS = RELATIONS | {OWL.AnnotationProperty}

# The classes and properties in the design; more may be added, none removed.
# fmt: off
DESIGNED = {
    "ComputeNode", "Group", "Socket", "Die", "Core", "HardwareThread", "Cache",
    "NumaDomain", "MemoryBank", "Disk", "NetworkInterface", "Gpu", "Pmu", "PmuEvent",
    "Pmda", "Process", "Metric", "InstanceDomain", "MetricInstance", "SWTelemetry",
    "HWTelemetry", "SamplingPlan", "ObservationInterface", "BenchmarkInterface",
    "BenchmarkResult", "Interface", "Claim", "DataCache", "InstructionCache",
    "UnifiedCache", "Counter", "Instant", "Discrete", "hostname", "isPartOf", "osIndex",
    "allowed", "usesCache", "cacheLevel", "cacheType", "cacheSize", "lineSize",
    "associativity", "inNumaDomain", "exposes", "instanceDomain", "inInstanceDomain",
    "instname", "ofComponent", "samplerName", "dbName", "pmuName", "semantics",
    "counts", "kernelRelease", "biosVersion", "cpuModel", "fromDomain", "toDomain",
    "distance",
}
# fmt: on


def _stem(path: Path) -> str:
    return path.stem


def _own_terms(graph: Graph) -> set[Node]:
    return {s for s in graph.subjects(RDF.type) if str(s).startswith(str(ST))}


@pytest.mark.parametrize("path", MODULES, ids=_stem)
def test_module_has_a_name_a_version_and_a_description(path: Path) -> None:
    graph = Graph().parse(path)
    (module,) = graph.subjects(RDF.type, OWL.Ontology)
    assert str(module) == f"{ROOT}{path.stem}"
    version = str(graph.value(module, OWL.versionInfo))
    assert str(graph.value(module, OWL.versionIRI)) == f"{ROOT}{version}/{path.stem}"
    assert {"title", "description"} <= {
        re.split("[/#]", str(p))[-1] for p in graph.predicates(module)
    }


def test_version_is_that_of_the_package() -> None:
    """Everything that is released together has the same version."""
    package = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text("utf-8"))
    assert package["project"]["version"] == VERSION
    for path in MODULES:
        stated = {
            str(one) for one in Graph().parse(path).objects(None, OWL.versionInfo)
        }
        assert stated == {VERSION}, f"{path.name} says {stated}, not {VERSION}"


@pytest.mark.parametrize("path", MODULES, ids=_stem)
def test_module_names_the_release_before_it(path: Path) -> None:
    """In the change log, the last release that is not this version."""
    changes = (FOLDER.parent / "CHANGELOG.md").read_text("utf-8")
    released = re.findall(r"^## \[?(\d+\.\d+\.\d+)", changes, re.MULTILINE)
    before = [version for version in released if version != VERSION][:1]
    stated = {str(one) for one in Graph().parse(path).objects(None, OWL.priorVersion)}
    # A module that is new in this version has no prior version.
    assert stated <= {f"{ROOT}{version}/{path.stem}" for version in before}


@pytest.mark.parametrize("path", MODULES, ids=_stem)
def test_imports_are_modules_that_exist(path: Path) -> None:
    known = {f"{ROOT}{module.stem}" for module in module_paths()}
    assert {str(i) for i in Graph().parse(path).objects(None, OWL.imports)} <= known


def _lacks(graph: Graph, term: Node, stem: str) -> Iterator[str]:
    """What a term should state and does not, in words."""
    labels = [label.language for label in graph[term : RDFS.label]]
    if labels != ["en"]:
        yield "one rdfs:label in English"
    definitions = list(graph[term : SKOS.definition])
    if len(definitions) != 1 or definitions[0].language != "en":
        yield "one skos:definition in English"
    elif not str(definitions[0]).endswith(".") or len(str(definitions[0])) < 10:
        yield "a skos:definition that is a sentence"
    if str(graph.value(term, RDFS.isDefinedBy)) != f"{ROOT}{stem}":
        yield f"rdfs:isDefinedBy <{ROOT}{stem}>"
    if RELATIONS & set(graph[term : RDF.type]):
        yield from _unbounded(graph, term)


def _unbounded(graph: Graph, term: Node) -> Iterator[str]:
    notes = [str(note) for note in graph[term : SKOS.scopeNote]]
    for link, word in ((RDFS.domain, "domain"), (RDFS.range, "range")):
        stated, excused = len(list(graph[term:link])), f"No {word}: "
        reasons = [note for note in notes if note.startswith(excused)]
        if stated + len(reasons) != 1:
            yield f'one rdfs:{word}, or a skos:scopeNote "{excused}…" that says why not'


@pytest.mark.parametrize("path", module_paths(), ids=_stem)
def test_every_term_is_labelled_defined_and_placed(path: Path) -> None:
    graph = Graph().parse(path)
    lacking = [
        f"{path.name}: st:{str(term).removeprefix(str(ST))} needs {what}"
        for term in sorted(_own_terms(graph), key=str)
        for what in _lacks(graph, term, path.stem)
    ]
    assert not lacking, "\n".join(lacking)


def test_incomplete_term_is_reported() -> None:
    planted = """
        @prefix st: <https://w3id.org/supertwin/ns#> .
        @prefix owl: <http://www.w3.org/2002/07/owl#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
        st:odd a owl:DatatypeProperty ; rdfs:label "odd" ;
            skos:definition "no sentence"@en ; rdfs:domain st:Core, st:Die .
    """
    found = list(_lacks(Graph().parse(data=planted, format="turtle"), ST.odd, "core"))
    assert [line.split(",")[0].split(" that ")[0] for line in found] == [
        "one rdfs:label in English",
        "a skos:definition",
        f"rdfs:isDefinedBy <{ROOT}core>",
        "one rdfs:domain",
        "one rdfs:range",
    ]


@pytest.mark.parametrize("path", module_paths(), ids=_stem)
def test_every_term_is_defined_in_one_module(path: Path) -> None:
    """A module may extend the terms of others, and defines only its own."""
    graph = ontology_graph()
    for term in _own_terms(Graph().parse(path)):
        assert len(list(graph[term : RDFS.isDefinedBy])) == 1, term


def test_property_with_a_unit_holds_numbers() -> None:
    graph = ontology_graph()
    for term, unit in graph.subject_objects(ST.valueUnit):
        kinds = set(graph[term : RDFS.range])
        assert kinds <= {XSD.integer, XSD.decimal, XSD.double} and kinds, term
        assert (unit, RDF.type, QUDT.Unit) in graph, f"{term}: {unit} is not in units"


def test_no_two_terms_share_a_label_and_a_kind() -> None:
    graph = ontology_graph()
    seen = [
        (graph.value(term, RDFS.label), (term, RDF.type, OWL.Class) in graph)
        for term in _own_terms(graph)
    ]
    assert len(seen) == len(set(seen))


def test_terms_of_the_design_are_declared() -> None:
    assert {ST[name] for name in DESIGNED} <= _own_terms(ontology_graph())


def test_every_term_that_is_used_is_declared() -> None:
    """A reasoner would take a misspelt superclass or domain as a new, empty class."""
    graph = ontology_graph() + alignment_graph()
    declared = set(graph.subjects(RDF.type))
    used = {
        node
        for triple in graph
        for node in triple
        if isinstance(node, URIRef)
        and node.startswith((str(ST), str(QUDT), str(UNIT), str(PROV)))
    }
    matched = set(graph.objects(None, SKOS.closeMatch))
    assert used - declared - matched == set()


def test_property_has_one_kind() -> None:
    """In OWL 2 DL, no property takes both nodes and literals."""
    graph = ontology_graph() + alignment_graph()
    for term in set(graph.subjects(RDF.type)):
        kinds = PROPERTY_KINDS & set(graph.objects(term, RDF.type))
        assert len(kinds) <= 1, term


def test_every_property_has_a_type() -> None:
    graph = ontology_graph()
    for term in graph.subjects(RDF.type, OWL.FunctionalProperty):
        assert PROPERTY_KINDS & set(graph.objects(term, RDF.type)), term


def test_data_properties_range_over_datatypes_and_object_properties_do_not() -> None:
    graph = ontology_graph()
    xsd = "http://www.w3.org/2001/XMLSchema#"
    for term, kind in graph.subject_objects(RDF.type):
        for range_ in graph.objects(term, RDFS.range):
            is_datatype = str(range_).startswith(xsd)
            if kind in (OWL.DatatypeProperty, OWL.ObjectProperty):
                assert is_datatype == (kind == OWL.DatatypeProperty), term


def test_component_classes_are_disjoint_interfaces() -> None:
    graph = ontology_graph()
    components = set(graph.subjects(RDFS.subClassOf, ST.Interface))
    lists = [
        set(graph.items(members))
        for members in graph.objects(None, OWL.members)
        if isinstance(members, BNode)
    ]
    assert ST.Core in components
    assert components in lists


def test_classes_are_disjoint_from_the_others() -> None:
    """A class has a superclass of ours, or is in a list of disjoint classes."""
    graph = ontology_graph()
    listed = {
        member
        for members in graph.objects(None, OWL.members)
        for member in graph.items(members)
    }
    above = {
        term: {one for one in graph[term : RDFS.subClassOf] if one in _own_terms(graph)}
        for term in graph.subjects(RDF.type, OWL.Class)
        if str(term).startswith(str(ST))
    }
    loose = [str(term) for term, found in above.items() if not found | {term} & listed]
    assert not loose, f"kinds.ttl lists what excludes what, and lacks {loose}"


def test_component_has_one_container_and_no_cycles() -> None:
    graph = ontology_graph()
    kinds = set(graph.objects(ST.isPartOf, RDF.type))
    assert {OWL.FunctionalProperty, OWL.AsymmetricProperty} <= kinds
    # Cardinality axioms exclude transitive properties, so another one is transitive.
    assert OWL.TransitiveProperty not in kinds
    assert (ST.isWithin, RDF.type, OWL.TransitiveProperty) in graph
    assert (ST.isPartOf, RDFS.subPropertyOf, ST.isWithin) in graph


def test_alignments_are_not_loaded_with_the_core() -> None:
    assert not [
        s for s in ontology_graph().subjects(RDF.type, OWL.Ontology) if "align" in s
    ]


@pytest.mark.parametrize("path", alignment_paths(), ids=_stem)
def test_alignments_define_no_own_term(path: Path) -> None:
    assert _own_terms(Graph().parse(path)) == set()


def test_units_have_a_symbol_and_ucum_codes_are_unique() -> None:
    graph = ontology_graph()
    units = set(graph.subjects(RDF.type, QUDT.Unit))
    codes = [str(code) for code in graph.objects(None, QUDT.ucumCode)]
    assert all(graph.value(unit, QUDT.symbol) for unit in units)
    assert len(codes) == len(set(codes)) > 15
