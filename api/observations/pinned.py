"""The CPUs of a recorded run, and why they were chosen."""

from dataclasses import dataclass, replace

from rdflib import URIRef

from api.nodes import Node
from api.services import Services
from api.web.pages import Links, RenderedTerm
from core.errors import ApiError
from ontology.iris import IdError, decode_id
from ontology.terms import ST
from pinning.placing import PinningRequest, place
from queries.natural_order import natural

_COUNTED = ("per:", "likwid:")  # policies that state the number of threads


@dataclass(frozen=True)
class Pinned:
    """The CPUs of a run and the policy that chose them.

    ``threads`` is the number that the policy is asked for; ``today`` says if it would
    now choose other CPUs.
    """

    cpus: tuple[RenderedTerm, ...]
    policy: str
    threads: str
    reason: str = ""
    today: str = ""


async def find_pinned(services: Services, node: Node, links: Links) -> Pinned | None:
    """Return the CPUs, with the policy's reason if it would still choose them."""
    found = pinned(node, links)
    if found is None or not found.policy:
        return found
    host = name_of(str(node.graph.value(node.iri, ST.ofHost)))
    try:
        made, _ = await place(
            services, PinningRequest(host, found.threads, found.policy)
        )
    except ApiError as error:
        return replace(found, today=f"today it cannot be met: {error.detail}")
    cpus = sorted(map(int, made["cpus"]))
    if [str(cpu) for cpu in cpus] == [one.text for one in found.cpus]:
        return replace(found, reason=str(made["reason"]))
    return replace(found, today=f"today it would choose {', '.join(map(str, cpus))}")


def pinned(node: Node, links: Links) -> Pinned | None:
    """Return the CPUs of a run; None if it was not pinned."""
    threads = [str(one) for one in node.graph.objects(node.iri, ST.involvesThread)]
    if not threads:
        return None
    shown = [
        RenderedTerm(one.rpartition("/")[2], links.href(one), one) for one in threads
    ]
    policy = str(node.graph.value(node.iri, ST.pinningPolicy) or "")
    counted = any(word in policy for word in _COUNTED)
    return Pinned(
        tuple(sorted(shown, key=lambda one: natural(one.text))),
        policy,
        "" if counted or not policy else str(len(shown)),
    )


def name_of(iri: str | URIRef) -> str:
    """Return the name at the end of an IRI, such as a host's."""
    segment = str(iri).rpartition("/")[2]
    try:
        return decode_id(segment)
    except IdError:
        return segment
