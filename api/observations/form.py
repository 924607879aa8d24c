"""``/observations/new``: a form to run a command, or to run one again."""

import shlex
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from rdflib import URIRef
from rdflib.namespace import RDF

from api import nodes
from api.connection import while_connected
from api.observations.measured import observation_of, unknown
from api.observations.permissions import launch_refusal
from api.observations.pinned import Pinned, name_of, pinned
from api.services import Services, Use
from api.web import pages
from api.web.query_form import host_names
from ontology.terms import ST
from pinning.policy import LONGEST, WORDS

router = APIRouter(tags=["Observations"])

_CHOICES = {
    "pop": "Record the times of OpenMP threads and MPI ranks, for the POP metrics",
    "libomp": "The same, also for programs of GCC's OpenMP: they run on LLVM's libomp",
    "trace": "The same, and when they were in MPI and OpenMP, for the timeline",
    "regions": "Record the regions that it names",
    "hot_loops": "Sample where it computes, and analyse its hot loops",
    "profile": "Sample its stacks on the CPU, for a flame graph",
    "off_cpu": "The same, and where its threads wait",
    "multiplex": "Let PMU events share counters; their counts are then estimates",
    "passes": "Run it once for each group of PMU events that fits the counters",
}
_NOTHING: Mapping[str, Any] = {
    **dict.fromkeys(
        ("host", "command", "pin", "threads", "cpus", "cwd", "timeout"), ""
    ),
    **dict.fromkeys(("metrics", "roles", "events", "tags", "variables", "secrets"), ()),
    "every": "1s",
    "repeat": 1,
    **dict.fromkeys(_CHOICES, False),
}


@router.get(
    "/observations/new", summary="A form to run a command", response_class=Response
)
async def new(
    request: Request,
    services: Use,
    again: Annotated[
        str, Query(max_length=300, description="Id of a run, to run it again")
    ] = "",
    host: Annotated[str, Query(max_length=300)] = "",
    pin: Annotated[str, Query(max_length=LONGEST, description="Policy")] = "",
    threads: Annotated[str, Query(max_length=40)] = "",
) -> Response:
    """A form, filled with the request of another run, or with a host and CPUs."""
    run_request = {
        "host": host or services.settings.host,
        "pin": pin,
        "threads": threads,
    }
    if again:
        run_request = await while_connected(
            request, _form_of_run(request, services, again)
        )
    return pages.page(
        "observation_new.html",
        request,
        services.settings.base,
        title="Run a command",
        headers={"Cache-Control": "no-store"},
        hosts=await host_names(services.graph),
        run_request={**_NOTHING, **run_request},
        words=WORDS,
        choices=_CHOICES,
        may_not=await launch_refusal(request, services),
    )


async def _form_of_run(
    request: Request, services: Services, id_: str
) -> dict[str, Any]:
    """Return the request of a recorded run; the values of secrets are not recorded."""
    iri = observation_of(services.iris, id_)
    node = await nodes.describe(services.graph, iri)
    if (iri, RDF.type, ST.ObservationInterface) not in node.graph:
        raise unknown(id_)

    def text(link: URIRef) -> str:
        return str(node.graph.value(iri, link) or "")

    def texts(link: URIRef) -> list[str]:
        return sorted(map(str, node.graph.objects(iri, link)))

    place = pinned(node, pages.links(request, services.settings.base))
    return {
        "host": name_of(text(ST.ofHost)),
        "command": text(ST.command),
        "pin": place.policy if place else "",
        "threads": place.threads if place else "",
        "cpus": _cpus(place),
        "cwd": text(ST.workingDirectory),
        "every": f"{int(1000 * Decimal(text(ST.observationPeriod) or 1))}ms",
        "repeat": text(ST.requestedRuns) or 1,
        "timeout": text(ST.timeLimit),
        "metrics": texts(ST.requestedMetric),
        "roles": [name_of(role) for role in texts(ST.requestedRole)],
        "events": texts(ST.requestedEvent),
        "tags": texts(ST.observationTag),
        "pop": bool(text(ST.hasParallelAnalysis)),
        "regions": bool(text(ST.hasRegionRecord)),
        "hot_loops": bool(text(ST.hasLoopAnalysis)),
        "profile": bool(text(ST.hasProfile)),
        "off_cpu": len(texts(ST.hasProfile)) > 1,
        "multiplex": bool(text(ST.mayShareCounters)),
        "passes": bool(text(ST.requestedPasses)),
        **_variables(texts(ST.addedVariable)),
    }


def _variables(added: list[str]) -> dict[str, list[str]]:
    """Return the variables as words of the form; ``secrets`` have no values."""
    return {
        "variables": [shlex.quote(one) for one in added],
        "secrets": [name for name in added if "=" not in name],
    }


def _cpus(place: Pinned | None) -> str:
    """Return named CPUs; CPUs that a policy chose are left out, to be chosen again."""
    named = place.cpus if place and not place.policy else ()
    return ",".join(cpu.text for cpu in named)
