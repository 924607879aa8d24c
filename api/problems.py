"""The one format of all errors: RFC 9457 ``application/problem+json``.

ApiError (core.errors) is the root of these errors. Refusals of the framework (404, 405,
422) and unexpected exceptions (500) get the same format. Browsers get a page with the
same content, and clients of `/mcp` get it within an error of JSON-RPC.
"""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match

from api.access.prefix import route_path
from core.errors import INTERNAL, PROBLEM_TYPES, ApiError

MEDIA_TYPE = "application/problem+json"
INVALID = "invalid-request"
UNKNOWN_PATH, WRONG_METHOD, BAD_REQUEST = "unknown-path", "wrong-method", "bad-request"
# The address of the Model Context Protocol.
RPC_PATH = "/mcp"
_INVALID_REQUEST, _INTERNAL_ERROR = -32600, -32603
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_PATH = "/~:@!$&'()*+,;="
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Vary": "Accept",
}
# Codes of refusals by the framework, by HTTP status.
_CODES = {404: UNKNOWN_PATH, 405: WRONG_METHOD}
# Titles of the codes that no error of ours has.
TITLES = {
    UNKNOWN_PATH: "Nothing is served at this path",
    WRONG_METHOD: "The path does not take the method",
    BAD_REQUEST: "The request cannot be read",
    INVALID: "The request does not fit the OpenAPI document",
    INTERNAL: "A fault in SuperTwin: please report it",
}
# Renders a problem document, with these headers, for a client that prefers a page.
Draw = Callable[[Request, Mapping[str, Any], Mapping[str, str]], Response | None]


class ProblemDocument(BaseModel):
    """The answer to every failed request."""

    type: str = Field(description="IRI of the problem; its last part is the code")
    title: str = Field(description="The kind of problem in words")
    status: int = Field(description="The HTTP status")
    detail: str = Field(description="One line: what is wrong, and the fix")
    instance: str = Field(description="The requested path")


RESPONSE: dict[str, Any] = {
    "description": "A problem document (RFC 9457)",
    "content": {MEDIA_TYPE: {"schema": ProblemDocument.model_json_schema()}},
}


class NotAcceptableError(ApiError):
    """Nothing that the client accepts can be served."""

    code = "not-acceptable"
    status = 406

    def __init__(self, detail: str, available: list[str]) -> None:
        super().__init__(
            self.status,
            self.code,
            self.title,
            detail,
            headers={"Vary": "Accept"},
            available=available,
        )


def install(app: FastAPI, draw: Draw) -> None:
    """Answer every error with a problem document, or with a page for browsers."""
    app.state.draw_problem = draw
    app.add_exception_handler(ApiError, _problem)
    app.add_exception_handler(HTTPException, _http_exception)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _unexpected)


def _document(
    request: Request,
    status: int,
    title: str,
    detail: str,
    *,
    code: str,
    headers: Mapping[str, str] | None = None,
    members: Mapping[str, Any] | None = None,
    drawn: bool = True,
) -> Response:
    content = {
        "type": PROBLEM_TYPES + code,
        "title": title,
        "status": status,
        "detail": detail,
        "instance": quote(request.url.path, safe=_PATH),
        **(members or {}),
    }
    sent = {**_HEADERS, **(headers or {})}
    if route_path(request.scope) == RPC_PATH:
        return _rpc_error(content, status, sent)
    page = request.app.state.draw_problem(request, content, sent) if drawn else None
    return page or JSONResponse(content, status, sent, media_type=MEDIA_TYPE)


def _rpc_error(
    content: Mapping[str, Any], status: int, sent: Mapping[str, str]
) -> Response:
    """Return a problem as JSON-RPC: clients of that protocol read nothing else."""
    code = content["type"].removeprefix(PROBLEM_TYPES)
    error = {
        "code": _INVALID_REQUEST if status < 500 else _INTERNAL_ERROR,
        "message": f"{content['detail']} [{code}]",
        "data": {**content, "code": code},
    }
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status, sent)


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)  # noqa: S101
    return answer(request, error, drawn=True)


def answer(request: Request, error: ApiError, *, drawn: bool = False) -> Response:
    """Return the problem document; ``drawn``: a page for clients that prefer it."""
    request.app.state.services.refusals.note(request, error.status, error.code)
    return _document(
        request,
        error.status,
        error.title,
        error.detail,
        code=error.code,
        headers=error.headers,
        members=error.members,
        drawn=drawn,
    )


async def _http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    detail = str(error.detail)
    if error.status_code == 404:
        detail = "unknown path; / links to all pages"
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers = {"Allow": ", ".join(_allowed(request))}
        detail = f"{request.method} is not allowed; allowed: {headers['Allow']}"
    code = _CODES.get(error.status_code, BAD_REQUEST)
    status = error.status_code
    return _document(request, status, TITLES[code], detail, code=code, headers=headers)


def _allowed(request: Request) -> list[str]:
    """Return all methods of this path: the router names those of one route only."""
    taken = [m for m in _METHODS if _takes(request, m)]
    return ["HEAD", *taken] if "GET" in taken else taken


def _takes(request: Request, method: str) -> bool:
    scope = {**request.scope, "method": method}
    return any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    found = [
        f"{'.'.join(str(part) for part in item['loc'][1:])}: {item['msg']}"
        for item in error.errors()
    ]
    return _document(request, 422, TITLES[INVALID], "; ".join(found), code=INVALID)


async def _unexpected(request: Request, error: Exception) -> Response:
    detail = "SuperTwin failed here; its log on stderr says where"
    return _document(request, 500, TITLES[INTERNAL], detail, code=INTERNAL)
