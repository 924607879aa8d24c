"""Problems as pages, for browsers."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request, Response

from api import formats
from api.negotiation import choose
from api.problems import MEDIA_TYPE
from api.services import Services
from api.web import pages

# Scripts and other programs, which accept anything, get the document.
_OFFERS = (MEDIA_TYPE, formats.JSON, formats.HTML)


def draw_problem(
    request: Request, document: Mapping[str, Any], headers: Mapping[str, str]
) -> Response | None:
    """Render a problem document as a page; None if the client prefers the document."""
    if choose(request.headers.getlist("accept"), _OFFERS) != formats.HTML:
        return None
    services: Services = request.app.state.services
    base = services.settings.base
    # Unexpected errors are handled outside the middleware that sets the root path.
    root = urlsplit(base).path.rstrip("/")
    return pages.page(
        "problem.html",
        Request({**request.scope, "root_path": root}),
        base,
        status=document["status"],
        headers=headers,
        title=document["title"],
        problem=document,
    )
