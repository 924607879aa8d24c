"""``/editor``: SPARQL in the browser, with a list of the saved queries."""

from functools import lru_cache
from itertools import groupby
from typing import Annotated

import orjson
from fastapi import APIRouter, Query, Request, Response
from rdflib import URIRef
from rdflib.namespace import OWL, RDF, RDFS, SKOS

from api import formats
from api.access.scoped import scoped
from api.services import Use
from api.sparql import response
from api.web import pages
from ontology.load import ontology_graph
from ontology.terms import PREFIXES, ST

router = APIRouter(prefix="/editor", tags=["Editor"])

_CLASSES = (OWL.Class,)
_PROPERTIES = (OWL.ObjectProperty, OWL.DatatypeProperty, OWL.AnnotationProperty)
_ALWAYS = (RDF.type, RDFS.label, RDFS.comment, SKOS.definition)
EXAMPLE = f"""\
PREFIX st: <{ST}>
PREFIX qudt: <{PREFIXES["qudt"]}>
PREFIX prov: <{PREFIXES["prov"]}>
PREFIX rdfs: <{PREFIXES["rdfs"]}>
PREFIX sosa: <http://www.w3.org/ns/sosa/>

# The threads of each host, with the core they are part of and the caches they use.
SELECT ?host ?cpu ?core ?cache ?size WHERE {{
  ?node a st:ComputeNode ; st:hostname ?host .
  ?thread a st:HardwareThread ; st:ofHost ?node ; st:osIndex ?cpu ;
    st:isPartOf ?core ; st:usesCache ?cache .
  OPTIONAL {{ ?cache st:cacheSize ?size }}
}}
ORDER BY ?host ?cpu DESC(?size)
LIMIT 100
"""


@router.get("", summary="The SPARQL editor", response_class=Response)
@scoped
async def editor(
    request: Request,
    services: Use,
    query: Annotated[
        str, Query(description="A query to show; it is not run by itself")
    ] = "",
) -> Response:
    """A page to write queries; they run at `/sparql` of this service only."""
    found = [one for one in services.queries.all().values() if one.dataset == "twin"]
    by_folder = groupby(found, key=lambda one: one.name.partition("/")[0])
    return pages.page(
        "editor.html",
        request,
        services.settings.base,
        title="SPARQL editor",
        groups=[(folder, list(queries)) for folder, queries in by_folder],
        start={
            "base": services.settings.base.rstrip("/"),
            "query": query,
            "example": EXAMPLE,
        },
    )


@router.get(
    "/terms", summary="Prefixes, classes and properties", response_class=Response
)
@scoped
async def terms() -> Response:
    """What the editor completes: the terms of the ontology and their namespaces."""
    return response(_terms(), formats.JSON)


@lru_cache(maxsize=1)
def _terms() -> bytes:
    known = {"prefixes": {**PREFIXES, "sosa": "http://www.w3.org/ns/sosa/"}}
    lists = {
        "classes": _named(_CLASSES),
        "properties": sorted({*_named(_PROPERTIES), *map(str, _ALWAYS)}),
    }
    return orjson.dumps(known | lists)


def _named(kinds: tuple[URIRef, ...]) -> list[str]:
    graph = ontology_graph()
    found = {s for kind in kinds for s in graph.subjects(RDF.type, kind)}
    return sorted(str(term) for term in found if isinstance(term, URIRef))
