"""Pinning and cache queries against a brute-force search, on many topologies."""

import pytest
from rdflib import Dataset

from core.stores.endpoint import Endpoint
from queries.catalogue import load_catalogue
from tests.queries.synthetic import IRIS, Shape, add_host

SHAPES = [
    Shape("h", sockets=1, cores_per_socket=1, siblings=1, cores_per_l3=1),
    Shape("h", sockets=2, cores_per_socket=8, siblings=2, domains_per_socket=2),
    Shape("h", sockets=2, cores_per_socket=6, siblings=4, cores_per_l2=2, dies=True),
    Shape(
        "h",
        sockets=4,
        cores_per_socket=4,
        siblings=2,
        cores_per_l2=4,
        cores_per_l3=8,
        disallowed=(0, 1, 2, 3, 9, 17, 21, 30),
    ),
]


@pytest.fixture(params=SHAPES, ids=str)
def machine(request, endpoint: Endpoint) -> tuple[Shape, Endpoint]:
    """A machine in the store, next to another one that must not leak into results."""
    data = Dataset()
    add_host(data, request.param)
    add_host(data, Shape("other", cores_per_socket=16, cores_per_l3=16))
    for host in ("h", "other"):
        iri = IRIS.twin_graph(host)
        endpoint.put_graph(iri, data.graph(iri))
    return request.param, endpoint


def cpus(endpoint: Endpoint, name: str, **params) -> list[int]:
    query = load_catalogue()[name]
    rows = endpoint.select(query.bind({"host": "h", **params}))
    place = rows.columns.index("cpu")
    return [row[place] for row in rows.values()]


def core(shape: Shape, cpu: int) -> int:
    return cpu % shape.cores


def first_apart(shape: Shape, width: int, count: int, within=None) -> list[int]:
    """The lowest allowed thread of each ``width`` cores, the first ``count``."""
    lowest: dict[int, int] = {}
    for cpu in range(shape.threads):
        inside = within is None or core(shape, cpu) in within
        if inside and cpu not in shape.disallowed:
            lowest.setdefault(core(shape, cpu) // width, cpu)
    return sorted(lowest.values())[:count]


def width_of(shape: Shape, level: int) -> int:
    return {1: 1, 2: shape.cores_per_l2, 3: shape.cores_per_l3}[level]


@pytest.mark.parametrize("count", [1, 3, 100])
def test_chosen_threads_share_no_cache_or_core(machine, count):
    shape, endpoint = machine
    for level in (1, 2, 3):
        found = cpus(endpoint, "pinning/distinct-cache", level=level, count=count)
        assert found == first_apart(shape, width_of(shape, level), count)
    found = cpus(endpoint, "pinning/distinct-core", count=count)
    assert found == first_apart(shape, 1, count)


@pytest.mark.parametrize("apart", ["core", "L1", "L2", "L3"])
def test_first_thread_of_each_socket_and_domain_is_chosen(machine, apart):
    shape, endpoint = machine
    width = 1 if apart == "core" else width_of(shape, int(apart[1]))
    for name, parts in (
        ("pinning/per-socket", shape.sockets),
        ("pinning/per-numa", shape.sockets * shape.domains_per_socket),
    ):
        each = shape.cores // parts
        expected = []
        for part in range(parts):
            cores = range(part * each, (part + 1) * each)
            expected += first_apart(shape, width, 2, cores)
        assert sorted(cpus(endpoint, name, apart=apart, count=2)) == sorted(expected)


def test_threads_that_share_a_cache_are_its_group(machine):
    shape, endpoint = machine
    groups = load_catalogue()["cache/groups"].bind({"host": "h", "level": 2})
    listed = {row[5] for row in endpoint.select(groups).values()}
    for cpu in set(range(shape.threads)) - set(shape.disallowed):
        mates = cpus(endpoint, "cache/sharing", cpu=cpu, level=2)
        assert ",".join(map(str, sorted([cpu, *mates]))) in listed
