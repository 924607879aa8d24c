"""The media types of each kind of answer, the default first."""

from api.lexer import ResultForm
from api.negotiation import negotiate

JSON = "application/json"
JSON_LD = "application/ld+json"
TURTLE = "text/turtle"
N_TRIPLES = "application/n-triples"
RDF_XML = "application/rdf+xml"
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
TRIPLES = (TURTLE, N_TRIPLES, JSON_LD, RDF_XML)
NODES = (JSON_LD, TURTLE, N_TRIPLES, RDF_XML, HTML, JSON)

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

# The type to request from the graph store, where it differs from the client's.
_UPSTREAM = {JSON: RESULTS_JSON}


def answer_type(
    form: ResultForm, accept: list[str], *, extra: tuple[str, ...] = ()
) -> str:
    """Choose the media type for this form of query; raises NotAcceptableError."""
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


def upstream_type(media_type: str) -> str:
    """Return the media type to request from the graph store."""
    return _UPSTREAM.get(media_type, media_type)


def content_type(media_type: str) -> str:
    """Return the Content-Type header; text types name their charset."""
    return f"{media_type}; charset=utf-8" if media_type[:5] == "text/" else media_type
