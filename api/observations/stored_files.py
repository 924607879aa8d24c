"""Files of a run in addition to its graph: its program and its output."""

import re
from pathlib import Path
from typing import Any

import orjson
from anyio import to_thread
from fastapi import APIRouter, Response

from api import formats
from api.access.authenticator import Caller
from api.access.roles import ANSWERS, requires
from api.access.tokens import TokenRole
from api.observations.parameters import RunId
from api.services import Use
from core.errors import NotFoundError

router = APIRouter(tags=["Observations"])

_OPERATOR = requires(TokenRole.OPERATOR)
# A folder's name that cannot lead out of the parent folder.
_FOLDER = "observations"
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}")
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
NOT_KEPT: dict[int | str, dict[str, Any]] = {
    404: {"description": "Not kept here, as for a run elsewhere"}
}


@router.get(
    "/observations/{id:run}/program",
    summary="The program that ran a command",
    response_class=Response,
    responses={**ANSWERS, **NOT_KEPT, 200: {"content": {"text/plain": {}}}},
)
async def program(services: Use, id_: RunId, caller: Caller = _OPERATOR) -> Response:
    """Python program that repeats the run: `python3 run.py`.

    Only an admin and the token that launched it see the values of the added
    environment variables; others see their names. Role: operator.
    """
    body = await to_thread.run_sync(_program, services.settings.home, id_, caller)
    name = f'inline; filename="{id_}.py"'
    headers = {**HEADERS, "Content-Disposition": name}
    return Response(body, headers=headers, media_type="text/plain; charset=utf-8")


@router.get(
    "/observations/{id:run}/output",
    summary="Output of a command",
    response_class=Response,
    responses={**ANSWERS, **NOT_KEPT, 200: {"content": {formats.JSON: {}}}},
    dependencies=[_OPERATOR],
)
async def output(services: Use, id_: RunId) -> Response:
    """For `stdout` and `stderr`: how many `bytes`, the first and the last of them in
    base64 (`head`, `tail`), and how many between them are `cut`. Role: operator.
    """
    from observations.events import kept_lines, printed
    from observations.session.repetition import EVENTS

    content = await to_thread.run_sync(read_kept, services.settings.home, id_, EVENTS)

    def document() -> bytes:
        return orjson.dumps(printed(line.event for line in kept_lines(content)))

    body = await to_thread.run_sync(document)
    return Response(body, headers=HEADERS, media_type=formats.JSON)


def has_kept(home: Path, id_: str) -> bool:
    """Whether files of a run are stored here."""
    return bool(_NAME.fullmatch(id_)) and (home / _FOLDER / id_).is_dir()


def has_program(home: Path, id_: str) -> bool:
    """Whether the program of a run is available; older builds kept no request."""
    from observations.session.repetition import REQUEST

    return has_kept(home, id_) and (home / _FOLDER / id_ / REQUEST).is_file()


def _program(home: Path, id_: str, caller: Caller) -> bytes:
    from observations.launch import program
    from observations.session.repetition import REQUEST, SPEC
    from observations.stored_request import without_values

    is_own = caller.name == _launched_by(home, id_, SPEC)
    shows_values = is_own or caller.role is TokenRole.ADMIN
    try:
        request = without_values(
            read_kept(home, id_, REQUEST), lambda _name, _value: not shows_values
        )
    except ValueError:
        raise _not_kept(id_) from None
    return program(request)


def _launched_by(home: Path, id_: str, name: str) -> str | None:
    try:
        by = orjson.loads(read_kept(home, id_, name)).get("by")
    except (NotFoundError, ValueError, AttributeError):
        return None
    return by or None


def read_kept(home: Path, id_: str, name: str) -> bytes:
    """Return a file of a run; raises NotFoundError."""
    path = home / _FOLDER / id_ / name
    try:
        if _NAME.fullmatch(id_) and path.is_file():  # a pipe would block
            return path.read_bytes()
    except OSError:
        pass
    raise _not_kept(id_)


def _not_kept(id_: str) -> NotFoundError:
    detail = (
        f"this is not available here for run {id_[:80]!r}: it ran elsewhere, never, or "
        "an older build recorded it"
    )
    return NotFoundError("not-kept", "Not kept", detail)
