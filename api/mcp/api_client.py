"""Requests to SuperTwin's own HTTP API, and its errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import orjson

from core.errors import PROBLEM_TYPES, UserError

_UNREACHABLE = "api-away"


@dataclass(frozen=True)
class ApiResponse:
    """The body of an answer; ``warning`` is what a query warns of."""

    media_type: str
    body: bytes
    warning: str = ""


class ApiResponseError(Exception):
    """The API answers with an error; ``status`` is 0 if it does not answer."""

    def __init__(self, code: str, status: int, detail: str) -> None:
        super().__init__(f"{detail} [{code}]")
        self.code, self.status, self.detail = code, status, detail

    def members(self) -> dict[str, Any]:
        """Return code, status and detail."""
        return {"code": self.code, "status": self.status, "detail": self.detail}


async def get(
    client: httpx.AsyncClient,
    path: str,
    accept: str,
    parameters: Mapping[str, str] | None = None,
) -> ApiResponse:
    """Read a path; raises ApiResponseError."""
    try:
        request = client.build_request(
            "GET", path, params=parameters or None, headers={"Accept": accept}
        )
    except httpx.InvalidURL as error:
        detail = f"the parameters do not fit into a URL ({error}); send shorter ones"
        raise ApiResponseError("bad-parameter", 400, detail) from None
    return await _send(client, request)


async def post(
    client: httpx.AsyncClient, path: str, accept: str, media_type: str, body: str
) -> ApiResponse:
    """Send a text; raises ApiResponseError."""
    headers = {"Accept": accept, "Content-Type": media_type}
    request = client.build_request("POST", path, content=body, headers=headers)
    return await _send(client, request)


async def _send(client: httpx.AsyncClient, request: httpx.Request) -> ApiResponse:
    try:
        answer = await client.send(request)
    except UserError as error:  # the token cannot be read
        raise ApiResponseError(error.code, error.status, str(error)) from None
    except httpx.TransportError as error:
        detail = f"SuperTwin at {client.base_url} does not answer ({error})"
        raise ApiResponseError(_UNREACHABLE, 0, detail) from None
    if not answer.is_success:
        raise _error(answer)
    media_type = answer.headers.get("content-type", "").partition(";")[0]
    warning = answer.headers.get("supertwin-warning", "")
    return ApiResponse(media_type, answer.content, warning)


def _error(answer: httpx.Response) -> ApiResponseError:
    try:
        problem = orjson.loads(answer.content)
        code = problem["type"].removeprefix(PROBLEM_TYPES)
        return ApiResponseError(code, answer.status_code, problem["detail"])
    except (ValueError, TypeError, KeyError, AttributeError):
        detail = f"SuperTwin answered with {answer.status_code}"
        return ApiResponseError("api-refused", answer.status_code, detail)
