"""/why of roles and events: a host with its own PMU, its plan and its series."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.stores.endpoint import Endpoint
from ingest.pmu.store import publish_roles
from ontology.iris import Iris
from tests.api import graph
from tests.api.servers import write_duty

EVENTS = ("amd64_fam19h_zen4::RETIRED_INSTRUCTIONS", "msr::tsc")
ZEN = "amd64_fam19h_zen4"


def _metric(event: str) -> str:
    written = event.replace("::", "." if event.startswith("msr") else "__")
    return f"perfevent.hwcounters.{written}"


def _host(name: str, usable: str) -> str:
    node = f"<{graph.BASE}/twin/{name}>"
    return f"""{node} a st:ComputeNode ; st:hostname "{name}" ;
        st:kernelEvent "msr::tsc", "software::" ;
        st:exposes <{graph.BASE}/metric/kernel.all.load> .
      <{graph.BASE}/twin/{name}/pmu/{ZEN}> a st:Pmu ; st:pmuName "{ZEN}" ;
        st:isPartOf {node} ; st:pmuModel <{graph.BASE}/pmu/{ZEN}> ; st:counts {node} ;
        st:usable {usable} ."""


def _plan() -> str:
    node = f"{graph.BASE}/twin/zen"
    lines = []
    for metric in (f"{_metric(event)}.value" for event in EVENTS):
        iri = f"<{graph.BASE}/metric/{metric}>"
        lines.append(
            f"""{iri} a st:Metric ; st:samplerName "{metric}" ; st:valueType "double" .
            <{node}> st:exposes {iri} .
            <{node}/plan/pmu.{metric}> a st:SamplingPlan ; st:ofHost <{node}> ;
              st:planName "pmu" ; st:period 1.0 ; st:samples {iri} ."""
        )
    return "\n".join(lines)


@pytest.fixture(scope="module", autouse=True)
def zen(fuseki: str) -> Iterator[None]:
    """Add a Zen 4 that counts, and one whose kernel offers no counter."""
    mine = f"{graph.BASE}/graph/twin/zen"
    with Endpoint(f"{fuseki}/twin") as twin:
        roles = Iris(graph.BASE).roles_graph
        before = twin.get_graph(roles)
        assert publish_roles(twin, Iris(graph.BASE))
        twin.update(
            "PREFIX st: <https://w3id.org/supertwin/ns#> INSERT DATA { "
            f"GRAPH <{graph.BASE}/graph/pmu/{ZEN}> {{ <{graph.BASE}/pmu/{ZEN}> "
            f'a st:PmuModel ; st:pmuName "{ZEN}" ; st:countScope "thread" ; '
            'st:pmuType "core" ; st:counterCount 6 } '
            f"GRAPH <{mine}> {{ {_host('zen', 'true')} {_host('vm', 'false')} "
            f"{_plan()} }} }}"
        )
        yield
        # Fuseki is slow to replace a large graph by PUT.
        twin.update(f"DROP GRAPH <{roles}>")
        twin.put_graph(str(roles), before)
        twin.update(f"DROP GRAPH <{mine}> ; DROP GRAPH <{graph.BASE}/graph/pmu/{ZEN}>")


@pytest.fixture(autouse=True)
def bridge(home: Path) -> None:
    """Write the status file of a bridge that samples any host."""
    path = home / "bridge" / "status.json"
    path.write_text(json.dumps({"pcp": {"connected": True}, "store": {"up": True}}))


def why(api: httpx.Client, host: str, name: str) -> dict[str, Any]:
    answer = api.get("/why", params={"host": host, "metric": name})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize(
    ("host", "name", "verdict", "message"),
    [
        ("zen", "L1Stalls", "counter not on this PMU", "L1Stalls on zen: "),
        ("zen", "zz::A", "counter not on this PMU", "zen has no PMU zz"),
        ("zen", f"{ZEN}::NOPE", "counter not on this PMU", "has no event NOPE"),
        ("zen", "a::b c", "counter not on this PMU", "is not an event"),
        ("vm", "FLOPs", "counter not on this PMU", "does not offer this PMU"),
        ("zen", "FLOPs", "not planned", "sample add --host zen --role FLOPs"),
        ("vm", "msr::tsc", "not planned", "--event msr::tsc"),
        ("zen", "Instructions", "not yet sampled", "plan pmu samples it"),
        ("zen", "Nope", "unknown metric", "'Nope'"),
        ("n9", "FLOPs", "unknown host", "'n9'"),
        ("n2", "FLOPs", "counter not on this PMU", "knows no PMU of n2"),
    ],
)
def test_each_counter_has_its_verdict(
    api: httpx.Client, host: str, name: str, verdict: str, message: str
) -> None:
    found = why(api, host, name)
    assert (found["verdict"], found["metric"]) == (verdict, name), found
    assert message in found["reason"]


def test_verdict_names_the_duty_cycle_of_a_role(api: httpx.Client, store: str) -> None:
    metric = _metric(EVENTS[0]).replace(".", "_")
    for duty, verdict, message in (
        ("0.5", "data", "50% of the time"),
        ("0", "multiplexed", "never had a counter"),
    ):
        write_duty(store, "zen", metric, duty)
        found = why(api, "zen", "Instructions")
        assert (found["verdict"], found["duty_cycle"]) == (verdict, float(duty))
        assert message in found["reason"]
        assert found["plan"] == ["pmu"]


def test_verdict_names_the_measured_accuracy_of_a_role(
    api: httpx.Client, fuseki: str
) -> None:
    """The accuracy was measured on a host that no longer exists, with the same PMU."""
    base, pmu = graph.BASE, f"{graph.BASE}/pmu/{ZEN}"
    event = EVENTS[0].partition("::")[2]
    kernels = "".join(
        f"""<{base}/accuracy/other/{kernel}> a st:EventAccuracy ;
          st:ofEvent <{pmu}/{event}> ; st:ofHost <{base}/twin/other> ;
          st:benchmarkKernel "{kernel}" ; st:relativeError {error} ;
          st:expectedValue 1.0 ; st:measuredValue 1.0 ;
          prov:wasGeneratedBy <{base}/observation/x> ;
          prov:generatedAtTime "2026-11-22T00:00:00Z"^^xsd:dateTime ."""
        for kernel, error in (("triad", "0.001"), ("sum", "0.003"))
    )
    mine = f"{base}/graph/accuracy/other"
    with Endpoint(f"{fuseki}/twin") as twin:
        twin.update(
            "PREFIX st: <https://w3id.org/supertwin/ns#> "
            "PREFIX prov: <http://www.w3.org/ns/prov#> "
            "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> INSERT DATA { "
            f"GRAPH <{mine}> {{ {kernels} <{pmu}/{event}> a st:PmuEvent ; "
            f'st:pmuName "{event}" ; st:ofPmu <{pmu}> . }} }}'
        )
        expected = (
            f"{EVENTS[0]} was 0.20% off in 2 kernels of likwid-bench, 0.30% at most "
            "(sum), measured on another host"
        )
        for name in ("Instructions", EVENTS[0], f"{_metric(EVENTS[0])}.value"):
            assert why(api, "zen", name)["accuracy"] == expected, name
        assert why(api, "zen", "msr::tsc")["accuracy"] is None
        twin.update(f"DROP GRAPH <{mine}>")
