"""Hosts and modules of the ontology as resources; each IRI is the resource's URI."""

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

import httpx
import orjson
from mcp_types import Resource, ResourceTemplate, TextResourceContents

from api.mcp.api_client import ApiResponseError, get
from api.mcp.results import MOST_BYTES
from ontology.published import module_files

_JSON_LD: Final = "application/ld+json"
_TURTLE: Final = "text/turtle"
_RESULTS: Final = "application/sparql-results+json"
# What may be read, below the base of IRIs.
_TWIN, _ONTOLOGY = "/twin/", "/ontology/"


async def list_resources(client: httpx.AsyncClient, base: str) -> list[Resource]:
    """Return the modules of the ontology, then the hosts."""
    answer = await get(client, "/queries/inventory/names", _RESULTS)
    rows = orjson.loads(answer.body)["results"]["bindings"]
    return [*_modules(base), *map(_host, rows)]


def list_templates(base: str) -> list[ResourceTemplate]:
    """Return the forms of the URIs of components and telemetry."""
    return [
        ResourceTemplate(
            name="component",
            title="A component of a host",
            uri_template=f"{base}{_TWIN}{{host}}/{{kind}}/{{id}}",
            description="Such as thread/0, core/core-0 or numa/1; the description of a "
            "host lists its components",
            mime_type=_JSON_LD,
        ),
        ResourceTemplate(
            name="telemetry",
            title="A series of a host, with its last value",
            uri_template=f"{base}{_TWIN}{{host}}/telemetry/{{metric}}/{{instance}}",
            description="The metric as in PCP; ~ for a metric without instances",
            mime_type=_JSON_LD,
        ),
    ]


async def read_resource(
    client: httpx.AsyncClient, base: str, uri: str
) -> TextResourceContents:
    """Return a resource as JSON-LD or Turtle; raises ApiResponseError."""
    path = _path(base, uri)
    accept = _TURTLE if path.startswith(_ONTOLOGY) else _JSON_LD
    answer = await get(client, path, accept)
    if len(answer.body) > MOST_BYTES:
        detail = (
            f"{uri[:200]} has {len(answer.body)} bytes, at most {MOST_BYTES} fit; "
            "ask for a part of it, or by sparql"
        )
        raise ApiResponseError("answer-too-large", 413, detail)
    text = answer.body.decode()
    return TextResourceContents(uri=uri, mime_type=answer.media_type, text=text)


def _path(base: str, uri: str) -> str:
    """Return the path of a resource.

    Refuses ``.`` and ``..``: httpx would resolve them, and leave both folders.
    """
    path = uri.removeprefix(base)
    segments = unquote(path).split("/")
    is_ours = path != uri and path.startswith((_TWIN, _ONTOLOGY))
    if not is_ours or {".", ".."} & {*segments} or {"?", "#"} & {*path}:
        detail = (
            f"no resource {uri[:200]!r}: URIs begin with {base}{_TWIN} or "
            f"{base}{_ONTOLOGY}"
        )
        raise ApiResponseError("unknown-path", 404, detail)
    return path


def _modules(base: str) -> Iterator[Resource]:
    for name in module_files():
        yield Resource(
            name=f"ontology-{name}",
            title=f"Module {name} of the ontology",
            uri=f"{base}{_ONTOLOGY}{name}",
            mime_type=_TURTLE,
        )


def _host(row: dict[str, Any]) -> Resource:
    host = row["host"]["value"]
    return Resource(
        name=f"host-{host}",
        title=f"Host {host}",
        uri=row["node"]["value"],
        mime_type=_JSON_LD,
    )
