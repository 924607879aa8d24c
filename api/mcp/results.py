"""Answers of queries as structured content: columns and rows, within bounds."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson
from mcp_types import CallToolResult, TextContent

from api.mcp.api_client import ApiResponse, ApiResponseError

# Rows of an answer: by default, and at most; and bytes of any answer.
USUAL_ROWS: Final = 100
MOST_ROWS: Final = 1000
MOST_BYTES: Final = 256 * 1024
# Bytes of an answer whose rows are counted. Reading a longer one would delay others.
_MOST_COUNTED: Final = 8 * 1024 * 1024
_JSON: Final = "application/sparql-results+json"
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_WHOLE: Final = f"{_XSD}integer"
_NUMBERS: Final = frozenset(f"{_XSD}{name}" for name in ("decimal", "double", "float"))

# Short, because every tool has it: the instructions of the server describe it.
_TABLE: dict[str, Any] = {
    "columns": {"type": "array", "items": {"type": "string"}},
    "rows": {"type": "array", "items": {"type": "array"}},
    "total": {"type": "integer"},
    "truncated": {"type": "boolean"},
}
TABLE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": _TABLE,
    "required": [*_TABLE],
}
# The answer to any query.
ANY: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        **_TABLE,
        "boolean": {"type": "boolean", "description": "The answer to an ASK"},
        "turtle": {"type": "string", "description": "The triples of a CONSTRUCT"},
        "warning": {"type": "string"},
    },
}


def result(answer: ApiResponse, most_rows: int) -> CallToolResult:
    """Return an answer with at most ``most_rows`` rows; raises ApiResponseError."""
    content = _content(answer, most_rows)
    if answer.warning:
        content["warning"] = answer.warning
    text = orjson.dumps(content).decode()
    return CallToolResult(content=[TextContent(text=text)], structured_content=content)


def error_result(error: ApiResponseError) -> CallToolResult:
    """Return an error: the text with its code, and code, status and detail."""
    return CallToolResult(
        content=[TextContent(text=str(error))],
        structured_content=error.members(),
        is_error=True,
    )


def _content(answer: ApiResponse, most_rows: int) -> dict[str, Any]:
    if answer.media_type != _JSON:
        return {"turtle": _within(answer.body, MOST_BYTES).decode()}
    document = orjson.loads(_within(answer.body, _MOST_COUNTED))
    if "boolean" in document:
        return {"boolean": document["boolean"]}
    columns = document["head"]["vars"]
    found = document["results"]["bindings"]
    rows = _rows(columns, found[:most_rows])
    total = len(found)
    return {
        "columns": columns,
        "rows": rows,
        "total": total,
        "truncated": len(rows) < total,
    }


def _within(body: bytes, most: int) -> bytes:
    if len(body) > most:
        detail = (
            f"the answer has {len(body)} bytes, at most {most} fit; add a LIMIT, or "
            "select less"
        )
        raise ApiResponseError("answer-too-large", 413, detail)
    return body


def _rows(
    columns: Sequence[str], found: Sequence[Mapping[str, Any]]
) -> list[list[Any]]:
    rows, size = list[list[Any]](), 0
    for binding in found:
        row = [_value(binding[name]) if name in binding else None for name in columns]
        size += len(orjson.dumps(row, default=str))
        if size > MOST_BYTES:
            break
        rows.append(row)
    return rows


def _value(term: Mapping[str, str]) -> Any:
    """A number or truth value where JSON has it, else the text."""
    text, datatype = term["value"], term.get("datatype", "")
    try:
        # Longer integers are not exact in many readers of JSON.
        if datatype == _WHOLE and len(text) <= 15:
            return int(text)
        if datatype in _NUMBERS and math.isfinite(number := float(text)):
            return number
    except ValueError:
        return text
    if datatype == f"{_XSD}boolean" and text in ("true", "false"):
        return text == "true"
    return text
