"""Import and export through the command line, with a real graph store."""

import json
from pathlib import Path

from rdflib import RDF, Graph, Literal
from rdflib.compare import isomorphic

from core.settings.audit import events
from core.stores.endpoint import Endpoint
from ingest.describe.plan import CountedEvent, describe_sampling
from ingest.triples import Triples, insertion
from ontology.terms import ST
from tests.dtdl.conftest import Document, Installation
from tests.dtdl.twins import BASE, IRIS, ODD_HOST, Twin

HOST = f"{BASE}/twin/{ODD_HOST}"


def dumped(document: Document) -> bytes:
    return json.dumps(document).encode()


def union(graphs: dict[str, Graph]) -> Graph:
    made = Graph()
    for graph in graphs.values():
        made += graph
    return made


def of_kind(document: Document, kind: str) -> Document:
    return [e for i in document for e in (i, *i["contents"]) if kind in e["@type"]]


def test_import_then_export_gives_the_same(
    installation: Installation, odd: Twin
) -> None:
    done = installation.load(odd.document(2))
    assert done.exit_code == 0, done.output
    (event,) = events(installation.folder)
    assert (event["what"], event["thing"]) == ("host.added", ODD_HOST)
    graphs = installation.graphs()
    original = Graph()
    for triple in odd.triples:
        original.add(triple)
    assert set(union(graphs)) == set(original)
    assert isomorphic(union(graphs), original)
    out = installation.folder / "out.json"
    done = installation.run("export", "dtdl", "--host", ODD_HOST, "--out", str(out))
    assert done.exit_code == 0, done.output
    assert out.read_bytes() == odd.document(2)


def test_each_part_is_stored_in_its_graph(
    installation: Installation, odd: Twin
) -> None:
    assert installation.load(odd.document(2)).exit_code == 0
    kinds = {
        name.removeprefix(f"{BASE}/graph/"): {
            str(kind).rpartition("#")[2] for kind in graph.objects(None, RDF.type)
        }
        for name, graph in installation.graphs().items()
    }
    assert kinds["metrics"] == {"Metric", "InstanceDomain"}
    assert kinds["pmu/skx"] == {"PmuModel", "PmuEvent"}
    assert kinds[f"plans/{ODD_HOST}"] == {"SamplingPlan", "SWTelemetry", "HWTelemetry"}
    assert kinds["observation/o1"] == {"ObservationInterface"}
    assert kinds["benchmark/b1"] == {"BenchmarkInterface", "BenchmarkResult"}
    assert {"ComputeNode", "Probe", "Disk", "Process"} <= kinds[f"twin/{ODD_HOST}"]


def test_added_plans_are_part_of_an_export(
    installation: Installation, odd: Twin
) -> None:
    """This includes plans of PMU events, which are hardware telemetry."""
    installation.load(odd.document(2))
    plan, cpu = Triples(), IRIS.component(ODD_HOST, "thread", "0")
    event = CountedEvent("INST_RETIRED:ANY", IRIS.pmu_event("skx", "INST_RETIRED:ANY"))
    name = "perfevent.hwcounters.INST_RETIRED_ANY.dutycycle"
    metric = IRIS.metric("perfevent.hwcounters.INST_RETIRED_ANY.value")
    describe_sampling(
        plan, IRIS, ODD_HOST, "flops", 0.1, name, metric, {"cpu0": cpu}, event
    )
    with Endpoint(f"{installation.url}/twin") as twin:
        twin.update(insertion({IRIS.plan_graph(ODD_HOST, "flops"): plan}))
    before = union(installation.graphs())
    out = installation.folder / "out.json"
    done = installation.run("export", "dtdl", "--host", ODD_HOST, "--out", str(out))
    assert done.exit_code == 0, done.output
    exported = json.loads(out.read_bytes())
    (found,) = (
        one for one in of_kind(exported, "HWTelemetry") if one["samplerName"] == name
    )
    assert found["PMUName"] == "INST_RETIRED:ANY"
    done = installation.load(out.read_bytes())
    assert "unchanged, nothing loaded" in done.output
    assert isomorphic(union(installation.graphs()), before)


def test_repeated_import_changes_nothing(installation: Installation, odd: Twin) -> None:
    installation.load(odd.document(2))
    before = installation.graphs()
    done = installation.load(odd.document(2))
    assert "unchanged, nothing loaded" in done.output
    after = installation.graphs()
    assert after.keys() == before.keys()
    assert all(isomorphic(after[name], before[name]) for name in after)


def test_edited_file_is_loaded_as_edited(
    installation: Installation, two: Document, odd: Twin
) -> None:
    installation.load(odd.document(2))
    model = next(c for c in of_kind(two, "Value") if c["name"] == "cpuModel")
    model["value"] = "Acme 9001"
    done = installation.load(dumped(two))
    assert done.exit_code == 0, done.output
    assert "was changed since its export" in done.output
    models = union(installation.graphs()).objects(None, ST.cpuModel)
    assert list(models) == [Literal("Acme 9001")]


def test_another_machine_with_the_same_name_is_refused(
    installation: Installation, two: Document, odd: Twin
) -> None:
    installation.load(odd.document(2))
    sign = next(c for c in of_kind(two, "Value") if c["name"] == "sign")
    sign["value"] = "machine-id:other"
    before = union(installation.graphs())
    done = installation.load(dumped(two))
    assert done.exit_code == 2
    assert "--confirm" in done.output
    assert isomorphic(union(installation.graphs()), before)
    assert installation.load(dumped(two), "--confirm").exit_code == 0


def test_invalid_description_is_not_loaded(
    installation: Installation, two: Document
) -> None:
    index = next(c for c in of_kind(two, "Value") if c["name"] == "osIndex")
    index["value"] = -1
    done = installation.load(dumped(two))
    assert done.exit_code == 2
    assert "was not stored" in done.output
    assert installation.graphs() == {}


def test_differing_metric_gets_its_own_iri(
    installation: Installation, two: Document, odd: Twin
) -> None:
    installation.load(odd.document(2))
    for content in of_kind(two, "Metric"):
        if content["samplerName"] == "mem.util.used":
            content["valueType"] = "u32"
    done = installation.load(dumped(two), "--host", "n2")
    assert done.exit_code == 0, done.output
    found = union(installation.graphs())
    exposed = [str(o) for o in found.objects(IRIS.host("n2"), ST.exposes)]
    (own,) = [iri for iri in exposed if "mem.util.used" in iri]
    assert own.startswith(f"{BASE}/metric/mem.util.used~~")
    known = IRIS.metric("mem.util.used")
    assert list(found.objects(known, ST.valueType)) == [Literal("u64")]


def test_export_contains_one_host(installation: Installation, odd: Twin) -> None:
    installation.load(odd.document(2))
    assert installation.load(odd.document(2), "--host", "n2").exit_code == 0
    done = installation.run("export", "dtdl", "--host", ODD_HOST)
    assert done.stdout_bytes == odd.document(2)
    done = installation.run("export", "dtdl", "--host", "n2")
    assert ODD_HOST.encode() not in done.stdout_bytes


def test_unknown_host_is_not_exported(
    installation: Installation, tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    done = installation.run("export", "dtdl", "--host", "n9", "--out", str(out))
    assert done.exit_code == 2
    assert "no host 'n9'" in done.output
    assert not out.exists()
