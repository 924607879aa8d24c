"""Write ``context.jsonld`` from the OWL modules: ``python -m ontology.make_context``.

Short names are the local names of the vocabulary. Aliases are the thesis' spellings:
they are accepted when JSON-LD is read but never written. An index container makes every
compaction algorithm prefer the plain term, and changes nothing for a single value.
"""

import json
from typing import Any

from rdflib import OWL, RDF, RDFS, XSD, Graph, URIRef

from ontology.load import FOLDER, ontology_graph
from ontology.terms import PREFIXES, ST

ALIASES = {
    "DBName": "dbName",
    "PMUName": "pmuName",
    "ProcessInterface": "Process",
    "displayName": "label",
    "instance": "instname",
    "involved_threads": "involvesThread",
    "name": "contentName",
    "no_threads": "threadCount",
    "result": "resultValue",
    "sampled_hw_metrics": "observesHardware",
    "sampled_sw_metrics": "observesSoftware",
    "tag": "observationTag",
    "time": "duration",
}
FOREIGN: dict[str, Any] = {
    "label": "rdfs:label",
    "comment": "rdfs:comment",
    "hasUnit": {"@id": "qudt:hasUnit", "@type": "@id"},
    "symbol": "qudt:symbol",
    "ucumCode": "qudt:ucumCode",
    "agent": {"@id": "prov:agent", "@type": "@id"},
    "endedAtTime": {"@id": "prov:endedAtTime", "@type": "xsd:dateTime"},
    "generatedAtTime": {"@id": "prov:generatedAtTime", "@type": "xsd:dateTime"},
    "hadPlan": {"@id": "prov:hadPlan", "@type": "@id"},
    "invalidatedAtTime": {"@id": "prov:invalidatedAtTime", "@type": "xsd:dateTime"},
    "qualifiedAssociation": {"@id": "prov:qualifiedAssociation", "@type": "@id"},
    "specializationOf": {"@id": "prov:specializationOf", "@type": "@id"},
    "used": {"@id": "prov:used", "@type": "@id"},
    "wasAssociatedWith": {"@id": "prov:wasAssociatedWith", "@type": "@id"},
    "wasInvalidatedBy": {"@id": "prov:wasInvalidatedBy", "@type": "@id"},
    "wasRevisionOf": {"@id": "prov:wasRevisionOf", "@type": "@id"},
    "startedAtTime": {"@id": "prov:startedAtTime", "@type": "xsd:dateTime"},
    "wasGeneratedBy": {"@id": "prov:wasGeneratedBy", "@type": "@id"},
}
# Their values have short names of their own.
_VALUES_ARE_TERMS = {ST.cacheType, ST.semantics, ST.claimedProperty}
# JSON has these types itself, or they are plain strings.
_NATIVE = {XSD.string, XSD.integer, XSD.boolean}


def make_context(ontology: Graph) -> dict[str, Any]:
    """The JSON-LD 1.1 context of an ontology, ``{"@context": {…}}``."""
    terms = dict(sorted((FOREIGN | _own_terms(ontology)).items()))
    return {"@context": {"@version": 1.1, **PREFIXES, **_aliases(terms), **terms}}


def _own_terms(ontology: Graph) -> dict[str, Any]:
    found = {}
    for term in set(ontology.subjects(RDF.type)):
        if isinstance(term, URIRef) and term.startswith(str(ST)):
            name = term.removeprefix(str(ST))
            found[name] = _definition(ontology, term, f"st:{name}")
    return found


def _definition(ontology: Graph, term: URIRef, compact: str) -> Any:
    if term in _VALUES_ARE_TERMS:
        return {"@id": compact, "@type": "@vocab"}
    kinds = set(ontology.objects(term, RDF.type))
    if kinds & {OWL.ObjectProperty, OWL.AnnotationProperty}:
        return {"@id": compact, "@type": "@id"}
    datatype = ontology.value(term, RDFS.range)
    if OWL.DatatypeProperty in kinds and datatype and datatype not in _NATIVE:
        return {"@id": compact, "@type": f"xsd:{str(datatype).removeprefix(str(XSD))}"}
    return compact


def _aliases(terms: dict[str, Any]) -> dict[str, Any]:
    return {
        alias: {**_expanded(terms[name]), "@container": "@index"}
        for alias, name in sorted(ALIASES.items())
    }


def _expanded(definition: Any) -> dict[str, Any]:
    return definition if isinstance(definition, dict) else {"@id": definition}


def write() -> None:
    """Write the context next to the modules."""
    text = json.dumps(make_context(ontology_graph()), indent=2)
    (FOLDER / "context.jsonld").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
