"""hwloc's XML of every version becomes facts; damaged and hostile files are refused."""

import subprocess
from typing import Any

import pytest

from ingest.errors import TopologyError
from ingest.hwloc.read import parse_hwloc, read_hwloc

NODES = "pack:2 numa:2(memory=1073741824) l3:1 l2:2 core:1 pu:2"


def lstopo(synthetic: str, *options: str) -> bytes:
    command = ["lstopo-no-graphics", "--input", synthetic, *options, "--of", "xml"]
    return subprocess.run(command, capture_output=True, check=True).stdout


def machine(body: str, cpuset: str = "0x3", version: str = ' version="2.0"') -> bytes:
    return (
        '<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd">'
        f'<topology{version}><object type="Machine" cpuset="{cpuset}" '
        f'complete_cpuset="{cpuset}" allowed_cpuset="{cpuset}">{body}</object>'
        "</topology>"
    ).encode()


def unit(index: int, kind: str = "PU") -> str:
    return f'<object type="{kind}" os_index="{index}" cpuset="{1 << index:#x}"/>'


UNITS = unit(0) + unit(1)


def groups(things: list[dict[str, Any]]) -> list[list[int]]:
    return [thing["threads"] for thing in things]


def test_this_machine_is_read() -> None:
    facts = read_hwloc()
    assert facts["threads"]
    assert facts["sockets"]
    assert facts["numa"]
    units = {thread["os_index"] for thread in facts["threads"]}
    assert {cpu for core in facts["cores"] for cpu in core["threads"]} <= units


def test_synthetic_machine_is_read_completely() -> None:
    facts = parse_hwloc(lstopo("pack:1 core:2 pu:2"))
    assert facts["version"].startswith("2.")
    assert facts["threads"] == [{"os_index": n, "allowed": True} for n in range(4)]
    assert facts["cores"] == [
        {"os_index": 0, "threads": [0, 1]},
        {"os_index": 1, "threads": [2, 3]},
    ]
    assert facts["sockets"] == [{"os_index": 0, "threads": [0, 1, 2, 3], "info": {}}]
    assert facts["dies"] == []
    assert groups(facts["numa"]) == [[0, 1, 2, 3]]


def test_caches_have_their_level_type_and_size() -> None:
    text = "pack:1 l3:1(size=8388608) l2:1(size=65536) l1:1 l1i:1 core:1 pu:2"
    caches = parse_hwloc(lstopo(text))["caches"]
    assert [(c["level"], c["type"], c["size"]) for c in caches[:2]] == [
        (3, "unified", 8388608),
        (2, "unified", 65536),
    ]
    assert {c["type"] for c in caches if c["level"] == 1} >= {"instruction"}
    assert {c["line"] for c in caches} == {64}


def test_sets_follow_from_size_line_and_associativity() -> None:
    body = UNITS + (
        '<object type="L1Cache" cpuset="0x1" cache_size="49152" depth="1" '
        'cache_linesize="64" cache_associativity="12" cache_type="1">'
        '<info name="Inclusive" value="1"/></object>'
        '<object type="L2Cache" cpuset="0x3" cache_size="0" depth="2" '
        'cache_linesize="0" cache_associativity="-1" cache_type="0"/>'
    )
    first, second = parse_hwloc(machine(body))["caches"]
    assert first == {
        "level": 1,
        "type": "data",
        "size": 49152,
        "line": 64,
        "ways": 12,
        "sets": 64,
        "inclusive": True,
        "threads": [0],
    }
    unknown = ("size", "line", "ways", "sets", "inclusive")
    assert [second[key] for key in unknown] == [None] * 5


def test_offline_and_disallowed_threads_are_known_but_not_allowed() -> None:
    xml = machine(UNITS).replace(
        b'complete_cpuset="0x3" allowed_cpuset="0x3"',
        b'complete_cpuset="0x7" allowed_cpuset="0x1"',
    )
    assert parse_hwloc(xml)["threads"] == [
        {"os_index": 0, "allowed": True},
        {"os_index": 1, "allowed": False},
        {"os_index": 2, "allowed": False},
    ]


def test_groups_know_their_depth_among_groups() -> None:
    body = (
        '<object type="Group" cpuset="0x3" subtype="Cluster">'
        f'<object type="Group" cpuset="0x1">{unit(0)}</object>{unit(1)}</object>'
    )
    assert parse_hwloc(machine(body))["groups"] == [
        {"level": 0, "threads": [0, 1], "subtype": "Cluster"},
        {"level": 1, "threads": [0], "subtype": None},
    ]


