"""What only an admin may do over HTTP: tokens, and removing hosts and runs."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import orjson
from anyio import to_thread
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api import formats
from api.access import audit
from api.access.roles import ANSWERS, requires
from api.body import read_model
from api.failures import answered
from api.observations.parameters import RunId
from api.problems import ApiError
from api.services import Use
from queries.errors import UnknownHostError
from supertwin.access import tokens
from supertwin.access.tokens import Role, Token, moment

router = APIRouter(tags=["Administration"], dependencies=[requires(Role.ADMIN)])

T = TypeVar("T")
Name = Annotated[str, Path(max_length=200)]

_MOST_BYTES = 8192
_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "None such is known"}}
_NO_STORE = {"Cache-Control": "no-store"}


class NewToken(BaseModel):
    """A token that is to be made."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(max_length=200, description="What it is called")
    role: Role = Field(description="reader, operator or admin")
    expires: str = Field(
        default="", max_length=40, description="12h, 30d, 2w or 1y; else never"
    )


_BODY = {
    "required": True,
    "content": {"application/json": {"schema": NewToken.model_json_schema()}},
}


@router.get("/tokens", summary="The tokens", responses=ANSWERS)
async def list_tokens(services: Use) -> Response:
    """Whose, for what, until when; never the secret. Role: admin."""
    home = services.settings.home
    found = await _done(lambda: [_shown(one) for one in tokens.all_tokens(home)])
    return Response(orjson.dumps(found), headers=_NO_STORE, media_type=formats.JSON)


@router.post(
    "/tokens",
    summary="Make a token",
    status_code=201,
    response_class=Response,
    responses={**ANSWERS, 201: {"content": {formats.JSON: {}}}},
    openapi_extra={"requestBody": _BODY},
)
async def add_token(request: Request, services: Use) -> Response:
    """The answer holds the token, this once. Role: admin."""
    new = await read_model(request, _MOST_BYTES, "token", NewToken)

    def add() -> str:
        until = tokens.expiry(new.expires) if new.expires else None
        return tokens.add_token(services.settings.home, new.name, new.role, until)

    body = orjson.dumps({"name": new.name, "role": new.role, "token": await _done(add)})
    audit.record(request, "token.added", f"{new.name} ({new.role})")
    return Response(body, 201, headers=_NO_STORE, media_type=formats.JSON)


@router.delete(
    "/tokens/{name}",
    summary="Revoke a token",
    status_code=204,
    response_class=Response,
    responses={**ANSWERS, **_UNKNOWN},
)
async def revoke_token(request: Request, services: Use, name: Name) -> Response:
    """It lets nobody in from the next request on. Role: admin."""
    home = services.settings.home
    await _done(lambda: tokens.revoke_token(home, name), status=404)
    audit.record(request, "token.revoked", name)
    return Response(status_code=204)


@router.delete(
    "/twin/{host}",
    summary="Remove a host from the twin",
    status_code=204,
    response_class=Response,
    responses={**ANSWERS, **_UNKNOWN},
)
async def remove_host(
    request: Request,
    services: Use,
    host: Name,
    history: Annotated[bool, Query(description="Forget its past, too")] = False,
) -> Response:
    """Its twin and plans end; its past stays by default. Role: admin."""
    from supertwin.past import remove

    def work() -> None:
        try:
            remove(services.settings, host, history, lambda _: None)
        except UnknownHostError as error:
            raise _refused(str(error), 404) from None

    await _done(work)
    audit.record(request, "host.removed", host)
    return Response(status_code=204)


@router.delete(
    "/observation/{id_}",
    summary="Forget a run",
    status_code=204,
    response_class=Response,
    responses={**ANSWERS, **_UNKNOWN},
)
async def forget_run(request: Request, services: Use, id_: RunId) -> Response:
    """Its record, program and output, or those of a group's runs. Role: admin."""
    from supertwin.comparing import UnknownRunError
    from supertwin.forgetting import forget_runs
    from supertwin.loading import dataset

    def work() -> list[str]:
        try:
            with dataset(services.settings, "twin") as twin:
                return forget_runs(services.settings, twin, [id_])
        except UnknownRunError as error:
            raise _refused(str(error), 404) from None

    for name in await _done(work):
        audit.record(request, "run.forgotten", name)
    return Response(status_code=204)


async def _done(work: Callable[[], T], status: int = 400) -> T:
    def refused(detail: str, _: int) -> ApiError:
        return _refused(detail, status)

    with answered(refused, "not-changed", "Nothing was changed"):
        return await to_thread.run_sync(work)


def _refused(detail: str, status: int) -> ApiError:
    return ApiError(status, "refused", "Refused", detail)


def _shown(token: Token) -> dict[str, Any]:
    return {
        "name": token.name,
        "role": token.role,
        "made": moment(token.made),
        "expires": None if token.expires is None else moment(token.expires),
    }
