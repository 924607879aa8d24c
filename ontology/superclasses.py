"""The classes above each class, as HermiT derives them from ontology and alignments.

The file is the output of `supertwin ontology classify`: reasoning takes seconds and
needs packages that only tests have. A test compares it with a new derivation.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import cache

from rdflib import RDFS, URIRef
from rdflib.term import Node

from ontology.load import SUPERCLASSES, read_modules


@cache
def superclasses() -> Mapping[Node, tuple[URIRef, ...]]:
    """Every class above each class, sorted; do not change it."""
    found: dict[Node, list[URIRef]] = defaultdict(list)
    pairs = read_modules([SUPERCLASSES]).subject_objects(RDFS.subClassOf)
    for below, above in sorted(pairs):
        found[below].append(URIRef(str(above)))
    return {below: tuple(above) for below, above in found.items()}
