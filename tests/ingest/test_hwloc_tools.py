"""Groups of CPUs agree with hwloc's own tools on the same topology."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.hwloc.read import parse_hwloc

MACHINES = Path(__file__).parents[3] / "shared/machines/hwloc"
FOUND = sorted(MACHINES.glob("*.xml"))
LEVELS = ("pack", "die", "group", "numa", "l3", "l2", "l1", "l1i", "core", "pu")
MEMORY = ("[numa]", "[numa(memory=1GB)] [numa(memory=4GB)]")


def groups(facts: dict[str, Any]) -> dict[str, list[list[int]]]:
    """The allowed CPUs of each object, by hwloc's type names."""
    allowed = {t["os_index"] for t in facts["threads"] if t["allowed"]}
    things = {
        "Package": facts["sockets"],
        "Core": facts["cores"],
        "NUMANode": facts["numa"],
        "Die": facts["dies"],
    }
    for level in (1, 2, 3):
        things[f"L{level}{'d' if level == 1 else ''}Cache"] = [
            cache
            for cache in facts["caches"]
            if cache["level"] == level and cache["type"] != "instruction"
        ]
    return {
        name: sorted([cpu for cpu in t["threads"] if cpu in allowed] for t in some)
        for name, some in things.items()
    }


@pytest.mark.parametrize("path", FOUND or [None], ids=lambda path: path and path.stem)
def test_real_machines_agree_with_hwloc_tools(path: Path | None) -> None:
    if path is None:
        print(f"no topologies of real machines at {MACHINES}: nothing compared")
        return
    expected = json.loads((MACHINES / "expected.json").read_text("utf-8"))[path.name]
    facts = parse_hwloc(path.read_bytes())
    assert sum(t["allowed"] for t in facts["threads"]) == expected["pu"]
    for name, found in groups(facts).items():
        if name not in expected:
            continue
        # Without allowed CPUs, hwloc keeps memory but no other object.
        kept = [cpus for cpus in found if cpus or name == "NUMANode"]
        assert kept == sorted(expected[name]), name


@st.composite
def topologies(draw: st.DrawFn) -> str:
    """hwloc's description of a random machine of at most 64 threads."""
    counts, units = [], 1
    for level in LEVELS:
        if level in ("pack", "core", "pu") or draw(st.booleans()):
            count = draw(st.integers(1, min(4, 64 // units)))
            counts.append(f"{level}:{count}")
            units *= count
    if not any(count.startswith("numa") for count in counts):
        place = draw(st.integers(0, len(counts) - 1))
        counts.insert(place, draw(st.sampled_from(MEMORY)))
    order = draw(st.permutations(range(units)))
    return f"{' '.join(counts)}(indexes={','.join(map(str, order))})"


def calculated(path: Path, kind: str) -> list[list[int]]:
    """The CPUs of every object of a type, from hwloc-calc."""
    given = ["--disallowed", "-i", str(path)]
    # hwloc-calc itself leaves out memory without CPUs when it counts.
    listed = _listed(["lstopo-no-graphics", *given, "--only", kind])
    asked = "".join(f"{kind}:{number}\n" for number in range(len(listed)))
    answer = _run(["hwloc-calc", *given, "--po", "-I", "PU"], asked)
    # Some versions first print that they wait for input.
    lines = [line for line in answer.splitlines() if line[:1].isdigit()]
    return sorted(sorted(map(int, line.split(","))) for line in lines)


def _listed(command: list[str]) -> list[str]:
    """The lines that lstopo prints; hwloc 2.12 fails if there are none."""
    try:
        return _run(command).splitlines()
    except subprocess.CalledProcessError as error:
        if "is unavailable" in error.stderr:
            return []
        raise


def _run(command: list[str], asked: str = "") -> str:
    done = subprocess.run(
        command, input=asked, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@given(
    text=topologies(),
    allowed=st.integers(1, 2**64 - 1),
    version=st.sampled_from(["v1", "0"]),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_topologies_agree_with_hwloc_tools(
    text: str, allowed: int, version: str
) -> None:
    # hwloc refuses an empty set, and the machine may lack the CPUs drawn.
    mask = f"{allowed | 1:#x}"
    command = ["lstopo-no-graphics", "--input", text, "--disallowed", "--allow", mask]
    xml = _run([*command, "--of", "xml", "--export-xml-flags", version])
    facts = parse_hwloc(xml.encode())
    assert [t["allowed"] for t in facts["threads"]] == [
        bool((allowed | 1) >> t["os_index"] & 1) for t in facts["threads"]
    ]
    everything = {
        **facts,
        "threads": [{**t, "allowed": True} for t in facts["threads"]],
    }
    with tempfile.NamedTemporaryFile(suffix=".xml") as file:
        Path(file.name).write_text(xml)
        for name, found in groups(everything).items():
            # hwloc-calc has no line for memory that is local to no CPU.
            listed = [cpus for cpus in found if cpus]
            calc = calculated(Path(file.name), name.removesuffix("Cache"))
            assert listed == calc, name
