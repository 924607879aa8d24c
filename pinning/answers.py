"""Run the saved queries that a placement needs, in parallel."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from core.errors import ApiError
from core.stores.clients import Clients
from core.stores.fuseki import GraphStore
from pinning.choose import PolicyFacts
from pinning.devices import core_cpus, near_cpus, with_devices
from pinning.policy import Policy
from pinning.thread_load import busy_threads
from pinning.tree import Tree, read_tree
from queries.catalogue import saved_query
from queries.hosts import check_host

Row = dict[str, Any]

TREE = ("pinning/threads", "pinning/components")
NEAR, CORES = "topology/near-devices", "topology/cpu-kinds"


@dataclass(frozen=True)
class PinningInputs:
    """A host's tree, other facts that the policy needs, and the queries used.

    ``policy`` has the devices by their names in the graph; None for ranks.
    """

    tree: Tree
    policy: Policy | None
    known: PolicyFacts
    queries: tuple[str, ...]


async def ask(clients: Clients, host: str, policy: Policy | None) -> PinningInputs:
    """Read all that the choice needs; raises ApiError without a known host."""
    if not host:
        detail = "a placement is for one host: add host=NAME; / lists the hosts"
        raise ApiError(400, "host-needed", "Name a host", detail)
    names = [*TREE, *_more(policy)]
    idle = policy is not None and policy.order == "idle"
    answers, busy = await asyncio.gather(
        asyncio.gather(*(_rows(clients.graph, name, host) for name in names)),
        _load(clients, host) if idle else _nothing(),
    )
    rows = dict(zip(names, answers, strict=True))
    if not rows[TREE[0]]:
        await check_host(clients, host)
    tree = read_tree(host, *(rows[name] for name in TREE))
    if policy and policy.near:
        policy = with_devices(policy, rows[NEAR])
    return PinningInputs(tree, policy, _known(host, policy, rows, busy), tuple(names))


def address(base: str, name: str, host: str) -> str:
    """The URL that shows the answer of a saved query."""
    return f"{base.rstrip('/')}/queries/{name}?{urlencode({'host': host})}"


def _more(policy: Policy | None) -> list[str]:
    if policy is None:
        return []
    return [*([NEAR] if policy.near else []), *([CORES] if policy.cores else [])]


def _known(
    host: str,
    policy: Policy | None,
    rows: Mapping[str, list[Row]],
    busy: Mapping[int, float],
) -> PolicyFacts:
    if policy is None:
        return PolicyFacts()
    near = {one: near_cpus(host, rows[NEAR], *one) for one in policy.near}
    cores = core_cpus(host, rows[CORES]) if policy.cores else {}
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


async def _rows(store: GraphStore, name: str, host: str) -> list[Row]:
    """The rows of a saved query as plain values; rdflib's terms are slower."""
    text = saved_query(name).bind({"host": host})
    return (await store.table(text)).records()
