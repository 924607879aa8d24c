"""What a request shows of who sends it: a header, or the cookie of a session."""

import binascii
from base64 import b64decode
from dataclasses import dataclass
from urllib.parse import urlsplit

from fastapi import Request

from core.settings.settings import Settings

_UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True)
class Credentials:
    """``scheme`` is bearer, basic, session or '' for none; ``user`` is Basic's alone.

    A header that cannot be read, or stands twice, is a bearer of nothing.
    """

    scheme: str
    secret: str = ""
    user: str = ""

    @property
    def kept_by_browsers(self) -> bool:
        """Whether a browser sends them by itself, whichever page made it do so."""
        return self.scheme in ("basic", "session")


def credentials(request: Request, cookie: str) -> Credentials:
    """The credentials of a request; a header goes before the cookie of that name."""
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
    """Whether a page of another origin made the browser send a request that changes.

    Browsers name the origin with every such request; ``must_say`` is for what none but
    browsers send. A port is part of the origin, though not of a cookie's place.
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
    """A cookie of its own for each port: to browsers all ports are one place."""
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
