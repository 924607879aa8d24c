"""The media types of each kind of answer, the default first."""

from collections.abc import Mapping, Sequence

from fastapi import Request

from api.lexer import ResultForm
from api.negotiation import negotiate
from api.problems import NotAcceptableError

JSON = "application/json"
JSON_LD = "application/ld+json"
TURTLE = "text/turtle"
N_TRIPLES = "application/n-triples"
RDF_XML = "application/rdf+xml"
TRIG = "application/trig"
N_QUADS = "application/n-quads"
HTML = "text/html"
RESULTS_JSON = "application/sparql-results+json"
QUERY = "application/sparql-query"

TABLES = (
    RESULTS_JSON,
    JSON,
    "text/csv",
    "text/tab-separated-values",
    "application/sparql-results+xml",
)
RDF = (TURTLE, N_TRIPLES, JSON_LD, RDF_XML)
TRIPLES = (*RDF, TRIG)
# The other formats have no named graphs.
QUADS = (TRIG, N_QUADS, JSON_LD)
NODES = (JSON_LD, TURTLE, N_TRIPLES, RDF_XML, HTML, JSON)
NODES_AS_RDF = tuple(media_type for media_type in NODES if media_type != HTML)

# Chosen by the suffix of a URL or by ?format=, which override Accept.
ENDINGS = {
    "csv": "text/csv",
    "json": RESULTS_JSON,
    "jsonld": JSON_LD,
    "ttl": TURTLE,
    "rq": QUERY,
}

NODE_FORMATS = {
    "jsonld": JSON_LD,
    "turtle": TURTLE,
    "ntriples": N_TRIPLES,
    "rdfxml": RDF_XML,
    "html": HTML,
}

GRAPH_FORMATS = {
    "trig": TRIG,
    "nquads": N_QUADS,
    **{name: media_type for name, media_type in NODE_FORMATS.items() if name != "html"},
}

# The type to request from the graph store, where it differs from the client's.
_UPSTREAM = {JSON: RESULTS_JSON}


def answer_type(
    form: ResultForm, accept: list[str], *, extra: tuple[str, ...] = ()
) -> str:
    """Choose the media type for this form of query; raises NotAcceptableError."""
    if form is ResultForm.QUADS:
        what = f"{form.value} gives named graphs, which are served as RDF with graphs"
        return negotiate(accept, (*QUADS, *extra), what)
    if form.gives_triples:
        what = f"{form.value} gives triples, which are served as RDF"
        return negotiate(accept, (*TRIPLES, *extra), what)
    what = f"{form.value} gives a table, which is served as SPARQL results or CSV"
    return negotiate(accept, (*TABLES, *extra), what)


def answer_types(form: str) -> tuple[str, ...]:
    """Return the media types of a saved query of this form, ``select`` or another."""
    if ResultForm(form.upper()).gives_triples:
        return TRIPLES
    return (*TABLES, JSON_LD) if form == "select" else TABLES


def requested(
    request: Request, names: Mapping[str, str], offers: Sequence[str], what: str
) -> str:
    """Return the media type of an answer; raises NotAcceptableError.

    `?format=`, one of the names, overrides `Accept`, for links that a browser follows.
    """
    name = request.query_params.get("format")
    if name is None:
        return negotiate(request.headers.getlist("accept"), offers, what)
    if names.get(name) in offers:
        return names[name]
    known = [each for each, media_type in names.items() if media_type in offers]
    detail = f"format={name[:40]!r} is not served; there are: {', '.join(known)}"
    raise NotAcceptableError(detail, known)


def upstream_type(media_type: str) -> str:
    """Return the media type to request from the graph store."""
    return _UPSTREAM.get(media_type, media_type)


def content_type(media_type: str) -> str:
    """Return the Content-Type header; text types name their charset."""
    return f"{media_type}; charset=utf-8" if media_type[:5] == "text/" else media_type
