"""The path of the base URL, which all routes and links begin with."""

from starlette.types import ASGIApp, Receive, Scope, Send


def route_path(scope: Scope) -> str:
    """Return the path of a request without the path of the base URL."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


class Prefix:
    """Prepends the path to every request, unless a proxy left it in."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self._app = app
        self._path = path.rstrip("/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._path:
            path = scope["path"]
            if path != self._path and not path.startswith(f"{self._path}/"):
                path = self._path + path
            scope = {**scope, "path": path, "root_path": self._path}
        await self._app(scope, receive, send)
