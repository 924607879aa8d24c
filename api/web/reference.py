"""``/api``: the HTTP interface as pages and as the OpenAPI document."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import JSONResponse

from api.access.scoped import scoped
from api.query_paths import with_query_paths
from api.services import Use
from api.web import pages
from api.web.markdown import paragraphs

router = APIRouter(include_in_schema=False)

Schema = Mapping[str, Any]
# Every operation has these, so the page states them once.
_COMMON = ("4XX", "5XX")


@dataclass(frozen=True)
class ParameterDoc:
    """A parameter, or a member of a body; ``place`` is query, path, header or body."""

    name: str
    place: str
    kind: str
    description: str
    required: bool
    default: str


@dataclass(frozen=True)
class ResponseDoc:
    """The meaning of a status; ``types`` are the media types of its answer."""

    status: str
    description: str
    types: tuple[str, ...]


@dataclass(frozen=True)
class Operation:
    """One method of one path."""

    method: str
    path: str
    summary: str
    description: str
    fields: tuple[ParameterDoc, ...]
    body_types: tuple[str, ...]
    answers: tuple[ResponseDoc, ...]

    @property
    def anchor(self) -> str:
        """The anchor that links to it."""
        return f"{self.method.lower()}-{self.path}"


@router.get("/api", response_class=Response)
@scoped
async def reference(request: Request, services: Use) -> Response:
    """Every path with its parameters and answers, by subject."""
    about, subjects = _read(request.app)
    return pages.page(
        "api.html",
        request,
        services.settings.base,
        title="HTTP interface",
        about=paragraphs(about),
        subjects=subjects,
    )


@router.get("/api/docs", response_class=Response)
@scoped
async def swagger(request: Request, services: Use) -> Response:
    """The same as a page of Swagger UI, which also sends requests."""
    return pages.page(
        "swagger.html", request, services.settings.base, title="Swagger UI"
    )


@router.get("/openapi.json")
@scoped
async def document(request: Request, services: Use) -> JSONResponse:
    """The OpenAPI document, whose paths are below those of a proxy."""
    root = request.scope.get("root_path", "").rstrip("/")
    servers = {"servers": [{"url": root}]} if root else {}
    made = with_query_paths(request.app.openapi(), services.queries.all().values())
    return JSONResponse({**made, **servers})


def _read(app: FastAPI) -> tuple[str, dict[str, list[Operation]]]:
    """Return the description, and the operations by subject, in the order of paths."""
    document = app.openapi()
    found: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method, one in methods.items():
            subject = one.get("tags", ["Others"])[0]
            found.setdefault(subject, []).append(
                _operation(document, method.upper(), path, one)
            )
    return document["info"]["description"], found


def _operation(document: Schema, method: str, path: str, one: Schema) -> Operation:
    content = one.get("requestBody", {}).get("content", {})
    parameters = (_parameter(each) for each in one.get("parameters", ()))
    members = (
        field
        for media_type in content.values()
        for field in _members(document, media_type.get("schema", {}))
    )
    return Operation(
        method=method,
        path=path,
        summary=one.get("summary", ""),
        description=one.get("description", ""),
        fields=tuple(dict.fromkeys((*parameters, *members))),
        body_types=tuple(content),
        answers=tuple(_answers(one.get("responses", {}))),
    )


def _parameter(one: Schema) -> ParameterDoc:
    schema = one.get("schema", {})
    return ParameterDoc(
        name=one["name"],
        place=one["in"],
        kind=_kind(schema),
        description=one.get("description") or schema.get("description", ""),
        required=one.get("required", False),
        default=_default(schema),
    )


def _members(document: Schema, schema: Schema) -> Iterator[ParameterDoc]:
    name = schema.get("$ref", "").rpartition("/")[2]
    found = document.get("components", {}).get("schemas", {}).get(name, schema)
    required = found.get("required", ())
    for member, one in found.get("properties", {}).items():
        about = one.get("description", "")
        default = _default(one)
        yield ParameterDoc(
            member, "body", _kind(one), about, member in required, default
        )


def _answers(responses: Schema) -> Iterator[ResponseDoc]:
    for status, one in responses.items():
        if status not in _COMMON:
            yield ResponseDoc(
                status, one.get("description", ""), tuple(one.get("content", ()))
            )


def _kind(schema: Schema) -> str:
    """Return the type in a few words, such as ``list of string``."""
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        kinds = (_kind(one) for one in schema["anyOf"] if one.get("type") != "null")
        return " | ".join(dict.fromkeys(kinds))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("type") or schema.get("$ref", "any").rpartition("/")[2])


def _default(schema: Schema) -> str:
    value = schema.get("default")
    return "" if value in (None, "", [], {}) else str(value)
