"""Run the saved queries that a placement needs, in parallel."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.stores.clients import Clients
from core.stores.fuseki import GraphStore
from pinning.devices import core_cpus, near_cpus, with_devices
from pinning.placement import PolicyFacts
from pinning.policy import Policy
from pinning.saved import BoundQuery, policy_query, read_spread, spread_text
from pinning.thread_load import busy_threads
from pinning.tree import Tree, read_tree
from queries.hosts import check_host

Row = dict[str, Any]

TREE = ("pinning/threads", "pinning/components")
NEAR, CORES = "topology/near-devices", "topology/cpu-kinds"


@dataclass(frozen=True)
class PinningInputs:
    """A host's tree, other facts that the policy needs, and the queries used.

    ``policy`` names devices as the graph does; None for ranks. ``chosen`` are the CPUs
    of the policy's saved query, in order; None if it has no such query, or for ranks.
    ``queries`` are those from whose rows the CPUs come.
    """

    tree: Tree
    policy: Policy | None
    known: PolicyFacts
    queries: tuple[BoundQuery, ...]
    chosen: tuple[int, ...] | None = None


async def ask(
    clients: Clients, host: str, policy: Policy | None, threads: int | None = None
) -> PinningInputs:
    """Read everything that the choice needs; raises ApiError for an unknown host."""
    near = _of_host(NEAR, host)
    devices = await _rows(clients.graph, near) if policy and policy.near else []
    policy = policy and with_devices(policy, devices)
    one = policy and policy_query(host, policy, threads)
    tree = [_of_host(name, host) for name in TREE]
    more = [_of_host(CORES, host)] if policy and policy.cores else []
    asked = [*tree, *more, *([one] if one else [])]
    answers, busy = await asyncio.gather(
        asyncio.gather(*(_rows(clients.graph, query) for query in asked)),
        _load(clients, host) if policy and policy.order == "idle" else _nothing(),
    )
    if not answers[0]:
        await check_host(clients, host)
    known = _known(host, policy, devices, answers[2] if more else [], busy)
    queries = (one,) if one else (*tree, *([near] if devices else []), *more)
    chosen = tuple(int(row["cpu"]) for row in answers[-1]) if one else None
    made = read_tree(host, answers[0], answers[1])
    return PinningInputs(made, policy, known, queries, chosen)


async def ask_spread(
    clients: Clients, host: str, sets: Sequence[frozenset[int]], count: int
) -> dict[frozenset[int], Sequence[int]]:
    """The threads that ``pinning/scatter`` chooses from each set of CPUs."""
    rows = (await clients.graph.table(spread_text(host, sets, count))).records()
    return read_spread(sets, rows)


def _of_host(name: str, host: str) -> BoundQuery:
    return BoundQuery(name, {"host": host})


def _known(
    host: str,
    policy: Policy | None,
    devices: Sequence[Row],
    kinds: Sequence[Row],
    busy: Mapping[int, float],
) -> PolicyFacts:
    if policy is None:
        return PolicyFacts()
    near = {one: near_cpus(host, devices, *one) for one in policy.near}
    cores = core_cpus(host, kinds) if policy.cores else {}
    return PolicyFacts(near, {str(kind): cpus for kind, cpus in cores.items()}, busy)


async def _nothing() -> dict[int, float]:
    return {}


async def _load(clients: Clients, host: str) -> dict[int, float]:
    """The load of each thread by its number; empty if it is not sampled."""
    return {
        int(iri.rpartition("/")[2]): share
        for iri, share in (await busy_threads(clients, host)).items()
        if share is not None
    }


async def _rows(store: GraphStore, query: BoundQuery) -> list[Row]:
    """The rows of a saved query as plain values; rdflib's terms are slower."""
    return (await store.table(query.text)).records()
