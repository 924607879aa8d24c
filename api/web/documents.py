"""``/docs``: the documentation, from the files of the checkout and its data."""

from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from api import formats
from api.access.scoped import scoped
from api.negotiation import negotiate
from api.services import Services, Use
from api.sparql import response
from api.web import pages
from api.web.built_pages import BUILT, built_page
from api.web.markdown import MarkdownPage, document
from core.errors import NotFoundError
from core.settings.home import CHECKOUT

router = APIRouter(prefix="/docs", include_in_schema=False)

_FOLDER = CHECKOUT / "docs"
# They are in the folder above docs/, and their links lead into it.
_ABOVE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
_FIRST = _ABOVE[0]
_MARKDOWN = "text/markdown"
_WHAT = "the documentation is served as HTML and Markdown"
_PICTURES = {".svg": "image/svg+xml", ".png": "image/png", ".json": formats.JSON}


@router.get("")
@router.get("/")
@scoped
async def first(request: Request, services: Use) -> Response:
    """Redirect to the start page of the documentation."""
    root = pages.links(request, services.settings.base).root
    return RedirectResponse(f"{root}/docs/{_FIRST}")


@router.get("/{path:path}", response_class=Response)
@scoped
async def page(request: Request, services: Use, path: str) -> Response:
    """One page, or a picture of one; whatever is not documentation is refused."""
    if path in BUILT:
        if _wants_source(request):
            return response(BUILT[path](), _MARKDOWN)
        return _drawn(request, services, built_page(path))
    found = _found(path)
    if found.suffix == ".md":
        if _wants_source(request):
            return response(found.read_text("utf-8"), _MARKDOWN)
        state = found.stat()
        read = _read(found, state.st_mtime_ns, state.st_size)
        return _drawn(request, services, read)
    headers = {
        "Content-Type": _PICTURES[found.suffix],
        "X-Content-Type-Options": "nosniff",
    }
    return Response(found.read_bytes(), headers=headers)


def _wants_source(request: Request) -> bool:
    accept = request.headers.getlist("accept")
    return negotiate(accept, (formats.HTML, _MARKDOWN), _WHAT) == _MARKDOWN


def _drawn(request: Request, services: Services, shown: MarkdownPage) -> Response:
    return pages.page(
        "document.html",
        request,
        services.settings.base,
        title=shown.title,
        document=shown,
    )


def _found(path: str) -> Path:
    """Return a file of the documentation; raises NotFoundError."""
    folder = CHECKOUT if path in _ABOVE else _FOLDER
    try:
        found = (folder / path).resolve()
        known = found.is_relative_to(folder) and found.is_file()
    except (ValueError, OSError):  # a null byte, or a name that is too long
        known = False
    if not known or found.suffix not in (".md", *_PICTURES):
        detail = f"the documentation has no page {path[:200]!r}; /docs lists them"
        raise NotFoundError("no-such-page", "No such page", detail)
    return found


@lru_cache(maxsize=64)
def _read(path: Path, _changed_ns: int, _size: int) -> MarkdownPage:
    """Render each version of the file once."""
    prefix = "" if path.is_relative_to(_FOLDER) else "docs/"
    return document(path.read_text("utf-8"), prefix=prefix)
