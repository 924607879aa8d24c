"""The original's probe files become our facts; damaged ones are refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingest.description import describe
from ingest.errors import ProbeDocumentError
from ingest.machine_files import original_file
from ingest.original.probe_file import parse_original
from ingest.schema.schema import Facts
from ingest.sign import signs
from ontology.iris import Iris
from shapes.validate import validate

FILE = Path(__file__).parent / "machines/original.json"
FOUND = sorted((Path(__file__).parents[3] / "shared/machines/supertwin").glob("*.json"))
FACTS = parse_original(FILE.read_bytes())
# The two real files, counted by hand: sockets, cores, threads, L3, domains.
REAL = {
    "probing_user-AS-4023S-TRT": (2, 48, 96, 16, 2),
    "probing_rt7-laptop-vivo": (1, 4, 8, 1, 1),
}


def changed(change: Callable[[Any], Any]) -> bytes:
    file = json.loads(FILE.read_text("utf-8"))
    change(file)
    return json.dumps(file).encode()


def test_machine_and_system_are_read() -> None:
    assert FACTS["os"] == {
        "hostname": "made-up",
        "os_name": "Made Up Linux 1.0 LTS",
        "kernel": "5.10.0",
        "architecture": "x86_64",
    }
    assert FACTS["board"]["board"] == {"vendor": "Made Up Boards", "model": "MUB-1"}
    assert FACTS["board"]["bios"]["date"] == "01/02/2020"
    cpu = {"name": "Made Up CPU 2-Core", "flags": ["fpu", "sse", "avx2"]}
    assert FACTS["cpu"] == {"sockets": {"0": cpu, "1": cpu}}
    assert FACTS["clocks"]["7"] == {"min": 1_500_000_000, "max": 2_300_000_000}


def test_groups_of_threads_are_read() -> None:
    topology = FACTS["hwloc"]
    assert [s["threads"] for s in topology["sockets"]] == [[0, 1, 4, 5], [2, 3, 6, 7]]
    assert [c["threads"] for c in topology["cores"]] == [[0, 4], [1, 5], [2, 6], [3, 7]]
    l3 = [cache for cache in topology["caches"] if cache["level"] == 3]
    assert [cache["threads"] for cache in l3] == [[0, 1, 4, 5], [2, 3, 6, 7]]
    assert (l3[0]["size"], l3[0]["line"], l3[0]["ways"]) == (16 << 20, 64, 16)
    assert l3[0]["sets"] == 16384
    assert {c["type"] for c in topology["caches"] if c["level"] == 1} == {"data"}
    assert [n["memory"] for n in topology["numa"]] == [16000 << 20, 16100 << 20]
    assert topology["distances"][1] == {"from": 0, "to": 1, "value": 32}


def test_devices_are_read() -> None:
    assert FACTS["disks"] == [
        {"name": "sda", "size": 480_000_000_000, "model": "Made Up Disk"}
    ]
    eno1, docker0 = FACTS["nics"]
    assert (eno1["mac"], eno1["speed"], eno1["up"], eno1["virtual"]) == (
        "00:00:5e:00:53:01",
        1_000_000_000,
        True,
        False,
    )
    assert (docker0["virtual"], docker0["vendor"], docker0["speed"]) == (
        True,
        None,
        None,
    )
    [bank] = FACTS["lshw"]["memory_banks"]
    assert (bank["slot"], bank["size"], bank["clock"]) == (
        "DIMM_A1",
        16 << 30,
        3_200_000_000,
    )


def test_pmus_events_and_metrics_are_read() -> None:
    zen2, rapl = FACTS["pfm"]["pmus"]
    assert (zen2["name"], zen2["type"], zen2["counters"], zen2["event_count"]) == (
        "amd64_fam17h_zen2",
        "core",
        6,
        2,
    )
    assert rapl["type"] == "uncore"
    events = FACTS["original"]["events"]["amd64_fam17h_zen2"]
    assert events[1] == ["RETIRED_UOPS:ALL", "Number of uops.. All of them."]
    assert FACTS["original"]["metrics"] == ["kernel.all.load", "mem.util.free"]


def test_differing_counts_are_reported() -> None:
    assert FACTS["original"]["disagreements"] == [
        "memory banks: 2 counted, 1 listed",
    ]


def test_uuid_of_zeros_does_not_identify_a_machine_but_an_address_does() -> None:
    assert signs(Facts.model_validate(FACTS)) == ["mac:00:00:5e:00:53:01"]


def test_twin_of_an_original_file_conforms() -> None:
    document = original_file(FILE)
    assert document.host == "made-up"
    assert original_file(FILE, "other").host == "other"
    report = validate(describe(document, Iris("http://localhost:8000")).union())
    assert report.lines == []


@pytest.mark.parametrize("path", FOUND or [None], ids=lambda path: path and path.stem)
def test_real_files_are_read(path: Path | None) -> None:
    if path is None:
        print("no probe files of the original next to the checkout: nothing compared")
        return
    document = original_file(path)
    facts = document.facts.hwloc
    l3 = [cache for cache in facts.caches if cache.level == 3]
    kinds = (facts.sockets, facts.cores, facts.threads, l3, facts.numa)
    assert tuple(map(len, kinds)) == REAL[path.stem]
    report = validate(describe(document, Iris("http://localhost:8000")).union())
    assert report.conforms
    # The EPYC's UUID is all zeros; its cards have addresses.
    assert any(sign.startswith("mac:") for sign in signs(document.facts))


BAD: dict[str, tuple[bytes, str]] = {
    "no-json": (b"{", "not valid JSON"),
    "no-object": (b"[]", "affinity, PMUs and metrics_avail"),
    "other-json": (b'{"hostname": "n1"}', "affinity, PMUs and metrics_avail"),
    "deep": (b"[" * 200_000, "not valid JSON"),
    "no-threads": (changed(lambda f: f["affinity"].clear()), "sockets with threads"),
    "thread-in-two-cores": (
        changed(lambda f: f["affinity"]["socket"]["0"]["cores"].update({"1": [0, 5]})),
        "two of the cores have the same CPU 0",
    ),
    "thread-of-nobody": (
        changed(lambda f: f["cpu"]["cache"]["L3"].update(cache_groups=[[0, 99]])),
        "has a CPU that the machine does not have",
    ),
    "thread-twice": (
        changed(lambda f: f["numa"]["0"].update(processors=[0, 0])),
        "distinct CPU numbers",
    ),
    "words-for-threads": (
        changed(lambda f: f["numa"]["0"].update(processors="0-3")),
        "distinct CPU numbers",
    ),
    "unknown-cache": (
        changed(lambda f: f["cpu"]["cache"].update(L9={"cache_groups": []})),
        "a cache such as L2",
    ),
    "half-the-distances": (
        changed(lambda f: f["numa"]["0"].update(distances=[10])),
        "one number per NUMA domain",
    ),
    "a-list-of-networks": (
        changed(lambda f: f.update(network=["eno1"])),
        "the file.network is not an object",
    ),
    "a-number-for-a-name": (changed(lambda f: f.update(os=7)), "os is not a text"),
    "a-word-for-metrics": (
        changed(lambda f: f.update(metrics_avail="all")),
        "a list of names",
    ),
    "huge-socket": (
        changed(lambda f: f["affinity"]["socket"].update({"9" * 30: {"cores": {}}})),
        "named by a number",
    ),
}


@pytest.mark.parametrize(("content", "finding"), BAD.values(), ids=BAD)
def test_bad_files_are_refused_in_one_line(content: bytes, finding: str) -> None:
    with pytest.raises(ProbeDocumentError) as caught:
        parse_original(content)
    assert finding in str(caught.value)
    assert "\n" not in str(caught.value)
