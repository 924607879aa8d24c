"""Admin requests: tokens, hosts, and the removal of runs and benchmarks."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import orjson
from anyio import to_thread
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api import formats
from api.access import audit, tokens
from api.access.roles import ANSWERS, requires
from api.access.token_scope import KINDS, read_scope
from api.access.tokens import AccessToken, TokenRole, as_utc
from api.body import read_model, schema_of
from api.failures import answered
from api.observations.parameters import RunId
from api.paging import Paged
from api.services import Services, Use

router = APIRouter(tags=["Administration"], dependencies=[requires(TokenRole.ADMIN)])

T = TypeVar("T")
Name = Annotated[str, Path(max_length=200)]

_MOST_BYTES = 8192
_NO_STORE = {"Cache-Control": "no-store"}


class NewToken(BaseModel):
    """A token to make."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(max_length=200, description="Name of the token")
    role: TokenRole = Field(description="reader, operator or admin")
    expires: str = Field(
        default="", max_length=40, description="12h, 30d, 2w or 1y; never without it"
    )
    hosts: list[str] = Field(default=[], description="Limit it to these hosts")
    jobs: list[str] = Field(default=[], description="Limit it to these jobs")
    users: list[str] = Field(default=[], description="Limit it to these users")
    metrics: list[str] = Field(
        default=[], description="Limit it to these metrics, or prefixes such as `mem.*`"
    )


class AddedHost(BaseModel):
    """A machine to probe and load."""

    model_config = ConfigDict(extra="forbid")

    address: str = Field(
        max_length=500, description="ssh://[USER@]HOST[:PORT], or `local`"
    )
    alias: str = Field(default="", max_length=300, description="Another name")
    host: str = Field(
        default="",
        max_length=300,
        description="Name in the twin; default: from the address, or the machine's own",
    )
    partition: str = Field(
        default="", max_length=300, description="Set of hosts that should be alike"
    )
    sudo: bool = Field(default=True, description="Try sudo on the machine")
    confirm: bool = Field(
        default=False, description="Replace another machine of that name"
    )


def _takes(model: type[BaseModel]) -> dict[str, Any]:
    schema = {"schema": schema_of(model)}
    return {
        "status_code": 201,
        "response_class": Response,
        "responses": {**ANSWERS, 201: {"content": {formats.JSON: {}}}},
        "openapi_extra": {
            "requestBody": {"required": True, "content": {formats.JSON: schema}}
        },
    }


_DELETED: dict[str, Any] = {
    "status_code": 204,
    "response_class": Response,
    "responses": {**ANSWERS, 404: {"description": "Unknown token"}},
}


@router.get("/tokens", summary="The tokens", responses=ANSWERS)
async def list_tokens(request: Request, services: Use, page: Paged) -> Response:
    """Tokens with role, scope, expiry and last use, without secrets. Role: admin."""
    home = services.settings.home
    found = await _done(lambda: [_shown(one) for one in tokens.all_tokens(home)])
    body = orjson.dumps(page.of(found))
    made = Response(body, headers=_NO_STORE, media_type=formats.JSON)
    page.link(made, request, is_followed=page.is_followed(len(found)))
    return made


@router.post("/tokens", summary="Make a token", **_takes(NewToken))
async def add_token(request: Request, services: Use) -> Response:
    """Only this answer contains the token. Role: admin."""
    new = await read_model(request, _MOST_BYTES, "token", NewToken)

    def add() -> str:
        until = tokens.expiry(new.expires) if new.expires else None
        scope = read_scope({kind: getattr(new, kind) for kind in KINDS})
        home = services.settings.home
        return tokens.add_token(home, new.name, new.role, until, scope)

    body = orjson.dumps({"name": new.name, "role": new.role, "token": await _done(add)})
    audit.record(request, "token.added", f"{new.name} ({new.role})")
    return Response(body, 201, headers=_NO_STORE, media_type=formats.JSON)


@router.delete("/tokens/{name}", summary="Revoke a token", **_DELETED)
async def revoke_token(request: Request, services: Use, name: Name) -> Response:
    """The token is refused from the next request on. Role: admin."""
    home = services.settings.home
    await _done(lambda: tokens.revoke_token(home, name))
    audit.record(request, "token.revoked", name)
    return Response(status_code=204)


@router.post("/twin", summary="Add a host to the twin", **_takes(AddedHost))
async def add_host(request: Request, services: Use) -> Response:
    """Probe a machine and load its twin and plan, as `supertwin add`. Role: admin.

    The answer comes when all is done; `notes` has the lines of the command.
    """
    from ingest import add_host
    from ingest.loading import read_twin
    from sampling.monitoring import monitoring

    new = await read_model(request, _MOST_BYTES, "host", AddedHost)
    notes: list[str] = []
    settings = services.settings

    def work() -> dict[str, Any]:
        new_host = add_host.NewHost(**new.model_dump())
        host = add_host.add_host(settings, monitoring(settings), new_host, notes.append)
        known = read_twin(settings, host)
        node = str(services.iris.host(host))
        gaps = known.gaps if known else {}
        return {"host": host, "node": node, "gaps": gaps, "notes": notes}

    added = await _done(work)
    audit.record(request, "host.added", added["host"])
    headers = {"Location": f"/twin/{quote(added['host'])}"}
    return Response(orjson.dumps(added), 201, headers=headers, media_type=formats.JSON)


@router.delete("/twin/{host}", summary="Remove a host from the twin", **_DELETED)
async def remove_host(
    request: Request,
    services: Use,
    host: Name,
    history: Annotated[bool, Query(description="Also remove its history")] = False,
) -> Response:
    """Removes its twin and plans; its history stays by default. Role: admin."""
    from sampling.host_removal import remove

    def work() -> None:
        remove(services.settings, host, history, lambda _: None)

    await _done(work)
    audit.record(request, "host.removed", host)
    return Response(status_code=204)


@router.delete("/observation/{id}", summary="Forget a run", **_DELETED)
async def forget_run(request: Request, services: Use, id_: RunId) -> Response:
    """Removes record, program and output of a run or a group. Role: admin."""
    return await _forget(request, services, id_)


@router.delete("/benchmark/{id}", summary="Forget a benchmark", **_DELETED)
async def forget_benchmark(request: Request, services: Use, id_: RunId) -> Response:
    """Removes a benchmark with its results and its runs. Role: admin."""
    return await _forget(request, services, id_)


async def _forget(request: Request, services: Services, id_: str) -> Response:
    from benchmarks.removal import forget
    from core.stores.datasets import dataset

    def work() -> list[str]:
        with dataset(services.settings, "twin") as twin:
            return forget(services.settings, twin, [id_])

    for name in await _done(work):
        audit.record(request, "run.forgotten", name)
    return Response(status_code=204)


async def _done(work: Callable[[], T]) -> T:
    """Run it in a thread; its exceptions become ApiErrors."""
    with answered():
        return await to_thread.run_sync(work)


def _shown(token: AccessToken) -> dict[str, Any]:
    return {
        "name": token.name,
        "role": token.role,
        "scope": token.scope.kinds(),
        "made": as_utc(token.made),
        "expires": None if token.expires is None else as_utc(token.expires),
    }
