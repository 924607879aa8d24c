"""The saved queries in the OpenAPI document: a path for each, with typed parameters."""

from collections.abc import Iterable
from typing import Any

from api import formats
from queries.binding import RUN, Param
from queries.catalogue import SavedQuery

# The path that all of them match.
PATTERN = "/queries/{group}/{name}"
_TYPES = {"iri": "string", RUN: "string"}
_FORMATS = {"iri": "iri"}


def with_query_paths(
    document: dict[str, Any], found: Iterable[SavedQuery]
) -> dict[str, Any]:
    """Return the OpenAPI document with the paths of these saved queries."""
    general = document["paths"][PATTERN]["get"]
    paths = {f"/queries/{query.name}": {"get": _get(query, general)} for query in found}
    return {**document, "paths": {**document["paths"], **paths}}


def _get(query: SavedQuery, general: dict[str, Any]) -> dict[str, Any]:
    media_types = (*formats.answer_types(query.form), formats.QUERY, formats.HTML)
    answered = {
        "description": f"Columns: {', '.join(query.returns) or 'none'}",
        "content": {media_type: {} for media_type in media_types},
    }
    return {
        "tags": [f"Saved queries: {query.name.partition('/')[0]}"],
        "summary": query.title,
        "description": query.description,
        "operationId": f"query.{query.name.replace('/', '.')}",
        "parameters": [_parameter(param) for param in query.params.values()],
        "responses": {**general["responses"], "200": answered},
        **{name: general[name] for name in ("security",) if name in general},
    }


def _parameter(param: Param) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _TYPES.get(param.type, param.type)}
    if param.type in _FORMATS:
        schema["format"] = _FORMATS[param.type]
    if param.enum:
        schema["enum"] = list(param.enum)
    if param.default is not None:
        schema["default"] = param.default
    about = {"description": param.description} if param.description else {}
    return {"name": param.name, "in": "query", **about, "schema": schema}
