"""The form of a document: units, limits, pages, and comments for strict versions."""

import json
from typing import Any

import pytest
from rdflib import RDF, Literal

from dtdl.names import MAX_INTERFACE_ID
from dtdl.nodes import Triple
from dtdl.read import read
from dtdl.units import UNITS
from dtdl.versions import TEXT
from ontology.terms import ST
from ontology.units import _UNITS as PCP_UNITS
from tests.dtdl.conftest import Document
from tests.dtdl.twins import BASE, IRIS, VERSIONS, Twin


def elements(document: Document) -> Document:
    return [e for i in document for e in (i, *i["contents"])]


def named(document: Document, name: str) -> dict[str, Any]:
    return next(e for e in elements(document) if e.get("name") == name)


def loads(twin: Twin, version: int) -> Document:
    found: Document = json.loads(twin.document(version))
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_limits_of_each_version_are_met(odd: Twin, version: int) -> None:
    for element in elements(loads(odd, version)):
        assert len(element.get("description", "")) <= TEXT
        assert len(element.get("comment", "")) <= TEXT
        assert len(element.get("displayName", "")) <= (64 if version == 2 else 512)
        assert len(element.get("name", "")) <= (64 if version == 2 else 512)
        if "contents" in element:
            assert len(element["@id"]) <= MAX_INTERFACE_ID
            names = [content["name"] for content in element["contents"]]
            assert len(set(names)) == len(names)


def test_units_of_dtdl_are_used(odd: Twin) -> None:
    two, four = loads(odd, 2), loads(odd, 4)
    assert named(two, "diskSize")["unit"] == "byte"
    assert named(two, "diskSize")["@type"] == ["Property", "DataSize", "Value"]
    assert named(four, "diskSize")["unit"] == (
        "dtmi:dtdl:extension:quantitativeTypes:v2:unit:byte"
    )
    assert named(two, "mem_util_used")["unit"] == "kibibyte"
    assert named(two, "maxFrequency")["unit"] == "hertz"
    assert named(two, "time")["unit"] == "second"
    assert named(two, "BenchmarkResult_r1")["unit"] == "bytePerSecond"


def test_units_unknown_to_dtdl_keep_our_iri(odd: Twin) -> None:
    name = "perfevent_hwcounters_INST_RETIRED_ANY_value"
    two, three = named(loads(odd, 2), name), named(loads(odd, 3), name)
    assert "unit" not in two
    assert two["hasUnit"] == {"@id": "unit:NUM"}
    assert json.loads(three["comment"])["hasUnit"] == "unit:NUM"


def test_scaled_metric_has_no_dtdl_unit(odd: Twin) -> None:
    found = named(loads(odd, 2), "denki_rapl_raw")
    assert "unit" not in found
    assert found["hasUnit"] == {"@id": "unit:J"}


def test_units_of_pcp_have_a_dtdl_unit_or_none() -> None:
    without = {"NUM", "NUM-PER-SEC", "PebiBYTE"}
    known = {str(unit).rpartition("/")[2] for unit in UNITS}
    assert set(PCP_UNITS.values()) - known == without


def test_parts_without_parts_are_components(odd: Twin) -> None:
    found = [c for c in loads(odd, 2)[0]["contents"] if c["@type"] == "Component"]
    assert sorted(c["name"] for c in found) == [
        "disk_a_20very_20long_20name_20that_20a_20device_20mapper_20might",
        "pmu_skx",
    ]


@pytest.mark.parametrize(("version", "pages"), [(2, 3), (3, 0), (4, 0)])
def test_excess_contents_continue_on_pages(version: int, pages: int) -> None:
    node, pmu = IRIS.host("n1"), IRIS.component("n1", "pmu", "skx")
    triples: list[Triple] = [
        (node, RDF.type, ST.ComputeNode),
        (node, ST.hostname, Literal("n1")),
        (pmu, RDF.type, ST.Pmu),
    ]
    for number in range(1000):
        thread = IRIS.component("n1", "thread", str(number))
        triples += [(thread, RDF.type, ST.HardwareThread), (pmu, ST.counts, thread)]
    document = loads(Twin("n1", triples), version)
    limit = 300 if version == 2 else 100_000
    assert max(len(interface["contents"]) for interface in document) <= limit
    found = [i for i in document if ":more:" in i["@id"]]
    assert len(found) == pages
    if version == 2:
        assert set(read(Twin("n1", triples).document(2), BASE).triples) == set(triples)


def test_shortened_comment_is_valid_json(odd: Twin) -> None:
    flags = [(IRIS.component(ODD, "socket", "socket-0"), ST.cpuFlag, Literal(f"f{n}"))
             for n in range(300)]  # fmt: skip
    document = loads(Twin(odd.host, [*odd.triples, *flags]), 3)
    body = json.loads(named(document, "cpuFlag")["comment"])
    assert body["value"][0] == "avx2"
    assert body["value"][-1] == "…"
    for element in elements(document):
        assert isinstance(json.loads(element.get("comment", "{}")), dict)


ODD = "h1_odd.host"


def test_truncated_help_text_is_kept_in_full_in_the_comment(odd: Twin) -> None:
    found = named(loads(odd, 2), "kernel_percpu_cpu_user")
    assert found["description"].endswith("…")
    assert found["wholeComment"].endswith("counted elsewhere.")


def test_equal_twins_give_equal_documents(odd: Twin) -> None:
    again = Twin(odd.host, list(reversed(odd.triples)))
    assert again.document(2) == odd.document(2)
