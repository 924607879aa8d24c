"""Our vocabulary in a DTDL document: short names, those of table 4.2 if it has them.

None of our names is one that DTDL itself defines; a test checks that.
"""

import re
from collections.abc import Mapping
from functools import cache

from rdflib import RDF, RDFS, XSD, URIRef

from dtdl.names import checked_iri
from dtdl.units import own_properties
from ontology.terms import PREFIXES, PROV, QUDT, ST

# The spelling of table 4.2 ("instrance" is its misprint of instance).
SPELLINGS = {
    ST.dbName: "DBName",
    ST.pmuName: "PMUName",
    ST.instname: "instance",
    ST.duration: "time",
    ST.observationTag: "tag",
    ST.threadCount: "no_threads",
    ST.involvesThread: "involved_threads",
    ST.resultValue: "result",
    ST.observesSoftware: "sampled_sw_metrics",
    ST.observesHardware: "sampled_hw_metrics",
}
CLASSES = {ST.Process: "ProcessInterface"}
# Full texts if displayName and description had to be cut.
WHOLE_LABEL, WHOLE_COMMENT = "wholeLabel", "wholeComment"

_FOREIGN = {
    RDFS.label: WHOLE_LABEL,
    RDFS.comment: WHOLE_COMMENT,
    QUDT.hasUnit: "hasUnit",
    PROV.startedAtTime: "startedAtTime",
    PROV.endedAtTime: "endedAtTime",
    PROV.wasGeneratedBy: "wasGeneratedBy",
}
_NUMBERED = re.compile(r"(.+)_[0-9]+")
_SPACES = {**PREFIXES, "xsd": str(XSD), "rdf": str(RDF)}
_CURIE = re.compile(rf"({'|'.join(_SPACES)}):(.*)", re.DOTALL)


@cache
def names() -> Mapping[URIRef, str]:
    """The short name of every property that has one."""
    own = {term: str(term).removeprefix(str(ST)) for term in own_properties()}
    return {**own, **_FOREIGN, **SPELLINGS}


@cache
def properties() -> Mapping[str, URIRef]:
    """The property of every short name."""
    return {name: term for term, name in names().items()}


def property_of(name: str) -> URIRef | None:
    """The property of a content; several contents of one property are numbered."""
    match = _NUMBERED.fullmatch(name)
    known = properties()
    return known.get(name) or (known.get(match[1]) if match else None)


def class_name(class_: URIRef) -> str | None:
    """The co-type of one of our classes; None for a foreign one."""
    if class_ in CLASSES:
        return CLASSES[class_]
    local = str(class_).removeprefix(str(ST))
    return local if local != class_ and local.isalnum() else None


def class_of(name: str) -> URIRef:
    """The class of a co-type."""
    return next((c for c, known in CLASSES.items() if known == name), ST[name])


def compact(iri: str, base: str) -> str:
    """An IRI in short form: ``/path`` below the base, or with a prefix."""
    if iri.startswith(f"{base}/"):
        return str(iri).removeprefix(base)
    for prefix, space in _SPACES.items():
        if iri.startswith(space):
            return f"{prefix}:{iri.removeprefix(space)}"
    return str(iri)


def expand(text: str, base: str) -> URIRef:
    """The IRI that compact shortened; raises DtmiError if it is not a valid one."""
    if text.startswith("/"):
        return checked_iri(f"{base}{text}")
    match = _CURIE.fullmatch(text)
    return checked_iri(_SPACES[match[1]] + match[2] if match else text)
