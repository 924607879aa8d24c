"""Reads request bodies up to a maximum size."""

from typing import Any, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect

from api.connection import ClientGoneError
from core.errors import ApiError

Model = TypeVar("Model", bound=BaseModel)


async def read_body(request: Request, most: int, what: str) -> bytes:
    """Return the body; ``what`` names it in the refusal (413) if it is too long."""
    _refuse_compressed(request, what)
    if too_long(request, most):
        raise too_large(most, what)
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                raise too_large(most, what)
    except ClientDisconnect:
        raise ClientGoneError from None
    return bytes(body)


def _refuse_compressed(request: Request, what: str) -> None:
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.strip().lower() not in ("", "identity"):
        detail = f"Content-Encoding: {encoding[:40]}; send the {what} uncompressed"
        headers = {"Accept-Encoding": "identity"}
        raise _unsupported(detail, headers)


def too_long(request: Request, most: int) -> bool:
    """Whether a request announces a longer body."""
    length = request.headers.get("content-length", "")
    return length.isdecimal() and int(length[:20]) > most


async def read_model(
    request: Request, most: int, what: str, model: type[Model]
) -> Model:
    """Return the body as a model; refuses it as `read_body` does, or with 422."""
    body = await read_body(request, most, what)
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        found = [{**one, "loc": ("body", *one["loc"])} for one in error.errors()]
        raise RequestValidationError(found) from None


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a body without `$defs`, which a route cannot use."""
    schema = model.model_json_schema()
    defined = schema.pop("$defs", {})
    found: dict[str, Any] = _inlined(schema, defined)
    return found


def _inlined(schema: Any, defined: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inlined(each, defined) for each in schema]
    if not isinstance(schema, dict):
        return schema
    named = schema.get("$ref", "").rpartition("/")[2]
    whole = {**defined.get(named, {}), **schema}
    kept = {key: value for key, value in whole.items() if key != "$ref"}
    return {key: _inlined(value, defined) for key, value in kept.items()}


def too_large(most: int, what: str) -> ApiError:
    """Return the error for a body that is too long."""
    detail = f"a {what} may have {most} bytes; send a shorter one"
    # The rest of the body is not read.
    headers = {"Connection": "close"}
    return ApiError(
        413, "body-too-large", "The body is too large", detail, headers=headers
    )


def unsupported_type(request: Request, *accepted: str) -> ApiError:
    """Return the error for a body of another media type than the accepted ones."""
    sent = request.headers.get("content-type", "")
    detail = f"{sent[:100]!r} sent; send {' or '.join(accepted)}, in UTF-8"
    return _unsupported(detail, {"Accept-Post": ", ".join(accepted)})


def _unsupported(detail: str, headers: dict[str, str]) -> ApiError:
    return ApiError(
        415,
        "unsupported-media-type",
        "Unsupported type of body",
        detail,
        headers=headers,
    )


def body_type(request: Request) -> str:
    """Return the media type of the body, without its parameters."""
    sent = request.headers.get("content-type", "")
    return sent.partition(";")[0].strip().lower()
