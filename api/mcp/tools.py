"""Each saved query as a tool, and a tool for any SPARQL query."""

from collections.abc import Mapping
from typing import Any, Final

import httpx
import orjson
from mcp_types import CallToolResult, Tool, ToolAnnotations

from api.mcp.api_client import ApiResponse, ApiResponseError, get, post
from api.mcp.results import ANY, MOST_ROWS, TABLE, USUAL_ROWS, result
from queries.added import is_name
from queries.errors import UnknownQueryError

SPARQL: Final = "sparql"
ROWS: Final = "max_rows"
# Characters of all arguments together.
_LONGEST: Final = 2 * 1024 * 1024
_ACCEPT: Final = "application/sparql-results+json, text/turtle"
_QUERY_TYPE: Final = "application/sparql-query"
_UNKNOWN: Final = UnknownQueryError.code
_JSON: Final = "application/json"
_TYPES: Final = {"integer": "integer", "number": "number", "boolean": "boolean"}
# Both are short, because every tool has them.
_READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_MOST: Final = {
    "type": "integer",
    "minimum": 1,
    "maximum": MOST_ROWS,
    "default": USUAL_ROWS,
}
_SPARQL_TOOL: Final = Tool(
    name=SPARQL,
    title="Run a SPARQL query",
    description="Run any SPARQL 1.1 query, read-only, on the twins of all hosts. The "
    "ontology is at the prefix st: <https://w3id.org/supertwin/ns#>; its modules are "
    "resources. Prefer a tool of a saved query if one answers the question.",
    input_schema={
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "SELECT, ASK, CONSTRUCT or DESCRIBE; no SERVICE",
            },
            ROWS: _MOST,
        },
        "required": ["query"],
        "additionalProperties": False,
    },
    output_schema=ANY,
    annotations=_READS,
)


async def list_tools(client: httpx.AsyncClient) -> list[Tool]:
    """Return all tools; raises ApiResponseError."""
    listed = orjson.loads((await get(client, "/queries", _JSON)).body)
    return [_SPARQL_TOOL, *map(_tool, listed)]


async def call_tool(
    client: httpx.AsyncClient, name: str, arguments: Mapping[str, Any]
) -> CallToolResult:
    """Return the answer of a tool; raises ApiResponseError."""
    most = _most_rows(arguments.get(ROWS, USUAL_ROWS))
    given = {key: value for key, value in arguments.items() if key != ROWS}
    texts = {key: _text(key, one) for key, one in given.items() if one is not None}
    if sum(map(len, texts.values())) > _LONGEST:
        detail = (
            f"the arguments have more than {_LONGEST} characters: send shorter ones"
        )
        raise ApiResponseError("body-too-large", 413, detail)
    if name == SPARQL:
        return result(await _sparql(client, texts), most)
    return result(await _saved(client, name, texts), most)


def tool_name(query: str) -> str:
    """Return the tool of a saved query; the names of queries have no underscore."""
    return query.replace("/", "_")


async def _saved(
    client: httpx.AsyncClient, tool: str, texts: Mapping[str, str]
) -> ApiResponse:
    query = tool.replace("_", "/", 1)
    unknown = ApiResponseError(
        _UNKNOWN, 404, f"no tool {tool[:100]!r}: list the tools again"
    )
    if not is_name(query):
        raise unknown
    try:
        return await get(client, f"/queries/{query}", _ACCEPT, texts)
    except ApiResponseError as error:
        raise unknown if error.code == _UNKNOWN else error from None


async def _sparql(client: httpx.AsyncClient, texts: Mapping[str, str]) -> ApiResponse:
    if unknown := [name for name in texts if name != "query"]:
        detail = f"sparql has no parameter {unknown[0][:60]!r}; it has: query, {ROWS}"
        raise ApiResponseError("bad-parameter", 400, detail)
    if "query" not in texts:
        detail = "parameter query: none given, expected a SPARQL query"
        raise ApiResponseError("bad-parameter", 400, detail)
    return await post(client, "/sparql", _ACCEPT, _QUERY_TYPE, texts["query"])


def _tool(listed: Mapping[str, Any]) -> Tool:
    params = {name: _schema(param) for name, param in listed["params"].items()}
    return Tool(
        name=tool_name(listed["name"]),
        title=listed["title"],
        description=_description(listed),
        input_schema={
            "type": "object",
            "properties": {**params, ROWS: _MOST},
            "additionalProperties": False,
        },
        output_schema=TABLE if listed["returns"] else ANY,
        annotations=_READS,
    )


def _description(listed: Mapping[str, Any]) -> str:
    about = " ".join(listed["description"].split())
    columns = ", ".join(listed["returns"])
    return f"{about} Columns: {columns}." if columns else about


def _schema(param: Mapping[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _TYPES.get(param["type"], "string")}
    if param["type"] == "iri":
        schema["format"] = "iri"
    kept = ("default", "enum", "description")
    return schema | {key: param[key] for key in kept if param.get(key) is not None}


def _text(name: str, value: Any) -> str:
    """Return a value as the parameter of a URL."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    detail = f"parameter {name[:100]}: expected a single value, not a list or object"
    raise ApiResponseError("bad-parameter", 400, detail)


def _most_rows(value: Any) -> int:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if is_whole and 1 <= value <= MOST_ROWS:
        return int(value)
    detail = f"{ROWS} must be a whole number from 1 to {MOST_ROWS}"
    raise ApiResponseError("bad-parameter", 400, detail)
