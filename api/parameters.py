"""Query parameters: a route accepts those that it declares, and no others.

If a list ignored ``limit=2``, the client would believe that it was shortened.
"""

from collections.abc import Iterator
from typing import Any

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from core.errors import ApiError


def declared(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Declare a parameter in ``openapi_extra`` of a route that reads it itself."""
    about = {"description": description} if description else {}
    return {"name": name, "in": "query", **about, "schema": schema}


def any_other(description: str) -> dict[str, Any]:
    """Declare parameters of any name in the same way."""
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    form = {"style": "form", "explode": True}
    return {**declared("parameters", description, texts), **form}


_TEXT = {"type": "string"}
# The script of a page with charts keeps these in the URL.
TIMES = (
    declared("last", "Range of the page: the most recent time, such as 15m", _TEXT),
    declared("from", "Range of the page: start (ISO 8601)", _TEXT),
    declared("to", "Range of the page: end (ISO 8601)", _TEXT),
)


async def refuse_undeclared(request: Request) -> None:
    """Refuse (400) parameters that the route does not declare; for all routes."""
    # Not a plain function, which FastAPI would run in a thread.
    route = request.scope["route"]
    known = dict.fromkeys(_names(route))
    unknown = [name for name in request.query_params if name not in known]
    if unknown and not _takes_any(route):
        names = ", ".join(known) or "none"
        detail = f"no parameter {unknown[0][:60]!r} here; there are: {names}"
        raise ApiError(400, "unknown-parameter", "Unknown parameter", detail)


def _names(route: APIRoute) -> Iterator[str]:
    yield from _of(route.dependant)
    yield from (each["name"] for each in _extra(route) if each["in"] == "query")


def _of(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for below in dependant.dependencies:
        yield from _of(below)


def _takes_any(route: APIRoute) -> bool:
    return any(each["schema"].get("additionalProperties") for each in _extra(route))


def _extra(route: APIRoute) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (route.openapi_extra or {}).get("parameters", [])
    return found
