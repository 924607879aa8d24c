"""``/graph/…``: each named graph as a whole."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from api import formats
from api.access.scoped import scoped
from api.connection import while_connected
from api.parameters import declared
from api.services import Services, Use
from api.sparql import spooled
from api.sparql_request import SparqlRequest
from core.errors import NotFoundError
from queries.errors import ParameterError
from queries.terms import iri_term

router = APIRouter(tags=["SPARQL"])

_WHAT = "a named graph is served as RDF"
_OFFERS = tuple(formats.GRAPH_FORMATS.values())
_WITH_NAME = (formats.TRIG, formats.N_QUADS)
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "All triples; TriG and N-Quads also name the graph",
        "content": {media_type: {} for media_type in _OFFERS},
    },
    404: {"description": "No dataset has the graph"},
    413: {"description": "The graph is larger than SUPERTWIN_QUERY_MAX_BYTES"},
}
_FORMAT = declared(
    "format",
    "Overrides `Accept`, for links in a browser",
    {"type": "string", "enum": [*formats.GRAPH_FORMATS]},
)


@router.get(
    "/graph/{path:path}",
    summary="A named graph",
    responses=_ANSWERS,
    response_class=Response,
    openapi_extra={"parameters": [_FORMAT]},
)
@scoped
async def named_graph(
    request: Request,
    services: Use,
    path: Annotated[str, Path(description="`twin/HOST`, `metrics`, `observation/ID`")],
) -> Response:
    """All triples of a graph of the dataset `twin`, or else of `history`.

    `/.well-known/void` lists the graphs.
    """
    media_type = formats.requested(request, formats.GRAPH_FORMATS, _OFFERS, _WHAT)
    name = _term(f"{services.iris.graphs}{path}")
    dataset = await while_connected(request, _dataset(services, name))
    pattern = f"GRAPH {name} {{ ?s ?p ?o }}"
    template = pattern if media_type in _WITH_NAME else "?s ?p ?o"
    query = f"CONSTRUCT {{ {template} }} WHERE {{ {pattern} }}"
    asked = SparqlRequest(query, dataset=dataset)
    return await spooled(request, services, asked, media_type)


def _term(iri: str) -> str:
    try:
        return iri_term(iri)
    except ParameterError:
        raise _unknown(iri) from None


async def _dataset(services: Services, name: str) -> str:
    """Return the dataset that has a graph; raises NotFoundError."""
    is_known = f"SELECT * {{ GRAPH {name} {{ ?s ?p ?o }} }} LIMIT 1"
    for dataset, store in (("twin", services.graph), ("history", services.history)):
        if await store.rows(is_known):
            return dataset
    raise _unknown(name.strip("<>"))


def _unknown(iri: str) -> NotFoundError:
    detail = f"no graph {iri[:200]!r}; /.well-known/void lists the graphs"
    return NotFoundError("unknown-graph", "No such named graph", detail)
