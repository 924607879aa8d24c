"""Entity tags: unchanged content is not sent again (RFC 9110, 13.1.2)."""

import hashlib

from fastapi import Request


def tag_of(body: bytes) -> str:
    """Return the tag of some content."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def is_known(request: Request, tag: str) -> bool:
    """Whether the client already has the content with this tag."""
    given = request.headers.get("if-none-match", "")
    return tag in (one.strip().removeprefix("W/") for one in given.split(","))
