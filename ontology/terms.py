"""The namespaces of SuperTwin's triples, and their version."""

from rdflib import Namespace, URIRef

# Also the package's version: both are released together.
VERSION = "0.2.0"
ONTOLOGY = "https://w3id.org/supertwin/ns"


class Terms(Namespace):
    """A namespace that creates each term once: a host uses them 20,000 times."""

    def __getattr__(self, name: str) -> URIRef:
        term = super().__getattr__(name)
        vars(self)[name] = term
        return term


ST = Terms(f"{ONTOLOGY}#")
QUDT = Terms("http://qudt.org/schema/qudt/")
UNIT = Terms("http://qudt.org/vocab/unit/")
PROV = Terms("http://www.w3.org/ns/prov#")

PREFIXES: dict[str, str] = {
    "st": str(ST),
    "qudt": str(QUDT),
    "unit": str(UNIT),
    "prov": str(PROV),
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "dcterms": "http://purl.org/dc/terms/",
    "sh": "http://www.w3.org/ns/shacl#",
}
