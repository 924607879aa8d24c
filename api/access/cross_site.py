"""Refuses requests that pages of other sites make a browser send.

Such a page could otherwise run a costly query or use a login without reading the
answer. Browsers say in ``Sec-Fetch-Site`` where a request comes from; other programs do
not send it and are not affected. Browsers call another port of the same host
``same-site``: it may belong to another user.
"""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from api.access.cors import PATH as SPARQL
from api.access.prefix import route_path
from api.problems import answer
from core.errors import ApiError

_OTHERS = ("cross-site", "same-site")


class CrossSite:
    """Refuses requests of pages of other sites, except followed links.

    ``origins`` may query ``/sparql``, as in `Cors`.
    """

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        self._app = app
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_allowed(Request(scope)):
            await answer(Request(scope), _refusal())(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_allowed(self, request: Request) -> bool:
        if request.headers.get("sec-fetch-site") not in _OTHERS:
            return True
        if route_path(request.scope) == SPARQL:
            origin = request.headers.get("origin", "").lower()
            return bool(origin) and bool({origin, "*"} & self._origins)
        return _follows_link(request)


def _follows_link(request: Request) -> bool:
    """Whether the answer becomes the page itself and not a part of another page."""
    sent = request.headers
    return (
        request.method in ("GET", "HEAD")
        and sent.get("sec-fetch-mode") == "navigate"
        and sent.get("sec-fetch-dest") == "document"
    )


def _refusal() -> ApiError:
    return ApiError(
        403,
        "cross-site-request",
        "Request from a page of another site",
        "pages of other sites may only link to this service; origins that may query "
        f"{SPARQL} are in SUPERTWIN_CORS_ORIGINS",
    )
