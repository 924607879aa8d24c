"""`supertwin roofline` on results of which some were disturbed."""

from pathlib import Path

import pytest

from core.stores.endpoint import Endpoint
from ontology.terms import ST
from tests.command_line import Done, run
from tests.dashboards.synthetic import publish_document
from tests.dashboards.synthetic_facts import big_document, topology
from tests.queries.cases import FOLDER, load_data
from tests.servers import Fuseki

pytestmark = pytest.mark.filterwarnings(
    "ignore:(Dataset.default_context|Dataset.contexts|ConjunctiveGraph) is deprecated"
)
BASE = "http://localhost:8000"
ABOVE = "a share above 100 %: "


@pytest.fixture(scope="module")
def env(
    emptied_fuseki: Fuseki, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """The settings for n1, of two CPUs and with roofs, and n2 without them."""
    document = big_document("n1", topology("pack:1 numa:1 l1d:2 core:1 pu:1"))
    publish_document(emptied_fuseki.url, BASE, document)
    n2 = f'<{BASE}/twin/n2> a <{ST.ComputeNode}> ; <{ST.hostname}> "n2"'
    with Endpoint(f"{emptied_fuseki.url}/twin") as twin:
        for graph in load_data(FOLDER / "hosts" / "disturbed.trig").graphs():
            if "/benchmark/" in str(graph.identifier):
                twin.put_graph(str(graph.identifier), graph)
        twin.update(f"INSERT DATA {{ GRAPH <{BASE}/graph/twin/n2> {{ {n2} }} }}")
    return emptied_fuseki.environment(Path(tmp_path_factory.mktemp("home")))


def roofline(env: dict[str, str], *words: str) -> Done:
    return run(env, "roofline", *words)


def test_roofs_have_their_times_and_concerns(env: dict[str, str]) -> None:
    first, *lines = roofline(env, "n1").stdout.splitlines()
    assert first == "n1, 2 threads (compact-cores)"
    (memory,) = [line for line in lines if line.startswith("DRAM")]
    assert memory.endswith("   2026-11-02T09:00:00Z")
    (addition,) = [line for line in lines if line.startswith("avx double add")]
    noise = "(the hypervisor took 2% of its CPUs)"
    assert addition.endswith(f"   2026-11-03T09:00:02Z  {noise}")


def test_kernel_is_one_point_and_shares_above_their_limit_are_explained(
    env: dict[str, str],
) -> None:
    lines = roofline(env, "n1").stdout.splitlines()
    (triad,) = [line for line in lines if line.startswith("STREAM triad")]
    assert "545% of its limit (DRAM)" in triad
    assert triad.endswith("   2026-11-02T10:00:00Z")
    assert lines[-1].startswith(ABOVE)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["nosuch"], "unknown-host", "no host 'nosuch'"),
        (["n2"], "no-benchmark", "`supertwin bench quick --host n2` measures them"),
        (["n2", "--threads", "77"], "no-benchmark", "no roofs of n2 were measured"),
        (["n1", "--threads", "77"], "no-benchmark", "n1 has 2 threads"),
        (["n1", "--threads", "1"], "no-benchmark", "carm --host n1 --threads 1`"),
    ],
)
def test_host_without_roofs_is_named_with_the_fix(
    env: dict[str, str], words: list[str], code: str, says: str
) -> None:
    done = roofline(env, *words)
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith(f"[{code}]")
    assert says in done.stderr
