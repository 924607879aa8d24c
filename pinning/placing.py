"""A request to place threads or ranks, and its result."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from core.errors import api_error
from core.stores.clients import Clients
from pinning import reason
from pinning.answers import PinningInputs, ask, ask_spread
from pinning.choose import choose, from_rows
from pinning.errors import PinningError, PolicyError
from pinning.formats import find_format, write
from pinning.hybrid import HybridRequest, Rank, lay_out, write_ranks
from pinning.placement import Placement, check_count
from pinning.policy import Policy, read_policy
from pinning.saved import SCATTER, BoundQuery
from pinning.tree import KINDS, Tree
from queries.errors import HostNeededError
from queries.hosts import check_host

_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True)
class PinningRequest:
    """A request to place threads or, with ``ranks``, ranks; all values are text."""

    host: str
    threads: str = ""
    policy: str = ""
    format: str = ""
    ranks: str = ""
    nodes: str = ""
    map: str = ""
    rank: str = ""
    bind: str = ""

    @property
    def for_ranks(self) -> bool:
        """Whether the request has an option that only ranks have."""
        return bool(self.ranks or self.nodes or self.map or self.rank or self.bind)


async def place(
    clients: Clients, pin_request: PinningRequest
) -> tuple[dict[str, Any], Tree]:
    """The placement as a JSON object, and its tree; raises ApiError."""
    if not pin_request.host:
        detail = "a placement is for one host: add host=NAME; / lists the hosts"
        raise api_error(HostNeededError(detail))
    try:
        return await (_ranks if pin_request.for_ranks else _threads)(
            clients, pin_request
        )
    except PinningError as error:
        # If the host is unknown, report only that.
        await check_host(clients, pin_request.host)
        raise api_error(error) from None


async def _threads(
    clients: Clients, pin_request: PinningRequest
) -> tuple[dict[str, Any], Tree]:
    policy, count = (
        read_policy(pin_request.policy or "compact"),
        _count(pin_request, "threads"),
    )
    form = pin_request.format or "cpus"
    find_format(form)
    check_count(policy, count)
    inputs = await ask(clients, pin_request.host, policy, count)
    made, inputs = await _chosen(clients, inputs, inputs.policy or policy, count)
    return {
        "host": made.host,
        "policy": made.policy,
        "threads": len(made.cpus),
        "cpus": made.cpus,
        "reason": f"{made.reason} {_source(inputs)}",
        "format": form,
        "text": write(inputs.tree, made.cpus, form),
        **_queries(clients, inputs),
        "places": [_where(inputs.tree, cpu) for cpu in made.cpus],
    }, inputs.tree


async def _chosen(
    clients: Clients, inputs: PinningInputs, policy: Policy, count: int | None
) -> tuple[Placement, PinningInputs]:
    """The placement, and the inputs with all queries that it needed."""
    tree, known = inputs.tree, inputs.known
    if inputs.chosen is not None:
        return from_rows(tree, policy, count, known, inputs.chosen), inputs
    made = choose(tree, policy, count, known)
    if made.unspread:
        scatter = BoundQuery(SCATTER, {"host": tree.host})
        inputs = replace(inputs, queries=(*inputs.queries, scatter))
    while made.unspread:
        # Later sets may depend on the CPUs that were chosen from earlier ones.
        each = policy.per[1] if policy.per else count or 0
        more = await ask_spread(clients, tree.host, made.unspread, each)
        known = replace(known, spread={**known.spread, **more})
        made = choose(tree, policy, count, known)
    return made, inputs


async def _ranks(
    clients: Clients, pin_request: PinningRequest
) -> tuple[dict[str, Any], Tree]:
    if pin_request.policy:
        raise PolicyError("ranks are placed by map, rank and bind: leave policy out")
    if not pin_request.ranks:
        raise PolicyError("nodes, map, rank and bind are for ranks: give ranks")
    numbers = {name: _count(pin_request, name) or 1 for name in ("threads", "nodes")}
    wanted = HybridRequest(
        int(_count(pin_request, "ranks") or 0),
        **numbers,
        map=pin_request.map,
        rank=pin_request.rank,
        bind=pin_request.bind,
    )
    wanted.settled()
    inputs = await ask(clients, pin_request.host, None)
    made = lay_out(inputs.tree, wanted)
    form = pin_request.format or "cpus"
    return {
        "host": made.host,
        **asdict(made.wanted),
        "cpus": made.cpus,
        "reason": f"{made.reason} {_source(inputs)}",
        "format": form,
        "text": write_ranks(inputs.tree, made, form),
        **_queries(clients, inputs),
        "places": [_rank(one) for one in made.ranks],
    }, inputs.tree


def _count(pin_request: PinningRequest, name: str) -> int | None:
    """A number of the request; None if it is left out."""
    text = str(getattr(pin_request, name)).strip()
    if not text:
        return None
    if not _NUMBER.fullmatch(text):
        raise PolicyError(f"{name}: {text[:40]!r} is not a whole number")
    number = int(text)
    if number < 1:
        raise PolicyError(f"{name}: {number} given, at least 1 is needed")
    return number


def _source(inputs: PinningInputs) -> str:
    """Where the CPUs come from, as the last sentence of the reason."""
    if inputs.chosen is not None:
        return reason.of_query(inputs.queries[0].command)
    by_load = inputs.policy is not None and inputs.policy.order == "idle"
    return reason.computed([q.name for q in inputs.queries], by_load=by_load)


def _queries(clients: Clients, inputs: PinningInputs) -> Mapping[str, Any]:
    base = clients.settings.base
    return {
        "computed": inputs.chosen is None,
        "queries": [
            {
                "name": query.name,
                "query": query.address(base, ".rq"),
                "answer": query.address(base),
            }
            for query in inputs.queries
        ],
    }


def _rank(one: Rank) -> dict[str, Any]:
    """A rank as JSON; asdict() would copy every CPU of every rank."""
    return {
        "rank": one.rank,
        "node": one.node,
        "threads": one.threads,
        "cpus": one.cpus,
    }


def _where(tree: Tree, cpu: int) -> dict[str, Any]:
    """The IRIs of the components that contain a CPU, by kind."""
    held = {kind: tree.domain(kind, cpu) for kind in KINDS}
    return {"cpu": cpu, **{kind: one.iri for kind, one in held.items() if one}}
