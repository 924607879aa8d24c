"""The media types of samples, and which one a request gets."""

from fastapi import Request

from api import formats
from api.negotiation import choose, negotiate
from api.problems import NotAcceptableError

CSV = "text/csv"
PARQUET = "application/vnd.apache.parquet"
ARROW = "application/vnd.apache.arrow.stream"
SAMPLES = (formats.JSON_LD, CSV, PARQUET, ARROW, formats.JSON)
TABLES = {"csv": CSV, "parquet": PARQUET, "arrow": ARROW}
FORMATS = {"jsonld": formats.JSON_LD, **TABLES}


def sample_type(request: Request) -> str:
    """Return the media type of an answer with samples; raises NotAcceptableError.

    `?format=` overrides `Accept`.
    """
    name = request.query_params.get("format")
    if name is None:
        accept = request.headers.getlist("accept")
        return negotiate(accept, SAMPLES, "samples are served as JSON-LD or a table")
    if name in FORMATS:
        return FORMATS[name]
    known = ", ".join(FORMATS)
    detail = f"format={name[:40]!r} is not served for samples; there are: {known}"
    raise NotAcceptableError(detail, [*FORMATS])


def prefers_page(request: Request) -> bool:
    """Whether a client wants a page rather than samples: `?format=html`, or a browser.

    Then `from` and `to` are the range of the page's charts.
    """
    name = request.query_params.get("format")
    if name is not None:
        return name == "html"
    accept = request.headers.getlist("accept")
    return choose(accept, (*SAMPLES, formats.HTML)) == formats.HTML