def test_memory_without_cpus_is_kept_and_sockets_without_cpus_are_not() -> None:
    body = UNITS + (
        '<object type="NUMANode" os_index="2" cpuset="0x0" local_memory="4096"/>'
        '<object type="Package" os_index="1" cpuset="0x0"/>'
    )
    facts = parse_hwloc(machine(body))
    [domain] = facts["numa"]
    assert (domain["os_index"], domain["memory"]) == (2, 4096)
    assert (domain["threads"], domain["near"]) == ([], [0, 1])
    assert facts["sockets"] == []


def test_machine_model_is_used_for_sockets_without_one() -> None:
    body = UNITS + (
        '<info name="CPUModel" value="POWER8"/><info name="OSName" value="Linux"/>'
        '<object type="Package" os_index="0" cpuset="0x1"/>'
        '<object type="Package" os_index="1" cpuset="0x2">'
        '<info name="CPUModel" value="POWER9"/></object>'
    )
    models = [s["info"] for s in parse_hwloc(machine(body))["sockets"]]
    assert models == [{"CPUModel": "POWER8"}, {"CPUModel": "POWER9"}]


def test_wide_sets_with_empty_words_are_read() -> None:
    body = unit(0) + '<object type="PU" os_index="64" cpuset="0x00000001,,0x0"/>'
    xml = machine(body, cpuset="0x00000001,,0x00000001")
    assert [t["os_index"] for t in parse_hwloc(xml)["threads"]] == [0, 64]


@pytest.mark.parametrize("flags", ["0", "1"], ids=["version-2", "version-1"])
def test_file_versions_agree(flags: str) -> None:
    facts = parse_hwloc(lstopo(NODES, "--export-xml-flags", flags))
    assert facts["version"] == {"0": "2.0", "1": "1.0"}[flags]
    assert groups(facts["sockets"]) == [list(range(8)), list(range(8, 16))]
    assert [c["threads"] for c in facts["caches"] if c["level"] == 2][0] == [0, 1]
    assert [(n["os_index"], n["memory"], len(n["threads"])) for n in facts["numa"]] == [
        (node, 1073741824, 4) for node in range(4)
    ]


def test_version_1_without_numa_has_one_numa_domain() -> None:
    xml = machine(UNITS, version="").replace(
        b'type="Machine"', b'type="Machine" local_memory="8192"'
    )
    [domain] = parse_hwloc(xml)["numa"]
    assert (domain["os_index"], domain["memory"]) == (0, 8192)
    assert domain["threads"] == domain["near"] == [0, 1]


def test_distances_of_version_2_are_read() -> None:
    matrix = (
        '<distances2 type="NUMANode" nbobjs="2" kind="5" indexing="os">'
        '<indexes length="4">0 2 </indexes><u64values length="6">10 21 </u64values>'
        '<u64values length="6">31 10 </u64values></distances2></topology>'
    )
    xml = machine(UNITS).replace(b"</topology>", matrix.encode())
    assert parse_hwloc(xml)["distances"] == [
        {"from": 0, "to": 0, "value": 10},
        {"from": 0, "to": 2, "value": 21},
        {"from": 2, "to": 0, "value": 31},
        {"from": 2, "to": 2, "value": 10},
    ]


def test_distances_of_version_1_are_read() -> None:
    nodes = "".join(
        unit(n, "NUMANode").replace("/>", f">{unit(n)}</object>") for n in (0, 1)
    )
    cells = "".join(f'<latency value="{v}"/>' for v in (1.0, 2.1, 2.1, 1.0))
    matrix = (
        '<distances nbobjs="2" relative_depth="1" latency_base="10.0">'
        f"{cells}</distances>"
    )
    distances = parse_hwloc(machine(nodes + matrix, version=""))["distances"]
    assert [pair["value"] for pair in distances] == [10, 21, 21, 10]


def test_matrix_that_is_not_of_latencies_is_not_a_distance() -> None:
    matrix = (
        b'<distances2 type="NUMANode" nbobjs="1" kind="9" indexing="os">'
        b"<indexes>0</indexes><u64values>7</u64values></distances2></topology>"
    )
    xml = machine(UNITS).replace(b"</topology>", matrix)
    assert parse_hwloc(xml)["distances"] == []


