"""Entity tags: what a browser has already is not sent again (RFC 9110, 13.1.2)."""

import hashlib

from fastapi import Request


def tag_of(body: bytes) -> str:
    """The tag of a content."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def is_known(request: Request, tag: str) -> bool:
    """Whether the client says that it has the content of this tag."""
    given = request.headers.get("if-none-match", "")
    return tag in (one.strip().removeprefix("W/") for one in given.split(","))
