"""Scripts of a host in the graph, and the configuration that plans make of them."""

import json
from collections.abc import Iterator

import pytest

from core.stores.endpoint import Endpoint
from ontology.iris import Iris
from sampling.agents import scripts
from sampling.agents.graph import publish_checks
from sampling.errors import AgentRefusedError, ScriptRefusedError
from tests.servers import Fuseki

IRIS = Iris("http://localhost:8000")
TEXT = 'BEGIN /str($1) != "a\\"}"/ { @n = count(); @m[pid] = sum(1); }'
START = "bpftrace.scripts"


@pytest.fixture
def twin(fuseki: Fuseki) -> Iterator[Endpoint]:
    fuseki.empty()
    with Endpoint(f"{fuseki.url}/twin") as twin:
        node = f'<{IRIS.host("n1")}> a st:ComputeNode ; st:hostname "n1"'
        graph = f"GRAPH <{IRIS.twin_graph('n1')}> {{ {node} }}"
        prefix = "PREFIX st: <https://w3id.org/supertwin/ns#>"
        twin.update(f"{prefix} INSERT DATA {{ {graph} }}")
        yield twin


def test_script_is_kept_replaced_and_removed(twin: Endpoint) -> None:
    given = scripts.add("n1", "a", TEXT, twin, IRIS)
    assert given == [f"{START}.a.data.n", f"{START}.a.data.m"]
    # What a check of all agents finds out replaces only their modules.
    publish_checks("n1", {}, twin, IRIS)
    assert scripts.scripts("n1", twin) == {"a": TEXT}
    scripts.add("n1", "a", "BEGIN { @x = count(); }", twin, IRIS)
    assert scripts.scripts("n1", twin) == {"a": "BEGIN { @x = count(); }"}
    scripts.remove("n1", "a", twin, IRIS)
    assert not scripts.scripts("n1", twin)
    with pytest.raises(ScriptRefusedError, match="n1 has no script 'a'"):
        scripts.remove("n1", "a", twin, IRIS)


@pytest.mark.parametrize("name", ["", "a-b", "1a", "a.b", "../a", "bpftrace", "a" * 64])
def test_unusable_name_is_refused(name: str) -> None:
    with pytest.raises(ScriptRefusedError, match="cannot be the name") as caught:
        scripts.metrics_of(name, TEXT)
    assert caught.value.code == "bad-script"


def test_configuration_has_the_scripts_that_plans_need(twin: Endpoint) -> None:
    for name in "abcdefghi":
        scripts.add("n1", name, TEXT, twin, IRIS)
    wanted = {f"{START}.a.data.n": 1000, f"{START}.a.data.m": 500}
    found = json.loads(scripts.configuration("n1", wanted, twin))
    assert found == {"a": {"text": TEXT, "period_ms": 500}}
    fast = scripts.configuration("n1", {f"{START}.b.data.n": 10}, twin)
    assert json.loads(fast)["b"]["period_ms"] == 100
    every = {f"{START}.{name}.data.n": 1000 for name in "abcdefghi"}
    with pytest.raises(AgentRefusedError, match="9 scripts: at most 8"):
        scripts.configuration("n1", every, twin)
    for metric, why in (
        (f"{START}.none.data.n", "has no script 'none'"),
        ("bpftrace.control.register", "has no script 'register'"),
        (f"{START}.a.data.k", "script a does not give"),
        ("bpftrace.x", "has no script ''"),
    ):
        with pytest.raises(AgentRefusedError, match=why):
            scripts.configuration("n1", {metric: 1000}, twin)
