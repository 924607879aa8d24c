"""The host names that the API accepts.

With DNS rebinding, a web site points its name at this machine and has the same origin
as the API for a browser, so it could read the twin. The ``Host`` header reveals it.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from api.problems import answer
from core.errors import ApiError
from core.settings.settings import Settings


class Hosts:
    """Refuses requests whose ``Host`` is not a name of this service."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        base = urlsplit(settings.base).hostname or ""
        self._names = {"localhost", base, settings.bind, *settings.hosts}
        self._is_local = ip_address(settings.bind).is_loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for name, value in scope["headers"]:
                if name == b"host" and not self._is_ours(value.decode("latin-1")):
                    refusal = answer(Request(scope), _foreign(value.decode("latin-1")))
                    await refusal(scope, receive, send)
                    return
        await self._app(scope, receive, send)

    def _is_ours(self, host: str) -> bool:
        name = _without_port(host)
        if name in self._names or "*" in self._names:
            return True
        try:
            address = ip_address(name.strip("[]"))
        except ValueError:
            return False
        # DNS rebinding does not work with an address.
        return address.is_loopback or not self._is_local


def _without_port(host: str) -> str:
    name, colon, port = host.strip().lower().rpartition(":")
    has_port = colon and (port.isdecimal() or not port)
    return (name if has_port else host.strip().lower()).removesuffix(".")


def _foreign(host: str) -> ApiError:
    return ApiError(
        421,
        "foreign-host",
        "Unknown host name",
        f"this service has no name {host[:100]!r}; to allow it, put the name into "
        "SUPERTWIN_ALLOWED_HOSTS, or into SUPERTWIN_BASE",
    )
