"""``/observations``: running observations are followed and ended over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import orjson
from anyio import to_thread
from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from api import formats
from api.access import audit
from api.access.roles import ANSWERS, requires
from api.access.tokens import TokenRole
from api.body import read_body
from api.negotiation import negotiate
from api.observations.live_page import live_page
from api.observations.serialise import not_running, recorded, refused, session_document
from api.paging import Paged
from api.parameters import TIMES
from api.services import Services, Use
from observations.errors import RunnerEventError

if TYPE_CHECKING:
    from observations.launch import RunnerEvent
    from observations.session.run_manager import RunManager
    from observations.session.run_session import RunSession

router = APIRouter(tags=["Observations"])

T = TypeVar("T")
Id = Annotated[str, Path(alias="id", max_length=100)]

STREAM = "text/event-stream"
_WHAT = "an observation is served as JSON and HTML"
_MAX_REPORT_BYTES = 16 * 1024 * 1024
_OPERATOR = requires(TokenRole.OPERATOR)
_LOOK_S = 0.02
_HEARTBEAT_S = 8.0
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
    "X-Content-Type-Options": "nosniff",
}


@router.get(
    "/observations/running",
    summary="Running and recent observations",
)
async def running(request: Request, services: Use, page: Paged) -> Response:
    """Each with its state: running, or over; queries find recorded ones."""
    manager = await services.runs.manager()
    sessions = [*manager.sessions]
    found = [session_document(services.iris, each) for each in page.of(sessions)]
    made = Response(orjson.dumps(found), media_type=formats.JSON)
    page.link(made, request, is_followed=page.is_followed(len(sessions)))
    return made


@router.get(
    "/observations/{id:run}",
    summary="A running or recent observation",
    response_class=Response,
    responses={
        200: {"content": {formats.JSON: {}, formats.HTML: {}}},
        404: {"description": "Unknown observation"},
    },
    openapi_extra={"parameters": [*TIMES]},
)
async def state(request: Request, services: Use, id_: Id) -> Response:
    """Its state and `recorded` runs, and why it could not be run or recorded."""
    accept = request.headers.getlist("accept")
    manager = await services.runs.manager()
    if negotiate(accept, (formats.JSON, formats.HTML), _WHAT) == formats.HTML:
        return await live_page(request, services, id_, manager.find(id_))
    session = _found(manager, id_)
    known = recorded(services.iris, services.settings.home, session)
    body = orjson.dumps({**session_document(services.iris, session), "recorded": known})
    return Response(body, media_type=formats.JSON)


@router.get(
    "/observations/{id:run}/events",
    summary="Events of an observation as a live stream",
    response_class=StreamingResponse,
    responses={200: {"content": {STREAM: {}}}, 404: {"description": "None such"}},
    dependencies=[_OPERATOR],
)
async def follow(
    request: Request,
    services: Use,
    id_: Id,
    after: Annotated[int, Query(ge=0, description="Number of events to skip")] = 0,
) -> Response:
    """Server-sent events: `started`, `output`, `alive`, `over`, `ended`, `closed`.

    `Last-Event-ID` resumes a stream. Role: operator, because output may contain
    secrets.
    """
    session = _found(await services.runs.manager(), id_)
    last = request.headers.get("last-event-id", "")
    first = int(last) if last.isdecimal() and len(last) < 10 else after
    return StreamingResponse(
        _stream(services, session, first), media_type=STREAM, headers=_HEADERS
    )


@router.post(
    "/observations/{id:run}/events",
    summary="Report events of an attended observation",
    responses={**ANSWERS, 404: {"description": "Unknown observation"}},
    dependencies=[_OPERATOR],
)
async def say(
    request: Request,
    services: Use,
    id_: Id,
    first: Annotated[
        int | None,
        Query(
            ge=0,
            description="Number of events reported before; repeated ones count once",
        ),
    ] = None,
) -> Response:
    """Lines as the program printed them; none say that it runs. `cancel` says that it
    is to be ended; `program` is the next run's, where there is one. Role: operator.
    """
    session = _found(await services.runs.manager(), id_)
    reported = _events(await read_body(request, _MAX_REPORT_BYTES, "report"))

    def take() -> bytes | None:
        try:
            session.take(reported, first)
        except RunnerEventError as error:
            detail = f"{error}: send what the program printed, in order"
            raise refused(detail) from None
        return session.program()

    more = await to_thread.run_sync(take)
    answer = {"cancel": session.is_unwanted, "program": more and more.decode()}
    return Response(
        orjson.dumps({**session_document(services.iris, session), **answer}),
        media_type=formats.JSON,
    )


@router.delete(
    "/observations/{id:run}",
    summary="End an observation",
    status_code=202,
    responses={**ANSWERS, 404: {"description": "Unknown observation"}},
    dependencies=[_OPERATOR],
)
async def cancel(request: Request, services: Use, id_: Id) -> Response:
    """Ends its command, and records what was sampled until then."""
    manager = await services.runs.manager()
    session = _found(manager, id_)
    await to_thread.run_sync(session.cancel)
    audit.record(request, "run.cancelled", f"{session.host} {session.id}")
    body = orjson.dumps(session_document(services.iris, session))
    return Response(body, 202, media_type=formats.JSON)


def _found(manager: "RunManager", id_: str) -> "RunSession":
    session = manager.find(id_)
    if session is None:
        raise not_running(id_)
    return session


def _events(body: bytes) -> list["RunnerEvent"]:
    from observations.events import event_of

    try:
        return [event_of(line) for line in body.splitlines() if line.strip()]
    except RunnerEventError as error:
        raise refused(f"{error}: send what the program printed, unchanged") from None


async def _stream(
    services: Services, session: "RunSession", first: int
) -> AsyncIterator[bytes]:
    at, quiet = first, 0.0
    while True:
        is_over = session.state.is_over
        for number, event in session.repetitions.events_since(at):
            at, quiet = number, 0.0
            yield _event(at, event)
        if is_over:
            yield _event(
                at + 1, {"event": "closed", **session_document(services.iris, session)}
            )
            return
        await asyncio.sleep(_LOOK_S)
        quiet += _LOOK_S
        if quiet >= _HEARTBEAT_S:
            quiet = 0.0
            yield b": nothing new\n\n"


def _event(number: int, event: Any) -> bytes:
    name = event["event"].encode()
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, name, orjson.dumps(event))
