"""``/static``: the pages' own styles and scripts, and the browser libraries."""

from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter, Response

from api.access.scoped import scoped
from api.conditional import tag_of
from core.errors import NotFoundError, api_error
from core.settings.tools import TOOLS, NotInstalledError

router = APIRouter(prefix="/static", include_in_schema=False)

_OWN = Path(__file__).parent / "static"
_MODULES = TOOLS / "web" / "node_modules"
LIBRARIES = {
    "swagger-ui-bundle.js": "swagger-ui-dist/swagger-ui-bundle.js",
    "swagger-ui.css": "swagger-ui-dist/swagger-ui.css",
    "uPlot.esm.js": "uplot/dist/uPlot.esm.js",
    "uPlot.min.css": "uplot/dist/uPlot.min.css",
    "yasgui.min.js": "@zazuko/yasgui/build/yasgui.min.js",
    "yasgui.min.css": "@zazuko/yasgui/build/yasgui.min.css",
}
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@router.get("/lib/{name}", response_class=Response)
@scoped
async def library(name: str) -> Response:
    """One file of a library that was installed at set-up."""
    if name not in LIBRARIES:
        raise _unknown(f"lib/{name}")
    path = _MODULES / LIBRARIES[name]
    if not path.is_file():
        detail = f"the browser library {name} is not installed: run ./install.sh"
        raise api_error(NotInstalledError(detail), 503)
    return _file(path)


@router.get("/{path:path}", response_class=Response)
@scoped
async def own(path: str) -> Response:
    """One of the pages' own files; any other path is refused."""
    try:
        found = (_OWN / path).resolve()
        known = found.is_relative_to(_OWN) and found.is_file()
    except (ValueError, OSError):  # a null byte, or a name that is too long
        known = False
    if not known or found.suffix not in _TYPES:
        raise _unknown(path)
    return _file(found)


def _unknown(path: str) -> NotFoundError:
    detail = f"the pages have no file {path[:200]!r}"
    return NotFoundError("no-such-file", "No such file", detail)


def _file(path: Path) -> Response:
    """Return the file; browsers ask each time whether it changed (`ConditionalGet`)."""
    state = path.stat()
    body, tag = _read(path, state.st_mtime_ns, state.st_size)
    headers = {
        "Cache-Control": "no-cache",
        "ETag": tag,
        "Content-Type": _TYPES[path.suffix],
        "X-Content-Type-Options": "nosniff",
    }
    return Response(body, headers=headers)


@lru_cache(maxsize=64)
def _read(path: Path, _changed_ns: int, _size: int) -> tuple[bytes, str]:
    """Return the content and its tag, read once per version of the file."""
    body = path.read_bytes()
    return body, tag_of(body)
