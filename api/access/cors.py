"""Cross-origin requests (CORS): which origins may query ``/sparql`` from a browser."""

from collections.abc import Sequence

from fastapi import Request, Response
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.access.prefix import route_path
from api.problems import answer
from core.errors import ApiError

PATH = "/sparql"
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Accept, Authorization, Content-Type",
    "Access-Control-Max-Age": "600",
}


class Cors:
    """Tells browsers which origins may read the answers of ``/sparql``.

    Cookies and stored passwords do not apply: a page must send the credentials itself.
    """

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        self._app = app
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or route_path(scope) != PATH:
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        headers = self._headers(request.headers.get("origin"))
        if _is_preflight(request):
            await self._preflight(request, headers)(scope, receive, send)
            return

        async def send_allowed(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(scope=message)
                for name, value in headers.items():
                    sent[name] = value
                if self._origins:
                    sent.add_vary_header("Origin")
            await send(message)

        await self._app(scope, receive, send_allowed)

    def _headers(self, origin: str | None) -> dict[str, str]:
        if origin is None or not {origin.lower(), "*"} & self._origins:
            return {}
        return {"Access-Control-Allow-Origin": "*" if "*" in self._origins else origin}

    def _preflight(self, request: Request, headers: dict[str, str]) -> Response:
        if not headers:
            return answer(request, _not_allowed(request.headers["origin"]))
        return Response(status_code=204, headers=headers | _PREFLIGHT | _VARY)


_VARY = {"Vary": "Origin"}


def _is_preflight(request: Request) -> bool:
    required = {"origin", "access-control-request-method"}
    return request.method == "OPTIONS" and required <= set(request.headers.keys())


def _not_allowed(origin: str) -> ApiError:
    return ApiError(
        403,
        "foreign-origin",
        "Origin not allowed",
        f"pages of {origin[:100]!r} may not query {PATH}; to allow them, put the "
        "origin into SUPERTWIN_CORS_ORIGINS",
    )
