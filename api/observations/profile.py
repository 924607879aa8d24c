"""The profiles of a run: for its page, and for other programs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
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
from observations.profiles.profile import Profile, ProfileKind
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


Kind = Literal["on-cpu", "off-cpu"]
_KINDS: Mapping[Kind, ProfileKind] = {
    "on-cpu": ProfileKind.ON_CPU,
    "off-cpu": ProfileKind.OFF_CPU,
}
_TITLES: Mapping[Kind, tuple[str, str, str]] = {
    "on-cpu": ("profile", "Profile", "where the CPU time went"),
    "off-cpu": ("off-cpu-profile", "Off-CPU profile", "where its threads waited"),
}


@dataclass(frozen=True)
class ShownProfile:
    """A profile of a run, and the reason why there is nothing."""

    kind: Kind
    anchor: str
    title: str
    about: str
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
    kind: Annotated[Kind, Query(description="CPU time, or waiting")] = "on-cpu",
    base: Annotated[
        str, Query(max_length=300, description="Id of a run to compare with (`flame`)")
    ] = "",
) -> Response:
    """The stacks as calls with their shares, as pprof, as folded stacks, or for
    speedscope.
    """
    read = partial(_kept_profile, services.settings.home, _KINDS[kind])
    body = await to_thread.run_sync(_body, read, id_, form, base)
    if form == "flame":
        return Response(body, headers=HEADERS, media_type=formats.JSON)
    media_type, ending = _TYPES[form]
    name = f'attachment; filename="profile.{ending}"'
    headers = {**HEADERS, "Content-Disposition": name}
    return Response(body, headers=headers, media_type=media_type)


async def find_profiles(services: Services, node: Node) -> list[ShownProfile]:
    """Return what the page of a run shows of each profile that was requested."""
    if (node.iri, ST.hasProfile, None) not in node.graph:
        return []
    found = await rows(services, QUERY, {"id": str(node.iri)})
    missing = {str(row["kind"]): str(row["missing"] or "") for row in found}
    return [
        ShownProfile(kind, *_TITLES[kind], missing[name])
        for kind, name in _KINDS.items()
        if name in missing
    ]


def _body(read: Callable[[str], Profile], id_: str, form: Form, base: str) -> bytes:
    from observations.profiles.formats import flame_graph, folded, speedscope
    from observations.profiles.pprof import pprof

    found = read(id_)
    if form == "pprof":
        return pprof(found)
    if form == "folded":
        return folded(found).encode()
    if form == "speedscope":
        return orjson.dumps(speedscope(found, id_))
    return orjson.dumps(flame_graph(found, read(base) if base else None))


def _kept_profile(home: Path, kind: ProfileKind, id_: str) -> Profile:
    """Return the profile in the events of a run; raises NotFoundError."""
    from observations.events import kept_lines
    from observations.profiles.profile import profile_of
    from observations.session.repetition import EVENTS

    lines = read_kept(home, id_, EVENTS).split(b"\n")
    text = b"\n".join(line for line in lines if _EVENT in line[:4096])
    found: list[Any] = [line.event for line in kept_lines(text)]
    for event in found:
        if event["event"] == "profile" and (
            kind is ProfileKind.ON_CPU or event.get("off_cpu")
        ):
            return profile_of(event, kind)
    option = "--profile" if kind is ProfileKind.ON_CPU else "--off-cpu"
    detail = f"run {id_[:80]!r} was not profiled: `supertwin observe {option}`"
    raise NotFoundError("not-kept", "Not kept", detail)
