"""The profile of a run: for its page, and for other programs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from anyio import to_thread
from fastapi import APIRouter, Query, Response

from api import formats
from api.nodes import Node
from api.observations.parameters import RunId
from api.observations.search import rows
from api.observations.stored_files import HEADERS, NOT_KEPT, read_kept
from api.services import Services, Use
from core.errors import NotFoundError
from observations.profiles.profile import Profile
from ontology.terms import ST

router = APIRouter(tags=["Observations"])

QUERY = "observations/profile"
_EVENT = b'"profile"'
_TYPES = {
    "pprof": ("application/vnd.google.protobuf+gzip", "pb.gz"),
    "folded": ("text/plain; charset=utf-8", "folded"),
    "speedscope": (formats.JSON, "speedscope.json"),
}

Form = Literal["flame", "pprof", "folded", "speedscope"]


@dataclass(frozen=True)
class ShownProfile:
    """Whether a run was profiled, and the reason why there is nothing."""

    missing: str


@router.get(
    "/observations/{id:run}/profile",
    summary="Profile of a run",
    response_class=Response,
    responses={**NOT_KEPT, 200: {"content": {formats.JSON: {}}}},
)
async def profile(
    services: Use,
    id_: RunId,
    form: Annotated[
        Form, Query(alias="format", description="`flame`: calls and shares, as JSON")
    ] = "flame",
    base: Annotated[
        str, Query(max_length=300, description="Id of a run to compare with (`flame`)")
    ] = "",
) -> Response:
    """The sampled stacks as calls with their shares, as pprof, as folded stacks, or for
    speedscope.
    """
    home = services.settings.home
    body = await to_thread.run_sync(_body, home, id_, form, base)
    if form == "flame":
        return Response(body, headers=HEADERS, media_type=formats.JSON)
    media_type, ending = _TYPES[form]
    name = f'attachment; filename="profile.{ending}"'
    headers = {**HEADERS, "Content-Disposition": name}
    return Response(body, headers=headers, media_type=media_type)


async def find_profile(services: Services, node: Node) -> ShownProfile | None:
    """Return what the page of a run shows; None if no profile was requested."""
    if (node.iri, ST.hasProfile, None) not in node.graph:
        return None
    found = await rows(services, QUERY, {"id": str(node.iri)})
    missing = next((str(row["missing"]) for row in found if row["missing"]), "")
    return ShownProfile(missing)


def _body(home: Path, id_: str, form: Form, base: str) -> bytes:
    from observations.profiles.formats import flame_graph, folded, speedscope
    from observations.profiles.pprof import pprof

    found = _kept_profile(home, id_)
    if form == "pprof":
        return pprof(found)
    if form == "folded":
        return folded(found).encode()
    if form == "speedscope":
        return orjson.dumps(speedscope(found, id_))
    return orjson.dumps(flame_graph(found, _kept_profile(home, base) if base else None))


def _kept_profile(home: Path, id_: str) -> Profile:
    """Return the profile in the events of a run; raises NotFoundError."""
    from observations.events import kept_lines
    from observations.profiles.profile import profile_of
    from observations.session.repetition import EVENTS

    lines = read_kept(home, id_, EVENTS).split(b"\n")
    text = b"\n".join(line for line in lines if _EVENT in line[:4096])
    found: list[Any] = [line.event for line in kept_lines(text)]
    for event in found:
        if event["event"] == "profile":
            return profile_of(event)
    detail = f"run {id_[:80]!r} was not profiled: `supertwin observe --profile`"
    raise NotFoundError("not-kept", "Not kept", detail)
