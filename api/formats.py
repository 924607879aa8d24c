"""The media types that each kind of answer can be served in, the default first."""

from api.lexer import Form
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

# What the ending of an address, or ?format=, asks for, whatever is accepted.
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

# What the graph store is asked for, where it differs from what the client is told.
_UPSTREAM = {JSON: RESULTS_JSON}


def answer_type(form: Form, accept: list[str], *, extra: tuple[str, ...] = ()) -> str:
    """The media type to answer this form of query in; raises NotAcceptableError."""
    if form.gives_triples:
        what = f"{form.value} gives triples, which are served as RDF"
        return negotiate(accept, (*TRIPLES, *extra), what)
    what = f"{form.value} gives a table, which is served as SPARQL results or CSV"
    return negotiate(accept, (*TABLES, *extra), what)


def upstream_type(media_type: str) -> str:
    """The media type to ask the graph store for."""
    return _UPSTREAM.get(media_type, media_type)


def content_type(media_type: str) -> str:
    """The Content-Type header: text names its charset."""
    return f"{media_type}; charset=utf-8" if media_type[:5] == "text/" else media_type
