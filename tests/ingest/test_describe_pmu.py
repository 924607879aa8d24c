"""PMU models as graphs: everything that libpfm4 knows can be loaded."""

import pytest
from rdflib import Literal

from ingest.describe.pmu import describe_model, describe_pmus
from ingest.pmu.kernel import kernel_pmus
from ingest.pmu.pfm import read_models
from ingest.pmu.roles import kernel_pmus_of
from ingest.schema.schema import Facts, ProbedPmu
from ingest.triples import Triples
from ontology.terms import ST
from shapes.validate import validate
from tests.ingest.documents import IRIS


@pytest.mark.parametrize(
    "name", ["perf", "skx", "amd64_fam19h_zen4", "rapl", "skx_unc_imc0", "netburst"]
)
def test_description_of_a_model_conforms(name: str) -> None:
    (model,) = read_models([name])
    graph = describe_model(IRIS, ProbedPmu.model_validate(model)).graph()
    assert validate(graph).conforms
    events = set(graph.subjects(ST.ofPmu, IRIS.pmu(name)))
    masks = [m for event in model["events"] for m in event["umasks"]]
    assert len(events) == len(model["events"]) + len(masks)


def test_duplicate_event_has_the_code_its_name_encodes() -> None:
    """libpfm4 also calls SBO1's event of Haswell's home agents SBO0."""
    (model,) = read_models(["hswep_unc_ha0"])
    name = "UNC_H_SBO0_CREDIT_OCCUPANCY"
    assert [e["code"] for e in model["events"] if e["name"] == name] == ["0x6a", "0x6b"]
    graph = describe_model(IRIS, ProbedPmu.model_validate(model)).graph()
    assert validate(graph).conforms
    event = IRIS.pmu_event("hswep_unc_ha0", name)
    assert list(graph.objects(event, ST.eventCode)) == [Literal("0x6a")]
    mask = IRIS.pmu_event("hswep_unc_ha0", f"{name}:AD")
    assert list(graph.objects(mask, ST.eventEncoding)) == [Literal("0x16a")]


@pytest.mark.parametrize(
    ("family", "sources", "pmus"),
    [
        ("25", ["software"], ["amd64_fam19h_zen4", "amd64_rapl", "perf"]),
        ("25", None, ["amd64_fam19h_zen4", "amd64_rapl"]),
        # Newer than libpfm4: software and msr events still count there.
        ("1000", ["software"], ["perf"]),
        ("1000", None, []),
    ],
)
def test_remote_machine_with_any_processor_has_the_kernel_pmu(
    family: str, sources: list[str] | None, pmus: list[str]
) -> None:
    cpu = {"vendor": "AuthenticAMD", "family": family, "model": "17", "stepping": "1"}
    facts = {"cpu": {"sockets": {"0": cpu}}, "event_sources": sources}
    describe_pmus(twin := Triples(), IRIS, "n1", Facts.model_validate(facts))
    found = {str(name) for name in twin.graph().objects(None, ST.pmuName)}
    assert sorted(found - kernel_pmus().keys()) == pmus
    # Without a list of its devices, the kernel may have all that roles use.
    used = {name for pmu in pmus for name in kernel_pmus_of(pmu)}
    assert found & kernel_pmus().keys() == (set() if sources else used)


def test_devices_of_the_kernel_have_their_formats() -> None:
    cpu = {"vendor": "AuthenticAMD", "family": "25", "model": "17", "stepping": "1"}
    formats = {"amd_umc_0": {"event": "config:0-7", "rdwrmask": "config:8-9"}}
    facts = {
        "cpu": {"sockets": {"0": cpu}},
        "event_sources": ["amd_umc_0", "amd_df", "cpu", "software"],
        "perf": {"formats": formats, "cpumasks": {"amd_umc_0": "0"}},
    }
    describe_pmus(twin := Triples(), IRIS, "n1", Facts.model_validate(facts))
    graph, unit = twin.graph(), IRIS.component("n1", "pmu", "amd_umc_0")
    assert {str(o) for o in graph.objects(unit, ST.kernelFormat)} == {
        "event=config:0-7",
        "rdwrmask=config:8-9",
    }
    assert str(graph.value(unit, ST.kernelCpus)) == "0"
    assert (unit, ST.usable, Literal(True)) in graph
    # No role of a Zen 4 uses the data fabric.
    assert not list(graph.objects(IRIS.component("n1", "pmu", "amd_df"), ST.pmuName))
