"""Pages of the documentation that are made from code and data, and not committed."""

from collections.abc import Callable
from functools import cache

from api.web.markdown import MarkdownPage, document
from ingest.pmu.role_page import role_page
from queries.page import query_page

# `make docs` writes them into docs/, where git ignores them.
BUILT: dict[str, Callable[[], str]] = {
    "built/queries.md": query_page,
    "built/roles.md": role_page,
}


@cache
def built_page(path: str) -> MarkdownPage:
    """Render a page of BUILT on its first request."""
    return document(BUILT[path]())
