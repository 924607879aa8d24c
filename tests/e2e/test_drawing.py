"""Every way to add a host keeps its topology, so that it can be drawn."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ontology.iris import Iris
from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def gone_afterwards(stack: Stack) -> Iterator[None]:
    """Remove the hosts: other tests count what the stack's own host has."""
    yield
    iris = Iris(stack.base)
    for host in ("from-hwloc", "from-probe", "kept"):
        stack.update(f"DROP SILENT GRAPH <{iris.twin_graph(host)}>")


def drawn(stack: Stack, host: str) -> int:
    """Return how many threads the drawing of a host links to."""
    answer = stack.get(f"/twin/{host}/drawing")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "image/svg+xml"
    return answer.text.count('data-kind="thread"')


def threads(stack: Stack, host: str) -> int:
    query = (
        "PREFIX st: <https://w3id.org/supertwin/ns#> SELECT ?t { "
        f'?h st:hostname "{host}" . ?t a st:HardwareThread ; st:isPartOf+ ?h }}'
    )
    return len(stack.sparql(query))


def test_local_host_is_drawn_with_live_load(stack: Stack) -> None:
    assert drawn(stack, HOST) == threads(stack, HOST) > 0
    load = stack.get(f"/twin/{HOST}/load").json()
    assert len(load["busy"]) == threads(stack, HOST)
    assert all(0 <= share <= 1 for share in load["busy"].values() if share is not None)


def test_hwloc_file_is_drawn(stack: Stack, tmp_path: Path) -> None:
    path = tmp_path / "topology.xml"
    command = ["lstopo-no-graphics", "--input", "pack:1 core:3 pu:2", str(path)]
    subprocess.run(command, check=True)
    stack.run("ingest", "--hwloc", str(path), "--host", "from-hwloc")
    assert drawn(stack, "from-hwloc") == 6


def test_probe_file_with_a_topology_is_drawn(stack: Stack, tmp_path: Path) -> None:
    path = tmp_path / "probe.json"
    stack.run("probe", "--out", str(path))
    document = json.loads(path.read_text())
    assert document["facts"]["hwloc"]["xml"].startswith("<?xml")
    del document["facts"]["pcp"]
    document["facts"]["os"]["machine_id"] = "1" * 32
    path.write_text(json.dumps(document))
    stack.run("ingest", "--probe", str(path), "--host", "from-probe", "--confirm")
    assert drawn(stack, "from-probe") == threads(stack, HOST)
    del document["facts"]["hwloc"]["xml"]
    path.write_text(json.dumps(document))
    stack.run("ingest", "--probe", str(path), "--host", "from-probe", "--confirm")
    gone = stack.get("/twin/from-probe/drawing")
    assert gone.status_code == 404 and "supertwin ingest" in gone.json()["detail"]


def test_refused_description_keeps_the_old_drawing(
    stack: Stack, tmp_path: Path
) -> None:
    path = tmp_path / "topology.xml"
    command = ["lstopo-no-graphics", "--input", "pack:1 core:5 pu:1", str(path)]
    subprocess.run(command, check=True)
    stack.run("ingest", "--hwloc", str(path), "--host", "kept")
    probe = {
        "format": "supertwin-probe/1",
        "host": "kept",
        "started": "2026-11-21T00:00:00Z",
        "ended": "2026-11-21T00:00:02Z",
        "sources": {},
        "facts": {"hwloc": {"xml": "<topology/>"}},
    }
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(probe))
    assert stack.run("ingest", "--probe", str(bad), check=False).returncode == 2
    assert drawn(stack, "kept") == 5
