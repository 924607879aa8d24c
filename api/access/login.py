"""``/login`` and ``/logout``: a browser sends its token once and gets a cookie."""

from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from api import formats
from api.access import audit, auth_errors
from api.access.clients import peer_of
from api.access.credentials import is_foreign
from api.access.prefix import route_path
from api.access.scoped import scoped
from api.access.sessions import LASTS_S
from api.body import read_body
from api.negotiation import choose
from api.problems import MEDIA_TYPE
from api.services import Services, Use
from api.sparql_request import read_pairs
from api.web import pages
from core.errors import ApiError

router = APIRouter(include_in_schema=False)

PATH = "/login"
_MOST_BYTES = 8192
_OFFERS = (MEDIA_TYPE, formats.JSON, formats.HTML)


@router.get(PATH, response_class=Response)
@scoped
async def ask(request: Request, services: Use, next: str = "/") -> Response:  # noqa: A002
    """The page that asks for a token."""
    return _page(request, services, _own_path(next))


@router.post(PATH, response_class=Response)
@scoped
async def login(request: Request, services: Use) -> Response:
    """Take a token and begin a session; the page shows what is wrong with it."""
    settings, authenticator = services.settings, services.authenticator
    if is_foreign(request, settings, must_say=False):
        raise auth_errors.cross_site()
    sent = dict(read_pairs(await read_body(request, _MOST_BYTES, "form")))
    goal = _own_path(sent.get("next", "/"))
    try:
        caller = authenticator.admit_token(sent.get("token", "").strip())
    except ApiError as error:
        services.refusals.note(request, error.status, error.code)
        return _page(request, services, goal, error)
    thing = f"{caller.role} from {peer_of(request)}"
    audit.record(request, "login", thing, who=caller.name)
    answer = _to(request, goal)
    answer.set_cookie(
        authenticator.cookie,
        authenticator.sessions.begin(caller.token),
        max_age=LASTS_S,
        path=_root(request) or "/",
        # The scheme that the browser uses; there may be a proxy in between.
        secure=request.headers.get("origin", "").startswith("https:"),
        httponly=True,
        samesite="strict",
    )
    return answer


@router.post("/logout", response_class=Response)
@scoped
async def logout(request: Request, services: Use) -> Response:
    """End the session, here and in the browser."""
    if is_foreign(request, services.settings, must_say=True):
        raise auth_errors.cross_site()
    services.authenticator.sessions.end(
        request.cookies.get(services.authenticator.cookie, "")
    )
    answer = _to(request, PATH)
    answer.delete_cookie(
        services.authenticator.cookie,
        path=_root(request) or "/",
        httponly=True,
        samesite="strict",
    )
    return answer


def login_page(request: Request, error: ApiError) -> Response | None:
    """Redirect a browser without credentials to the login page; else return None.

    If there is a reader account, the browser itself asks for the password.
    """
    services: Services = request.app.state.services
    chosen = choose(request.headers.getlist("accept"), _OFFERS)
    is_page = request.method == "GET" and chosen == formats.HTML
    if error.status != 401 or not is_page or auth_errors.has_account(services.settings):
        return None
    path = quote(route_path(request.scope)) or "/"
    query = f"?{request.url.query}" if request.url.query else ""
    return _to(request, f"{PATH}?{urlencode({'next': path + query})}")


def _page(
    request: Request, services: Services, goal: str, error: ApiError | None = None
) -> Response:
    return pages.page(
        "login.html",
        request,
        services.settings.base,
        status=error.status if error else 200,
        headers={**((error and error.headers) or {}), "Cache-Control": "no-store"},
        title="Log in",
        goal=goal,
        problem=error.detail if error else "",
    )


def _to(request: Request, path: str) -> RedirectResponse:
    headers = {"Cache-Control": "no-store"}
    return RedirectResponse(_root(request) + path, status_code=303, headers=headers)


def _root(request: Request) -> str:
    root: str = request.scope.get("root_path", "")
    return root.rstrip("/")


def _own_path(goal: str) -> str:
    """Return the path if it is one of ours; else /, so a link stays on this site."""
    plain = goal.isascii() and goal.isprintable() and "\\" not in goal
    return goal if plain and goal.startswith("/") and goal[1:2] != "/" else "/"
