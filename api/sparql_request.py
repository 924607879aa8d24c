"""Reads a query from a request, as the SPARQL 1.1 protocol has it."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl

from fastapi import Request

from api import formats
from api.body import read_body, too_large, unsupported_type
from core.errors import BadQueryError
from core.stores.sparql_dataset import EXPLAIN

FORM = "application/x-www-form-urlencoded"
GRAPHS = ("default-graph-uri", "named-graph-uri")

_MAX_QUERY_BYTES = 1024 * 1024
_MAX_PARAMETERS = 200
_UPDATE = "application/sparql-update"
_CHARSET = re.compile(r'charset\s*=\s*"?([^";\s]*)')
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*")


@dataclass(frozen=True)
class SparqlRequest:
    """One query of the protocol, with the graphs that it is limited to.

    If ``explain``, the answer is what the query asks the series store. ``asof`` is the
    time at which it runs; now if empty. ``dataset`` is ``twin`` or ``history``.
    """

    query: str
    graphs: tuple[tuple[str, str], ...] = ()
    explain: bool = False
    asof: str = ""
    dataset: str = "twin"


async def read_post(request: Request) -> SparqlRequest:
    """Read the query in the body; raises ApiError."""
    media_type = _sent_type(request)
    body = await read_body(request, _MAX_QUERY_BYTES, "query")
    in_url = request.scope["query_string"]
    if media_type == FORM:
        return read_get(b"&".join(filter(None, (body, in_url))))
    pairs = read_pairs(in_url)
    if any(name == "query" for name, _ in pairs):
        raise _not_one("a query in the body and one in the URL")
    return _request(_decoded(body), pairs)


def _sent_type(request: Request) -> str:
    """Return the media type of the body; raises ApiError for one that is not taken."""
    sent = request.headers.get("content-type", "")
    media_type, _, parameters = sent.lower().partition(";")
    if (media_type := media_type.strip()) == _UPDATE:
        raise _update()
    charset = _CHARSET.search(parameters)
    is_utf8 = charset is None or charset[1] in ("utf-8", "utf8", "us-ascii")
    if media_type in (FORM, formats.QUERY) and is_utf8:
        return media_type
    raise unsupported_type(request, formats.QUERY, FORM)


def read_get(text: bytes) -> SparqlRequest:
    """Read the query in the parameters of a URL or form; raises ApiError."""
    if len(text) > _MAX_QUERY_BYTES:
        raise too_large(_MAX_QUERY_BYTES, "query")
    pairs = read_pairs(text)
    queries = [value for name, value in pairs if name == "query"]
    if any(name in ("update", "using-graph-uri") for name, _ in pairs):
        raise _update()
    if len(queries) != 1:
        raise _not_one(f"{len(queries)} parameters named query")
    return _request(queries[0], pairs)


def _request(query: str, pairs: list[tuple[str, str]]) -> SparqlRequest:
    graphs = tuple(pair for pair in pairs if pair[0] in GRAPHS)
    for name, iri in graphs:
        if not _ABSOLUTE.fullmatch(iri):
            detail = f"{name}={iri[:100]!r} is not an absolute IRI; send one"
            raise BadQueryError("bad-graph-iri", "Not the IRI of a graph", detail)
    return SparqlRequest(query, graphs, EXPLAIN in pairs, dict(pairs).get("asof", ""))


def read_pairs(text: bytes) -> list[tuple[str, str]]:
    """Parse the name=value pairs of a form; raises BadQueryError."""
    try:
        return parse_qsl(
            text.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MAX_PARAMETERS,
        )
    except UnicodeError:
        raise _not_utf8() from None
    except ValueError:
        detail = f"more than {_MAX_PARAMETERS} parameters; send fewer"
        raise BadQueryError("bad-form", "Too many parameters", detail) from None


def _decoded(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise _not_utf8() from None


def _not_one(sent: str) -> BadQueryError:
    detail = f"{sent}; send exactly one"
    return BadQueryError("one-query", "Send exactly one query", detail)


def _not_utf8() -> BadQueryError:
    detail = "the query is not UTF-8; send it as UTF-8, percent-encoded in forms"
    return BadQueryError("not-utf-8", "Not UTF-8", detail)


def _update() -> BadQueryError:
    detail = "only queries are run here; `supertwin ingest` changes the twin"
    return BadQueryError("update-refused", "Updates are not accepted", detail)