BOMB = (
    b'<!DOCTYPE topology [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    b'<topology version="2.0"><object type="&b;"/></topology>'
)
OUTSIDE = (
    b'<!DOCTYPE topology [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    b'<topology version="2.0"><object type="&x;"/></topology>'
)
BAD = {
    "cut-short": (lstopo("core:1 pu:1")[:700], "truncated"),
    "empty": (b"", "truncated"),
    "binary": (bytes(range(256)), "damaged"),
    "bomb": (BOMB, "entity"),
    "external-entity": (OUTSIDE, "entity"),
    "undeclared-entity": (machine("&nothing;"), "damaged"),
    "unknown-encoding": (b'<?xml version="1.0" encoding="klingon"?><a/>', "damaged"),
    "other-root": (b'<svg version="2.0"/>', "<svg>"),
    "future-version": (machine(UNITS, version=' version="9.0"'), "'9.0'"),
    "no-machine": (b'<topology version="2.0"/>', "no machine"),
    "no-unit": (machine(""), "no PU"),
    "unit-twice": (machine(unit(0) + unit(0)), "PU 0 occurs twice"),
    "unit-of-others": (machine(UNITS.replace('"1"', '"9"')), "PU 9 has the CPU set of"),
    "unit-beyond-all": (
        machine(UNITS + '<object type="PU" os_index="99999999999"/>'),
        "PU 99999999999 has the CPU set of",
    ),
    "unit-without-index": (machine('<object type="PU" cpuset="0x1"/>'), "os_index"),
    "numa-twice": (machine(UNITS + unit(0, "NUMANode") * 2), "NUMANode 0 occurs twice"),
    "not-a-number": (machine('<object type="PU" os_index="one"/>'), "'one'"),
    "underscores": (machine('<object type="PU" os_index="1_0"/>'), "'1_0'"),
    "arabic-digits": (machine('<object type="PU" os_index="&#1635;"/>'), "'٣'"),
    "blanks": (machine('<object type="PU" os_index=" 1"/>'), "' 1'"),
    "endless-number": (machine(f'<object type="PU" os_index="{"9" * 50}"/>'), "999"),
    "not-hexadecimal": (machine(UNITS, cpuset="0xxyz"), "not hexadecimal"),
    "underscores-in-a-set": (machine(UNITS, cpuset="0x1_1"), "not hexadecimal"),
    "wide-digits-in-a-set": (machine(UNITS, cpuset="0x&#65297;"), "not hexadecimal"),
    "lines-in-a-set": (machine(UNITS, cpuset="0x&#10;,...f"), "unbounded"),
    "unbounded-set": (machine(UNITS, cpuset="0xf...f,0xffffffff"), "unbounded"),
    "absurd-set": (machine(UNITS, cpuset="0x1" + "," * 4096), "unbounded or wider"),
    "cpu-of-nobody": (machine(UNITS + unit(9, "Core")), "the machine does not"),
    "cores-that-overlap": (machine(UNITS + unit(0, "Core") * 2), "same CPU 0"),
    "cache-without-level": (
        machine(UNITS + '<object type="L2Cache" cpuset="0x1"/>'),
        "level and type",
    ),
    "half-a-matrix": (
        machine(UNITS).replace(
            b"</topology>",
            b'<distances2 type="NUMANode" kind="5" indexing="os"><indexes>0 1</indexes>'
            b"<u64values>10</u64values></distances2></topology>",
        ),
        "1 distances for 2",
    ),
    "a-matrix-of-underscores": (
        machine(UNITS).replace(
            b"</topology>",
            b'<distances2 type="NUMANode" kind="5" indexing="os"><indexes>0</indexes>'
            b"<u64values>1_0</u64values></distances2></topology>",
        ),
        "not numbers",
    ),
    "words-for-distances": (
        machine(UNITS).replace(
            b"</topology>",
            b'<distances2 type="NUMANode" kind="5" indexing="os"><indexes>a</indexes>'
            b"</distances2></topology>",
        ),
        "not numbers",
    ),
}


@pytest.mark.parametrize(("xml", "finding"), BAD.values(), ids=BAD)
def test_bad_files_are_refused_in_one_line(xml: bytes, finding: str) -> None:
    with pytest.raises(TopologyError) as caught:
        parse_hwloc(xml)
    assert finding in str(caught.value)
    assert "\n" not in str(caught.value)


def test_huge_file_is_refused_unread() -> None:
    with pytest.raises(TopologyError, match="larger than 64 MiB"):
        parse_hwloc(bytes(64 * 1024 * 1024 + 1))


def test_deep_nesting_is_harmless() -> None:
    depth = 50_000
    body = '<object type="Misc">' * depth + "</object>" * depth
    assert len(parse_hwloc(machine(UNITS + body))["threads"]) == 2
