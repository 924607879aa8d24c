"""Browser sessions: a cookie represents a token without containing it.

Browsers send a cookie to every port of its host, and only the API may see the token.
Sessions end with the process, with their token, and after twelve hours.
"""

import hashlib
import secrets
import time
from dataclasses import dataclass

from api.access.tokens import AccessToken

LASTS_S = 12 * 3600
_MOST = 1000


@dataclass(frozen=True)
class LoginSession:
    """The token that a session was begun with, as it was then; empty: the owner's."""

    token: str
    hash: str
    until: float


class LoginSessions:
    """The sessions of one API; beyond a thousand, the oldest one ends."""

    def __init__(self) -> None:
        self._sessions: dict[bytes, LoginSession] = {}

    def begin(self, token: AccessToken | None) -> str:
        """Begin a session, the owner's without a token; return its cookie's value."""
        while len(self._sessions) >= _MOST:
            del self._sessions[next(iter(self._sessions))]
        secret = secrets.token_urlsafe(32)
        until = time.monotonic() + LASTS_S
        id_, proof = (token.id, token.hash) if token else ("", "")
        self._sessions[_key(secret)] = LoginSession(id_, proof, until)
        return secret

    def find(self, secret: str) -> LoginSession | None:
        """Return the session of a cookie; None if there is none or it has ended."""
        found = self._sessions.get(_key(secret))
        if found and found.until < time.monotonic():
            self.end(secret)
            return None
        return found

    def end(self, secret: str) -> None:
        """End a session if it exists."""
        self._sessions.pop(_key(secret), None)


def _key(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
