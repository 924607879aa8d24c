"""``/mcp``: the Model Context Protocol over HTTP, one JSON answer for each request."""

from fastapi import APIRouter, Request, Response

from api import formats
from api.access import auth_errors
from api.access.credentials import is_foreign
from api.access.headers import MAX_BODY_BYTES
from api.access.scoped import scoped
from api.body import read_body
from api.connection import ClientGoneError, while_connected
from api.mcp.service import MOST_BYTES
from api.problems import RPC_PATH
from api.services import Use
from core.errors import ApiError

router = APIRouter(tags=["Assistants"])

_MESSAGE = {"type": "object", "description": "A JSON-RPC 2.0 request"}


@router.post(
    RPC_PATH,
    summary="The Model Context Protocol",
    response_class=Response,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {formats.JSON: {"schema": _MESSAGE}},
        }
    },
    responses={
        200: {
            "description": "A JSON-RPC 2.0 answer",
            "content": {formats.JSON: {}},
        },
        202: {"description": "A notification, which has no answer"},
        403: {"description": "Sent by a page of another site"},
        413: {"description": f"The request has more than {MOST_BYTES} bytes"},
    },
)
@scoped
async def mcp(request: Request, services: Use) -> Response:
    """Streamable HTTP without sessions: saved queries and `sparql` are tools, hosts and
    modules of the ontology are resources. Reads only, with the access of `/sparql`.
    """
    if is_foreign(request, services.settings, must_say=False):
        raise auth_errors.cross_site()
    body = await _read_body(request)
    return await while_connected(request, services.mcp.answer(request.scope, body))


async def _read_body(request: Request) -> bytes:
    """Read the request; discard the rest of one that is too long.

    Otherwise clients that are still sending would not read why it is refused.
    """
    try:
        return await read_body(request, MOST_BYTES, "request")
    except ClientGoneError:
        raise
    except ApiError:
        rest = MAX_BODY_BYTES
        while rest > 0:
            message = await request.receive()
            rest -= len(message.get("body", b""))
            if not message.get("more_body", False):
                break
        raise
