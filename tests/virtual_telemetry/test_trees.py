"""Expressions as trees: anybody may give Fuseki one, so each is checked."""

import json

import pytest

from core.errors import SuperTwinError
from tests.virtual_telemetry.world import BASE, World, telemetry

POWER, HEAT, USER = (
    f"<{telemetry('power')}>",
    f"<{telemetry('heat')}>",
    f"<{telemetry('cpu.user', 'n1', 'cpu0')}>",
)
USED, FAULTS = f"<{telemetry('mem.used')}>", f"<{telemetry('page.faults')}>"

TREE_OF_POWER = (
    f'{{"input":"{BASE}/{telemetry("power")}","unit":"http://qudt.org/vocab/unit/W"}}'
)
SERVICE = "SELECT ?telemetry { SERVICE <http://127.0.0.1:1/> { ?telemetry ?p ?o } }"
MANY = "SELECT ?telemetry { ?telemetry ?p ?o . ?a ?b ?c . ?d ?e ?f }"
TREES = {
    "": "bad-samples-call",
    "hello": "bad-samples-call",
    "[]": "bad-samples-call",
    "{}": "bad-samples-call",
    '{"of":' * 20_000: "bad-samples-call",
    '{"a":' * 5000 + "1" + "}" * 5000: "bad-samples-call",
    f'{{{{"function":"absent","of":{TREE_OF_POWER}}}}}': "bad-samples-call",
    f'{{{{"function":"quantile(1,","of":{TREE_OF_POWER}}}}}': "bad-samples-call",
    '{"function":"sum"}': "bad-samples-call",
    '{"function":"sum","of":null}': "bad-samples-call",
    '{"function":["sum"],"of":{}}': "bad-samples-call",
    '{"operator":"or vector(1) +","left":{"number":1},"right":{"number":1}}': (
        "bad-samples-call"
    ),
    '{"number":"1"}': "bad-samples-call",
    '{"scale":1,"of":[]}': "bad-samples-call",
    '{"input":5,"unit":""}': "bad-samples-call",
    '{"input":"urn:absent","unit":""}': "unknown-telemetry",
    '{"set":"ASK {}","unit":""}': "bad-samples-call",
    '{"set":"SELECT","unit":""}': "bad-samples-call",
    '{"set":"SELECT ?a { ?a ?b ?c }","unit":""}': "bad-samples-call",
    json.dumps({"set": SERVICE, "unit": ""}): "service-refused",
    json.dumps({"function": "sum", "of": {"set": MANY, "unit": ""}}): (
        "unknown-telemetry|too-many-samples"
    ),
}


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree[:40])
def test_wrong_tree_is_an_error_with_a_code(world: World, tree: str) -> None:
    with pytest.raises(SuperTwinError) as error:
        world.rows(f"VALUES ?tree {{ {json.dumps(tree)} }} ?tree st:metricsQl ?text")
    assert error.value.code in TREES[tree].split("|"), str(error.value)


def test_trees_in_a_query_are_counted(world: World) -> None:
    trees = json.dumps(TREE_OF_POWER)
    rows = f"SELECT ({trees} AS ?tree) {{ ?n ?p ?o }} LIMIT 101"
    with pytest.raises(SuperTwinError) as error:
        world.rows(f"{{ {rows} }} ?tree st:metricsQl ?text")
    assert error.value.code == "bad-samples-call"
