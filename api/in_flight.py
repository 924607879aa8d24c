"""Limits concurrent requests, with a reserve for our pages when programs send many."""

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from api.access.prefix import route_path
from api.problems import answer
from core.errors import ApiError

MOST = 256
_FOR_PAGES = 128
_OWN_PATHS = ("/health", "/static/")


class InFlight:
    """Refuses a request if too many are being answered; those of our pages last."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._count = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        if self._count >= MOST + (_FOR_PAGES if _is_for_page(request) else 0):
            await answer(request, _too_many())(scope, receive, send)
            return
        self._count += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._count -= 1


def _is_for_page(request: Request) -> bool:
    """Whether a browser requests one of our pages, or one of our pages its parts."""
    own = request.headers.get("sec-fetch-site") in ("same-origin", "none")
    return own or route_path(request.scope).startswith(_OWN_PATHS)


def _too_many() -> ApiError:
    return ApiError(
        503,
        "too-many-requests-at-once",
        "Too many requests at once",
        f"{MOST} requests are being answered; try again",
        headers={"Retry-After": "5"},
    )
