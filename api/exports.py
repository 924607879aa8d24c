"""Exports of twins: a host as DTDL.

A document is complete before it is sent, so none ends in the middle. Its size is
limited by the maximum answer of the graph store, and only one is made at a time: a host
of 384 threads takes two seconds of one core.
"""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from rdflib import RDF, URIRef

from api.access.scoped import scoped
from api.connection import while_connected
from api.services import Services, Use
from api.threads import computed
from core.errors import api_error
from dtdl.errors import NotExportableError
from dtdl.export import document, export
from dtdl.source import queries
from ontology.iris import IdError, encode_id
from ontology.terms import ST
from queries.hosts import known_hosts, unknown_host
from queries.terms import term

router = APIRouter(tags=["Twin"])

_ONE_AT_A_TIME = asyncio.Semaphore(1)
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A list of DTDL Interfaces, the host's first",
        "content": {"application/json": {}},
    },
    404: {"description": "No such host"},
}


@router.get(
    "/export/dtdl",
    summary="A host as DTDL",
    responses=_ANSWERS,
    response_class=Response,
)
@scoped
async def dtdl(
    request: Request,
    services: Use,
    host: Annotated[str, Query(description="The name of a host")],
    version: Annotated[
        int, Query(ge=2, le=4, description="Version of DTDL; only 2 holds everything")
    ] = 2,
) -> Response:
    """The twin of a host in DTDL 2, 3 or 4, as `supertwin export dtdl` writes it."""
    try:
        name = f"{encode_id(host)}.dtdl{version}.json"
    except IdError:
        raise unknown_host(host, await known_hosts(services.graph)) from None
    body = await while_connected(request, _document(services, host, version))
    headers = {"Content-Disposition": f'inline; filename="{name}"'}
    return Response(body, headers=headers, media_type="application/json")


async def _document(services: Services, host: str, version: int) -> bytes:
    async with _ONE_AT_A_TIME:
        found: set[tuple[Any, Any, Any]] = set()
        for query in queries(services.iris, host):
            for row in await services.graph.rows(query):
                found.add((term(row["s"]), term(row["p"]), term(row["o"])))
        node = services.iris.host(host)
        if (node, RDF.type, ST.ComputeNode) not in found:
            raise unknown_host(host, await known_hosts(services.graph))
        base = services.settings.base
        return await computed(_written, found, node, base, version)


def _written(
    found: set[tuple[Any, Any, Any]], node: URIRef, base: str, version: int
) -> bytes:
    try:
        return b"".join(document(export(found, node, base, version)))
    except NotExportableError as error:
        raise api_error(error, 409) from None
