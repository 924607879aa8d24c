"""``/``: where to begin."""

from fastapi import APIRouter, Request, Response

from api import pages
from api.services import Use

router = APIRouter()


@router.get("/", include_in_schema=False, response_class=Response)
async def index(request: Request, services: Use) -> Response:
    """A plain page with links."""
    base = services.settings.base
    return pages.page("index.html", request, base, title="SuperTwin")
