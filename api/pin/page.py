"""The page of ``/pin``: a form, the CPUs in the tree, and the commands to copy."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response

from api.services import Services
from api.web import pages
from core.errors import ApiError
from ontology.terms import ST
from pinning.branches import Branch
from pinning.errors import PinningError
from pinning.formats import FORMATS, write
from pinning.hybrid import BINDS, MAPS, RANKS
from pinning.placing import PinningRequest, place
from pinning.policy import WORDS
from pinning.tree import KINDS, ThreadDomain, Tree
from queries.hosts import known_hosts
from queries.natural_order import natural


@dataclass(frozen=True)
class Box:
    """A set of threads to draw: its name and its children, or a single CPU.

    ``state`` is ``chosen``, ``off`` or empty.
    """

    name: str = ""
    children: tuple["Box", ...] = ()
    cpu: int | None = None
    state: str = ""


async def form_page(
    request: Request, services: Services, pin_request: PinningRequest
) -> Response:
    """Return the form; with a host, also the placement or why there is none."""
    made: dict[str, Any] = {"found": None, "tree": None, "commands": (), "problem": ""}
    status = 200
    if pin_request.host:
        try:
            found, tree = await place(services, pin_request)
            made |= _found(found, tree, pin_request)
        except ApiError as error:
            status, made["problem"] = error.status, error.detail
    known = await known_hosts(services.graph)
    return pages.page(
        "pin.html",
        request,
        services.settings.base,
        status=status,
        title="Where to pin",
        pin_request=pin_request,
        hosts=sorted(map(str, known.objects(None, ST.hostname)), key=natural),
        words=WORDS,
        formats=FORMATS,
        maps=MAPS,
        ranks=RANKS,
        binds=BINDS,
        parameters=urlencode({k: v for k, v in asdict(pin_request).items() if v}),
        launch=urlencode(
            {
                "host": pin_request.host,
                "pin": pin_request.policy or "compact",
                "threads": pin_request.threads,
            }
        ),
        **made,
    )


def _found(
    found: Mapping[str, Any], tree: Tree, pin_request: PinningRequest
) -> dict[str, Any]:
    cpus = found["cpus"]
    return {
        "found": found,
        "tree": draw(tree, tree.root, frozenset(cpus)),
        "commands": _commands(found, tree, cpus, pin_request),
    }


def _commands(
    found: Mapping[str, Any],
    tree: Tree,
    cpus: Sequence[int],
    pin_request: PinningRequest,
) -> list[tuple[str, str]]:
    """Return the placement in every format; for ranks only the requested one."""
    if pin_request.for_ranks:
        return [(str(found["format"]), str(found["text"]))]
    return [(name, _written(tree, cpus, name)) for name in FORMATS]


def _written(tree: Tree, cpus: Sequence[int], name: str) -> str:
    try:
        return write(tree, cpus, name)
    except PinningError as error:
        return f"# {error}"


def draw(tree: Tree, branch: Branch, chosen: frozenset[int]) -> Box:
    """Convert a branch of the tree to a box with all its children."""
    if len(branch.cpus) == 1 and not branch.children:
        cpu = min(branch.cpus)
        state = "chosen" if cpu in chosen else "" if cpu in tree.allowed else "off"
        return Box(cpu=cpu, state=state)
    inside = tuple(draw(tree, child, chosen) for child in branch.children)
    return Box(_name(tree, branch.cpus), inside)


def _name(tree: Tree, cpus: frozenset[int]) -> str:
    """Name all domains that hold exactly these threads, the largest first."""
    held = (tree.domain(kind, min(cpus)) for kind in reversed(KINDS))
    return ", ".join(_called(one) for one in held if one and one.cpus == cpus)


def _called(domain: ThreadDomain) -> str:
    numbered = domain.kind in ("socket", "numa") and domain.number is not None
    return f"{KINDS[domain.kind]} {domain.number}" if numbered else KINDS[domain.kind]
