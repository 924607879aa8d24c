"""A graph and a store with a host of 128 threads and one with odd names."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from core.stores.endpoint import Endpoint
from dashboards.build import build, run
from dashboards.catalogue import load_dashboards
from dashboards.grafana import render
from dashboards.spec import Dashboard
from tests.dashboards.benchmarked import publish_roofline
from tests.dashboards.synthetic import big_host, publish_document, write_series
from tests.dashboards.synthetic_facts import big_document, topology
from tests.servers import Fuseki, VictoriaMetrics

BASE = "http://localhost:8000"
BIG = "big"
# Series extend this many seconds into the future, for tests on a slow machine.
AHEAD = 900
ODD = "odd.Host_1"
ODD_DISKS = ("sd$host", '<b onload="x">,[[host]] : \\')


@dataclass(frozen=True)
class Servers:
    """The URLs of the graph and the store."""

    fuseki: str
    store: str


@dataclass(frozen=True)
class Made:
    """A dashboard as the renderers' common spec, and as Grafana's JSON."""

    spec: Dashboard
    document: dict[str, Any]


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Fuseki and VictoriaMetrics, filled."""
    with (
        Fuseki(tmp_path_factory.mktemp("fuseki")) as fuseki,
        VictoriaMetrics(tmp_path_factory.mktemp("store")) as store,
    ):
        big_host(fuseki.url, store.url, BASE, BIG, minutes=3, ahead=AHEAD)
        odd = odd_document()
        publish_document(fuseki.url, BASE, odd)
        write_series(store.url, odd, minutes=3, ahead=AHEAD)
        publish_roofline(fuseki.url, BASE, ODD)
        yield Servers(fuseki.url, store.url)


def odd_document() -> dict[str, Any]:
    """A small host with the names that people type, and with hostile ones."""
    document = copy.deepcopy(
        big_document(ODD, topology("pack:1 l3:1 l1d:2 core:1 pu:2"))
    )
    facts = document["facts"]
    for disk, name in zip(facts["disks"], ODD_DISKS, strict=True):
        disk["name"] = name
    for entry in facts["pcp"]["indoms"].values():
        if entry["instances"][0][0] == "nvme0n1":
            entry["instances"] = [[name, at] for at, name in enumerate(ODD_DISKS)]
    return document


@pytest.fixture(scope="session")
def made(servers: Servers) -> list[Made]:
    """Every dashboard: of either host, and of all hosts."""
    found = []
    with Endpoint(f"{servers.fuseki}/twin") as endpoint:
        for definition in load_dashboards().values():
            one_host = [BIG, ODD]
            hosts = one_host if definition.about_one_host else ["", *one_host]
            for host in hosts:
                batches = build(definition.name, host, BASE)
                spec = run(batches, lambda question: endpoint.select(question.sparql))
                found.append(Made(spec, render(spec)))
    assert {one.spec.host for one in found} == {"", BIG, ODD}
    return found
