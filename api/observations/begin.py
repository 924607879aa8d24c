"""``POST /observations``: turns a request into a session that is ready to run."""

import asyncio
from collections.abc import Callable
from functools import cache, partial
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request, Response

from api import formats
from api.access import audit
from api.access.authenticator import Caller
from api.access.roles import ANSWERS, requires
from api.access.tokens import TokenRole
from api.body import read_model
from api.connection import ClientGoneError, while_connected
from api.failures import answered
from api.observations.new import SCHEMA, ChosenCpus, NewObservation, parse_cpus
from api.observations.permissions import check_launch
from api.observations.serialise import refused, session_document
from api.services import Services, Use
from core.stores.datasets import dataset
from pinning.placing import PinningRequest as Place
from pinning.placing import place
from queries.hosts import check_host

if TYPE_CHECKING:
    from observations.record import RunRequest
    from observations.session.run_manager import RunManager
    from observations.session.run_session import RunSession

router = APIRouter(tags=["Observations"])

T = TypeVar("T")

_OPERATOR = requires(TokenRole.OPERATOR)
_MOST_BYTES = 4 * 1024 * 1024
# How many requests may wait for CPUs; they use threads of their own.
_MOST_WAITING = 200
_BEGUN: dict[int | str, dict[str, Any]] = {
    **ANSWERS,
    201: {
        "description": "It runs; `Location` is the address of its output. With "
        "`attended`, the client runs `program`: `python3 program held`",
        "content": {formats.JSON: {}},
    },
    404: {"description": "An unknown host"},
    409: {"description": "Another observation has these CPUs, or no such placement"},
}


@router.post(
    "/observations",
    summary="Run a command under observation",
    status_code=201,
    response_class=Response,
    responses=_BEGUN,
    openapi_extra={"requestBody": SCHEMA},
)
async def begin(
    request: Request, services: Use, caller: Caller = _OPERATOR
) -> Response:
    """The command is pinned, sampled and recorded. Role: operator."""
    new = await read_model(request, _MOST_BYTES, "observation", NewObservation)
    host = new.host or services.settings.host
    # A client may run the command here, or on a host that it can reach; else we run it.
    new.attended &= new.own_way or host == services.settings.host
    launch = await to_thread.run_sync(
        check_launch, services.settings, caller, new, host
    )
    await check_host(services, host)
    if new.figures:
        new.roles += await _roles_of(services, host, new.figures)
    chosen = await _placed(services, new, host)
    with answered():
        run_request = new.run_request(host, chosen, caller.name, launch)
    in_passes = bool(new.passes or new.events_per_pass)
    _check_counting(new, in_passes)
    if in_passes:
        run_request = await _in_passes(services, new, run_request)
    manager = await services.runs.manager()
    session = await _begin_session(request, manager, run_request, wait=new.wait)
    if not new.attended:
        manager.launch(session)
    audit.record(request, "run.launched", f"{host} {session.id}")
    return _answer(services, session, chosen)


async def _roles_of(services: Services, host: str, figures: list[str]) -> list[str]:
    """Return the roles that figures follow from; raises ApiError."""
    # Imported here because other requests need no expressions.
    from observations.session.roles import roles_of_figures

    def read() -> list[str]:
        with dataset(services.settings, "twin") as twin:
            return roles_of_figures(twin, host, figures)

    return await _in_thread(read)


def _check_counting(new: NewObservation, in_passes: bool) -> None:
    """Refuse passes or shared counters together, or without events."""
    if new.multiplex and in_passes:
        raise refused("multiplex and passes are alternatives: give one")
    if (new.multiplex or in_passes) and not (new.roles or new.events):
        raise refused("multiplex and passes need a role or event: name one")


async def _in_passes(
    services: Services, new: NewObservation, run_request: "RunRequest"
) -> "RunRequest":
    """Return the request with the passes that it needs; raises ApiError."""
    # Imported here because other requests need nothing that counts.
    from observations.session.passes import in_passes

    most = new.events_per_pass
    return await _in_thread(lambda: in_passes(services.settings, run_request, most))


async def _placed(services: Services, new: NewObservation, host: str) -> ChosenCpus:
    """Return the CPUs and how they were chosen; raises ApiError."""
    if not (new.pin or new.threads):
        if not new.cpus:
            return ChosenCpus(())
        return ChosenCpus(await _in_thread(lambda: parse_cpus(new.cpus)))
    if new.cpus:
        detail = "cpus names CPUs, pin chooses them: give one"
        raise refused(detail)
    found, _ = await place(services, Place(host, new.threads, new.pin))
    queries = tuple(one["answer"] for one in found["queries"])
    return ChosenCpus(tuple(found["cpus"]), found["policy"], found["reason"], queries)


def _answer(services: Services, session: "RunSession", chosen: ChosenCpus) -> Response:
    """Answer with the session, and with its program if the client runs that."""
    program = session.program() if session.run_request.attended else None
    answer = {
        **session_document(services.iris, session),
        "cpus": chosen.cpus,
        "reason": chosen.reason,
        "program": program and program.decode(),
    }
    return Response(
        orjson.dumps(answer),
        201,
        headers={"Location": f"/observations/{session.id}"},
        media_type=formats.JSON,
    )


async def _begin_session(
    request: Request, manager: "RunManager", run_request: "RunRequest", *, wait: bool
) -> "RunSession":
    """Return a session that is ready to run; raises ApiError."""
    client_waits = True

    def keep_waiting() -> bool:
        return client_waits

    work = _in_thread(
        lambda: manager.begin(run_request, keep_waiting if wait else None),
        _queue() if wait else None,
    )
    task = asyncio.create_task(work)
    try:
        # Not cancelled with its client: the session may begin all the same.
        session = await while_connected(request, asyncio.shield(task))
        if run_request.attended and await request.is_disconnected():
            raise ClientGoneError
    except BaseException:
        client_waits = False
        task.add_done_callback(partial(_drop_unwanted, manager))
        raise
    return session


def _drop_unwanted(manager: "RunManager", task: "asyncio.Task[RunSession]") -> None:
    """Drop a session that was begun for a client that has disconnected."""
    if not task.cancelled() and task.exception() is None:
        Thread(target=manager.drop, args=(task.result(),), daemon=True).start()


@cache
def _queue() -> CapacityLimiter:
    return CapacityLimiter(_MOST_WAITING)


async def _in_thread(work: Callable[[], T], queue: CapacityLimiter | None = None) -> T:
    """Do the work in a thread; its exceptions become ApiErrors.

    Work in a queue is abandoned when cancelled; ``keep_waiting`` then ends it.
    """
    gives_up = queue is not None
    with answered():
        return await to_thread.run_sync(work, limiter=queue, abandon_on_cancel=gives_up)
