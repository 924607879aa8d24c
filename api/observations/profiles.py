"""The profile of a run: as files for other tools, and as the tree of a flame graph."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import orjson
from anyio import to_thread
from fastapi import APIRouter, Query, Response

from api import formats
from api.access.roles import ANSWERS
from api.observations.parameters import RunId
from api.observations.stored_files import HEADERS, NOT_KEPT
from api.services import Use

if TYPE_CHECKING:
    from observations.profiles.stored import StoredProfile

router = APIRouter(tags=["Observations"])

_TYPES = {
    "tree": (formats.JSON, "json"),
    "pprof": ("application/gzip", "pb.gz"),
    "folded": ("text/plain; charset=utf-8", "folded"),
    "speedscope": (formats.JSON, "speedscope.json"),
}

Form = Literal["tree", "pprof", "folded", "speedscope"]


@router.get(
    "/observations/{id:run}/profile",
    summary="Profile of a run",
    response_class=Response,
    responses={**ANSWERS, **NOT_KEPT},
)
async def profile(
    services: Use,
    id_: RunId,
    form: Annotated[
        Form,
        Query(
            alias="format",
            description="Shares of the call tree, or the file of another tool",
        ),
    ] = "tree",
    with_: Annotated[
        str,
        Query(
            alias="with",
            max_length=300,
            description="Id of another run: the tree then has the shares in both",
        ),
    ] = "",
) -> Response:
    """The stacks of a run that was observed with `profile`."""
    home = services.settings.home
    body = await to_thread.run_sync(_body, home, id_, form, with_)
    type_, ending = _TYPES[form]
    name = f'inline; filename="{id_}.{ending}"'
    headers = {**HEADERS, "Content-Disposition": name}
    return Response(body, headers=headers, media_type=type_)


def _body(home: Path, id_: str, form: Form, other: str) -> bytes:
    from observations.profiles.formats import difference, tree
    from observations.profiles.stored import FORMATS, read_profile

    found = read_profile(home, id_)
    if form != "tree":
        return FORMATS[form](found)
    if not other:
        return orjson.dumps({**tree(found.profile), "runs": [_about(found)]})
    second = read_profile(home, other)
    both = difference(found.profile, second.profile)
    return orjson.dumps({**both, "runs": [_about(found), _about(second)]})


def _about(one: "StoredProfile") -> dict[str, Any]:
    names = ("samples", "lost", "rate", "sampler", "notes")
    return {"id": one.id, **{name: getattr(one.profile, name) for name in names}}
