"""Writes changes, logins and refusals to the audit trail."""

import asyncio
from pathlib import Path
from urllib.parse import quote

from fastapi import Request

from api.access.clients import address_of, client_of, peer_of
from core.settings import audit

_QUIET_S = 60.0
_MOST_KINDS = 50
_OTHERS = ("several clients", "several reasons")
_LOGGED = (401, 403, 421)


def record(
    request: Request, what: str, thing: str, outcome: str = "done", who: str = ""
) -> None:
    """Record what a request did; ``who`` names the caller of a login."""
    home: Path = request.app.state.services.settings.home
    audit.record(home, who or _who(request), what, thing, outcome)


class RefusalLog:
    """Records refusals, at most one per minute for each client and reason.

    The first is written immediately, and the others of the next minute as one line with
    their count. Clients beyond 50 a minute share a line.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._repeated: dict[tuple[str, str], int] = {}

    def note(self, request: Request, status: int, reason: str) -> None:
        """Record an answer if its status is a refusal."""
        if status not in _LOGGED:
            return
        key = (address_of(request), reason)
        if key not in self._repeated and len(self._repeated) >= _MOST_KINDS:
            key = _OTHERS
        if key in self._repeated:
            self._repeated[key] += 1
            return
        self._repeated[key] = 0
        thing = f"{request.method} {quote(request.url.path)}"
        audit.record(self._home, _who(request), "refused", thing, reason)
        asyncio.get_running_loop().call_later(_QUIET_S, self._flush, key)

    def flush(self) -> None:
        """Write the pending counts before the API ends."""
        for key in [*self._repeated]:
            self._flush(key)

    def _flush(self, key: tuple[str, str]) -> None:
        if count := self._repeated.pop(key, 0):
            client, reason = key
            thing = "more of the same"
            audit.record(self._home, client, "refused", thing, reason, count)


def _who(request: Request) -> str:
    """Name the caller's token; the owner of the state folder by the client's user."""
    caller = getattr(request.state, "caller", None)
    return peer_of(request) if caller and caller.is_owner else client_of(request)
