"""Reads the credentials of a request: a header, or the cookie of a session."""

import binascii
from base64 import b64decode
from dataclasses import dataclass
from urllib.parse import urlsplit

from fastapi import Request

from core.settings.settings import Settings

_UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True)
class Credentials:
    """``scheme`` is bearer, basic, session or '' for none; only Basic has ``user``.

    A header that is malformed or given twice is treated as an empty bearer token.
    """

    scheme: str
    secret: str = ""
    user: str = ""

    @property
    def kept_by_browsers(self) -> bool:
        """Whether a browser sends them automatically, for any page."""
        return self.scheme in ("basic", "session")


def credentials(request: Request, cookie: str) -> Credentials:
    """Read the credentials of a request; a header takes precedence over the cookie."""
    sent = request.headers.getlist("authorization")
    if not sent:
        session = request.cookies.get(cookie, "")
        return Credentials("session", session) if session else Credentials("")
    scheme, _, text = sent[0].partition(" ")
    if len(sent) > 1 or scheme.lower() not in ("bearer", "basic"):
        return Credentials("bearer")
    if scheme.lower() == "bearer":
        return Credentials("bearer", text.strip())
    return _basic(text.strip())


def is_foreign(request: Request, settings: Settings, must_say: bool) -> bool:
    """Whether a page of another origin made the browser send a changing request.

    Browsers send the origin with every such request; ``must_say`` requires it, for
    requests that only browsers send. The port is part of the origin, although cookies
    ignore it.
    """
    if request.method not in _UNSAFE:
        return False
    origin = request.headers.get("origin")
    if origin is None:
        return must_say
    host = request.headers.get("host", "").lower()
    ours = {f"http://{host}", f"https://{host}", _origin(settings.base)}
    return origin.lower() not in ours


def cookie_name(settings: Settings) -> str:
    """Name the cookie by port, because browsers share cookies between all ports."""
    return f"supertwin_{settings.api_port}"


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


def _basic(text: str) -> Credentials:
    try:
        pair = b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return Credentials("bearer")
    user, _, password = pair.partition(":")
    return Credentials("basic", password, user)
