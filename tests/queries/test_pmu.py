"""Roles and PMU models in a real store, for machines other than this one."""

from core.stores.endpoint import Endpoint
from ingest.pmu.pfm import read_models
from ingest.pmu.roles import roles
from ingest.pmu.store import publish_models, publish_roles, stored_models
from ingest.schema.schema import ProbedPmu
from ontology.iris import Iris
from queries.catalogue import saved_query

IRIS = Iris("http://localhost:8000")


def _rows(endpoint: Endpoint, query: str, **params: str) -> list[dict[str, object]]:
    answer = endpoint.select(saved_query(query).bind(params))
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.values()]


def test_machines_without_hardware_here_are_answered(machines: Endpoint) -> None:
    """A single test, so that Fuseki is started and loaded only once."""
    assert not publish_roles(machines, IRIS)
    assert stored_models(machines) == {"skx", "amd64_fam19h_zen4"}

    (flops,) = _rows(machines, "pmu/role-events", host="zen", role="FLOPs")
    assert flops["pmu"] == "amd64_fam19h_zen4"
    assert flops["encoding"] == "0x530f03"
    assert (flops["components"], flops["usable"]) == (384, None)
    (widths,) = _rows(machines, "pmu/role-events", host="zen", role="FLOPs512Double")
    assert "neither by precision" in str(widths["reason"])

    terms = _rows(machines, "pmu/role-events", host="sky", role="FLOPs")
    weights = {
        str(t["event"]).rpartition(":")[2]: float(str(t["weight"])) for t in terms
    }
    assert weights["512B_PACKED_DOUBLE"] == 8
    assert weights["512B_PACKED_SINGLE"] == 16
    channels = _rows(machines, "pmu/role-events", host="sky", role="DramTraffic")
    assert {(c["scope"], c["components"]) for c in channels} == {("socket", 2)}
    assert len(channels) == 12
    assert all(channel["encoding"] for channel in channels)

    hosts = {row["host"]: row for row in _rows(machines, "pmu/measurable")}
    assert hosts["zen"]["measurable"] is hosts["sky"]["measurable"] is None
    assert len(_rows(machines, "pmu/roles", pmu="ivb_ep")) == len(roles())


def test_models_are_loaded_completely_and_merged(endpoint: Endpoint) -> None:
    (box,) = read_models(["skx_unc_imc0"])
    old = f"<{IRIS.pmu_event('skx_unc_imc0', 'OF_ANOTHER_LIBRARY')}> a <urn:x>"
    endpoint.update(
        f"INSERT DATA {{ GRAPH <{IRIS.pmu_graph('skx_unc_imc0')}> {{ {old} }} }}"
    )
    for _ in range(2):
        publish_models(endpoint, IRIS, [ProbedPmu.model_validate(box)])
        names = _rows(endpoint, "pmu/events", pmu="skx_unc_imc0", text="CAS_COUNT")
        assert len(names) == 12
        assert len({row["event"] for row in names}) == 12
    assert "skx_unc_imc0" in stored_models(endpoint)
    assert endpoint.ask(f"ASK {{ GRAPH ?g {{ {old} }} }}")
