"""Hosts with various processors in a graph store, as if agents counted on them."""

from collections.abc import Mapping, Sequence
from typing import Any

from core.stores.endpoint import Endpoint
from ingest.hwloc.read import parse_hwloc
from ingest.pmu.pfm import list_models
from ingest.schema.schema import Pcp
from ontology.iris import Iris
from sampling.counters import counters
from sampling.plans.counters import publish_counters
from sampling.plans.request import PlanRequest
from sampling.plans.store import add_plan
from tests.ingest.documents import describe_json, document, synthetic

IRIS = Iris("http://localhost:8000")
MODELS = {
    "sky": {"vendor": "GenuineIntel", "family": "6", "model": "85", "stepping": "4"},
    "ice": {"vendor": "GenuineIntel", "family": "6", "model": "106", "stepping": "6"},
    "zen2": {"vendor": "AuthenticAMD", "family": "23", "model": "49", "stepping": "0"},
    "zen3": {"vendor": "AuthenticAMD", "family": "25", "model": "1", "stepping": "1"},
    "rapids": {
        "vendor": "GenuineIntel",
        "family": "6",
        "model": "143",
        "stepping": "8",
    },
    "hybrid": {
        "vendor": "GenuineIntel",
        "family": "6",
        "model": "151",
        "stepping": "2",
    },
    "zen4": {"vendor": "AuthenticAMD", "family": "25", "model": "17", "stepping": "1"},
}


def publish_host(
    twin: Endpoint,
    host: str,
    events: Mapping[str, Sequence[str]] | None = None,
    **perf: Mapping[str, object],
) -> None:
    """Describe a host of one socket with four threads, by its name in MODELS.

    ``events`` are the names in its kernel, by device; None if they could not be read.
    ``perf`` is what else its kernel says: ``formats`` and ``cpumasks`` of devices.
    """
    facts: dict[str, Any] = {
        "hwloc": parse_hwloc(synthetic("pack:1 numa:1 core:2 pu:2")),
        "cpu": {"sockets": {"0": {**MODELS[host], "name": "x", "flags": []}}},
    }
    if events is not None:
        facts["event_sources"] = [*events]
        facts["perf"] = {"events": events, "paranoid": 0, "watchdog": False, **perf}
    known = [model["name"] for model in list_models()]
    found = describe_json({**document(facts), "host": host}, IRIS, known_pmus=known)
    twin.put_graph(str(IRIS.twin_graph(host)), found.twin.graph())
    for graph, triples in found.pmus.items():
        twin.put_graph(str(graph), triples.graph())


def request(host: str, plan: str, *names: str, **more: object) -> PlanRequest:
    """Return a request for a plan of roles, once a second."""
    given = {"metrics": (), "period_ms": 1000, "roles": names} | more
    return PlanRequest(host, plan, **given)  # type: ignore[arg-type]


def add(twin: Endpoint, asked: PlanRequest) -> list[str]:
    """Write a plan as if an agent counted its events; return the metrics in PCP."""
    wanted = counters.planned(asked, twin)
    metrics = wanted.together.metrics
    domains = {name: f"127.{number // 2}" for number, name in enumerate(metrics)}
    shape = {"type": "double", "semantics": "counter", "units": "", "help": None}
    cpus = [[f"cpu{number}", number] for number in range(4)]
    pcp = {
        "metrics": [
            {"name": name, "pmid": f"{indom}.0", "indom": indom, **shape}
            for name, indom in domains.items()
        ],
        "indoms": {
            indom: {"stored": True, "count": 4, "instances": cpus}
            for indom in domains.values()
        },
        "pmdas": {"127": "perfevent"},
    }
    publish_counters(asked.host, Pcp.model_validate(pcp), "/x/pmcd.socket", twin, IRIS)
    add_plan(asked, twin, IRIS, wanted.counts)
    return metrics
