"""``/twin/{host}/process/{id}``: a process, described on request.

``id`` is its pid, its full identity (pid, start, boot), or a name that it was given.
For a process that has ended, the answer is its record if it ran under observation,
otherwise 410 with the time when it was last seen.
"""

from datetime import UTC, datetime
from pathlib import Path

from anyio import to_thread
from fastapi import APIRouter, Request, Response
from rdflib import Graph, Literal, URIRef

from api import nodes
from api.connection import while_connected
from api.nodes import Node
from api.processes.instances import find_instance
from api.processes.metrics import process_metrics
from api.processes.seen import Sighting, Sightings
from api.services import Services, Use
from api.twin import OPTIONS, Segment, accepted, decoded, node_response
from core.errors import ApiError, NotFoundError, api_error
from core.stores.errors import StoreError
from ingest.describe.process import (
    describe_process,
    describe_telemetry,
    process_iri,
)
from ingest.errors import ProbeSourceError, UnknownProcessError
from ingest.named_processes import named_iri
from ingest.sources.processes import (
    Identity,
    ProcessFacts,
    parse_identity,
    read_process,
)
from ingest.triples import Triples
from ontology.selectors import escaped
from ontology.terms import ST
from queries.hosts import check_host

router = APIRouter(tags=["Processes"])

_LONGEST_PID = 10
_ANSWERS = {
    **OPTIONS,
    "responses": {
        **OPTIONS["responses"],
        410: {
            "description": "It has ended; the detail has the time when it was last seen"
        },
    },
}


@router.get("/twin/{host}/process/{id}", summary="A process", **_ANSWERS)
async def process(
    request: Request, services: Use, host: Segment, id: Segment
) -> Response:
    """Its threads, affinity, control group, memory by NUMA domain, and its series."""
    media_type = accepted(request)
    work = _described(services, decoded(host), decoded(id))
    node = await while_connected(request, work)
    answer = await node_response(request, services, node, media_type)
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["Content-Location"] = node.iri
    return answer


async def _described(services: Services, host: str, id_: str) -> Node:
    identity = parse_identity(id_)
    try:
        await _check_local(services, host)
        if identity is None and not _is_number(id_):
            return await _named(services, host, id_)
        pid = identity.pid if identity else int(id_)
        return await _running(services, host, pid, identity)
    except ApiError as error:
        if identity is None or error.status not in (404, 410):
            raise
        return await _observed(services, host, identity, error)


async def _observed(
    services: Services, host: str, identity: Identity, error: ApiError
) -> Node:
    """Return the record of a process that was observed; else raise the error."""
    iri = process_iri(services.iris, host, identity)
    node = await nodes.describe(services.graph, iri)
    if not node.known:
        raise error
    return node


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _LONGEST_PID


async def _check_local(services: Services, host: str) -> None:
    """Raise NotFoundError for another machine: the API sees only local processes."""
    await check_host(services, host)
    if host != services.settings.host:
        raise NotFoundError(
            "process-elsewhere",
            "Process of another machine",
            f"only local processes are described: this is the API of "
            f"{services.settings.host}, use that of {host}",
        )


async def _running(
    services: Services, host: str, pid: int, identity: Identity | None
) -> Node:
    found = await to_thread.run_sync(_look, pid)
    seen = Sightings(services.settings.home / "processes.sqlite")
    if found is None or (identity and found.identity != identity):
        last = await to_thread.run_sync(_last_seen, seen, pid, identity)
        raise await _ended(services, host, pid, last, exact=identity is not None)
    now = datetime.now(UTC)
    await to_thread.run_sync(seen.note, found.identity, found.name, now)
    iri = process_iri(services.iris, host, found.identity)
    triples = describe_process(services.iris, host, found)
    triples += await _telemetry(services, host, found, iri)
    return Node(iri, triples.graph(), _cut(found))


def _look(pid: int) -> ProcessFacts | None:
    try:
        return read_process(pid, Path("/"))
    except ProbeSourceError as error:
        raise ApiError(503, "no-proc", "Processes cannot be read", str(error)) from None


def _last_seen(seen: Sightings, pid: int, identity: Identity | None) -> Sighting | None:
    return seen.by_identity(identity) if identity else seen.by_number(pid)


async def _telemetry(
    services: Services, host: str, found: ProcessFacts, iri: URIRef
) -> Triples:
    """Return its series, if the PMCD of this machine knows the process."""
    domain, metrics = await process_metrics(services.graph, services.iris, host)
    if not metrics:
        return Triples()
    name = await find_instance(services, domain, found.identity.pid)
    if name is None:
        return Triples()
    return describe_telemetry(services.iris, host, iri, metrics, name)


def _cut(found: ProcessFacts) -> list[str]:
    left = found.task_count - len(found.tasks)
    return [f"{left} more threads are not shown"] if left > 0 else []


async def _ended(
    services: Services, host: str, pid: int, last: Sighting | None, *, exact: bool
) -> ApiError:
    """Return 410 for a process that was seen, by us or in its series; else 404."""
    at, name = (last.at, last.name) if last else (None, "")
    if at is None and not exact:
        at = await _last_sample(services, host, pid)
    if at is None:
        detail = f"{host} has no process {pid}, and none was seen: `ps -e` lists all"
        return api_error(UnknownProcessError(detail))
    text = at.isoformat(timespec="seconds").replace("+00:00", "Z")
    called = f" ({name})" if name else ""
    return ApiError(
        410,
        "process-ended",
        "The process has ended",
        f"process {pid}{called} of {host} has ended; it was last seen at {text}",
        last_seen=text,
    )


async def _last_sample(services: Services, host: str, pid: int) -> datetime | None:
    """Return the time of the last point in a series of a process with that pid.

    PCP names a process by its pid, zero-padded, and its first word.
    """
    names = escaped(rf"0*{pid}( .*)?")
    selector = (
        f'{{__name__=~"proc_psinfo_.*",hostname="{escaped(host)}",instname=~"{names}"}}'
    )
    try:
        sample = await services.store.last(selector)
    except StoreError:
        return None
    return datetime.fromtimestamp(sample.timestamp_ms / 1000, UTC) if sample else None


async def _named(services: Services, host: str, name: str) -> Node:
    """Describe a named process together with the process that it is bound to."""
    iri = named_iri(services.iris, host, name)
    node = await nodes.describe(services.graph, iri)
    if not node.known:
        detail = (
            f"no process of {host} has the name {name[:64]!r}: "
            "`supertwin process name` gives names"
        )
        raise api_error(UnknownProcessError(detail))
    for bound in list(node.graph.objects(iri, ST.boundTo)):
        await _add_bound(services, host, node.graph, str(bound).rpartition("/")[2])
    return node


async def _add_bound(services: Services, host: str, graph: Graph, id_: str) -> None:
    """Add the bound process; if it has ended, add only the reason."""
    identity = parse_identity(id_)
    if identity is None:
        return
    try:
        found = await _running(services, host, identity.pid, identity)
    except ApiError as error:
        if error.status not in (404, 410):
            raise
        iri = process_iri(services.iris, host, identity)
        graph.add((iri, ST.reason, Literal(error.detail)))
        return
    for triple in found.graph:
        graph.add(triple)
