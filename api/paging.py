"""``limit`` and ``offset`` of lists, and links to the pages next to one (RFC 8288)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar
from urllib.parse import quote, urlencode

from fastapi import Depends, Query, Request, Response

T = TypeVar("T")

NAMES = ("limit", "offset")
_MOST = 10_000
_FURTHEST = 10**9


@dataclass(frozen=True)
class Page:
    """A part of a list: ``limit`` entries after ``offset`` others, or all of them."""

    limit: int | None
    offset: int

    def of(self, found: Sequence[T]) -> Sequence[T]:
        """Return this part of a whole list."""
        end = None if self.limit is None else self.offset + self.limit
        return found[self.offset : end]

    def is_followed(self, total: int) -> bool:
        """Return whether a list of ``total`` entries goes on after this part."""
        return self.limit is not None and self.offset + self.limit < total

    def link(self, answer: Response, request: Request, *, is_followed: bool) -> None:
        """Add links to the first, the previous and the next page, if they exist."""
        if self.limit is None:
            return
        offsets = {"first": 0}
        if self.offset:
            offsets["prev"] = max(self.offset - self.limit, 0)
        if is_followed:
            offsets["next"] = self.offset + self.limit
        links = (
            f'<{self._path(request, offset)}>; rel="{name}"'
            for name, offset in offsets.items()
        )
        answer.headers["Link"] = ", ".join(links)

    def _path(self, request: Request, offset: int) -> str:
        given = request.query_params.multi_items()
        others = [pair for pair in given if pair[0] not in NAMES]
        own = [("limit", str(self.limit)), ("offset", str(offset))]
        return f"{quote(request.scope['path'])}?{urlencode([*others, *own])}"


async def _page(
    limit: Annotated[
        int | None,
        Query(ge=1, le=_MOST, description="Most entries of an answer; default: all"),
    ] = None,
    offset: Annotated[
        int, Query(ge=0, le=_FURTHEST, description="Number of entries to skip")
    ] = 0,
) -> Page:
    return Page(limit, offset)


Paged = Annotated[Page, Depends(_page)]
