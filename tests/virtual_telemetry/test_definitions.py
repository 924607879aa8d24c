"""Virtual telemetry is checked before it is written, and removed."""

import json

import pytest

from core.errors import SuperTwinError
from ontology.iris import Iris
from ontology.terms import QUDT, ST
from tests.virtual_telemetry.world import BASE, World, telemetry
from virtual_telemetry.definitions import every, find, inputs
from virtual_telemetry.dependencies import fault

POWER, HEAT, USER = (
    f"<{telemetry('power')}>",
    f"<{telemetry('heat')}>",
    f"<{telemetry('cpu.user', 'n1', 'cpu0')}>",
)
USED, FAULTS = f"<{telemetry('mem.used')}>", f"<{telemetry('page.faults')}>"
OF_POWER = '{ ?telemetry st:samplerName "power" }'
REFUSED = {
    # Units.
    f"{POWER} + integral({POWER})": "unit-mismatch",
    f"{USED} - rate({FAULTS})": "unit-mismatch",
    f"{POWER} + 5": "unit-mismatch",
    f"{POWER} + <{telemetry('bare')}>": "unit-mismatch",
    f"in({POWER}, unit:J)": "unit-mismatch",
    f"in({POWER}, unit:Horse)": "unknown-unit",
    "sum({ ?telemetry st:samplerName ?n FILTER (?n IN ('power', 'room')) })": (
        "unit-mismatch"
    ),
    # Kinds of values.
    USER: "bad-expression-text",
    f"{USER} * 2": "bad-expression-text",
    f"in({USER}, unit:SEC)": "bad-expression-text",
    f"rate({POWER})": "bad-expression-text",
    f"rate({POWER} + {HEAT})": "bad-expression-text",
    f"rate(rate({USER}))": "bad-expression-text",
    f"derivative({USER})": "bad-expression-text",
    f"derivative(5) * {POWER}": "bad-expression-text",
    f"<{telemetry('version')}>": "bad-expression-text",
    "1 + 2": "bad-expression-text",
    # Sets.
    OF_POWER: "bad-expression-text",
    f"{OF_POWER} * 2": "bad-expression-text",
    f"sum({POWER})": "bad-expression-text",
    f"sum(sum({OF_POWER}))": "bad-expression-text",
    "sum({ ?t st:samplerName 'power' })": "bad-expression-text",
    "sum({ ?telemetry st:samplerName 'absent' })": "bad-expression-text",
    "sum({ ?telemetry st:samplerName })": "bad-expression-text",
    "sum({ ?telemetry st:samplerName ?n FILTER (?n IN ('power', 'page.faults')) })": (
        "bad-expression-text"
    ),
    "sum({ ?telemetry st:samplerName 'power' ; st:last (?v) })": "bad-samples-call",
    "sum({ ?telemetry st:samplerName 'power' SERVICE <urn:x> { ?a ?b ?c } })": (
        "service-refused"
    ),
    # Inputs.
    "<twin/n1/telemetry/absent/~>": "bad-expression-text",
    "<twin/n1>": "bad-expression-text",
    "<virtual/absent>": "bad-expression-text",
    f"rate(<{telemetry('cpu.user', 'n1', 'cpu9')}>)": "unknown-telemetry",
}


@pytest.mark.parametrize("expression", REFUSED)
def test_wrong_expression_is_refused_and_not_written(
    world: World, expression: str
) -> None:
    with pytest.raises(SuperTwinError) as error:
        world.add("wrong", expression)
    assert error.value.code == REFUSED[expression], str(error.value)
    assert "\n" not in str(error.value)
    assert not world.rows("<virtual/wrong> ?p ?o")


def test_expression_that_becomes_too_long_is_refused(world: World) -> None:
    expression = "derivative(" * 30 + POWER + ")" * 30
    with pytest.raises(SuperTwinError) as error:
        world.add("wrong", expression)
    assert error.value.code == "too-many-samples"


def test_unit_that_does_not_convert_names_both(world: World) -> None:
    with pytest.raises(SuperTwinError, match="unit:W does not convert to unit:BYTE"):
        world.add("wrong", POWER, "BYTE")


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a/b", "a" * 65, "a\n"])
def test_wrong_name_is_refused(world: World, name: str) -> None:
    with pytest.raises(SuperTwinError) as error:
        world.add(name, POWER)
    assert error.value.code == "bad-virtual-name"


def test_node_has_expression_unit_and_host(world: World) -> None:
    made = world.add("sum-of-two", f"{POWER} + {HEAT}", "KiloW", "Both")
    with world.twin() as twin:
        assert find(twin, "sum-of-two") == made
        assert made in every(twin)
    assert made.host == f"{BASE}/twin/n1"
    assert made.unit == "http://qudt.org/vocab/unit/KiloW"
    (row,) = world.rows(
        "<virtual/sum-of-two> a st:VirtualTelemetry, st:Telemetry ; ?label 'Both' ;"
        " st:ofHost <twin/n1> ; st:expression ?text"
    )
    assert row["text"] == f"{POWER} + {HEAT}"


def test_replacement_keeps_nothing_of_what_it_replaces(world: World) -> None:
    world.add("changed", POWER, "KiloW")
    world.add("changed", f"sum({OF_POWER})")
    rows = world.rows("<virtual/changed> ?p ?o")
    assert str(ST.ofHost) not in {row["p"] for row in rows}
    assert [r["o"] for r in rows if r["p"] == str(ST.expression)] == [
        f"sum({OF_POWER})"
    ]
    with pytest.raises(SuperTwinError):
        world.add("changed", "1")
    assert world.rows("<virtual/changed> ?p ?o") == rows


def test_inputs_follow_the_graph(world: World) -> None:
    made = world.add("followed", f"sum({OF_POWER}) + {HEAT}", "W")
    assert made.host == ""
    names = [telemetry("heat"), telemetry("power"), telemetry("power", "n2")]
    graph = str(Iris(BASE).twin_graph("n2"))
    with world.twin() as twin:
        assert inputs(twin, made.iri) == [f"{BASE}/{name}" for name in names]
        whole = twin.get_graph(graph)
        twin.update(f"DROP GRAPH <{graph}>")
        assert inputs(twin, made.iri) == [f"{BASE}/{name}" for name in names[:2]]
        twin.put_graph(graph, whole)
        assert len(inputs(twin, made.iri)) == 3


def test_host_that_is_described_again_keeps_its_virtual_telemetry(world: World) -> None:
    world.add("lasting", POWER)
    with world.twin() as twin:
        graph = str(Iris(BASE).twin_graph("n1"))
        twin.put_graph(graph, twin.get_graph(graph))
    assert world.rows("<virtual/lasting> st:ofHost <twin/n1> ; st:virtualName ?name")


def test_cycles_are_refused_at_any_distance(world: World) -> None:
    world.add("first", POWER)
    world.add("second", "<virtual/first> * 2")
    world.add("third", "<virtual/second> * 2")
    for name in ("first", "second", "third"):
        with pytest.raises(SuperTwinError, match=f"{name} → .*{name}") as error:
            world.add(name, "<virtual/third> * 3")
        assert error.value.code == "virtual-cycle"
    for name in ("third", "second", "first"):
        world.remove(name)


def test_cycle_that_was_written_anyway_is_an_error_when_it_is_read(
    world: World,
) -> None:
    world.add("one", POWER)
    world.add("other", "<virtual/one> * 2")
    tree = f'{{"input":"{BASE}/virtual/other","unit":"http://qudt.org/vocab/unit/W"}}'
    world.rewrite("one", ST.expressionTree, f"'{tree}'")
    with pytest.raises(SuperTwinError) as error:
        world.values("other", 0, 10)
    assert error.value.code == "virtual-cycle"
    world.add("one", POWER)
    for name in ("other", "one"):
        world.remove(name)


def test_input_of_another_is_not_removed(world: World) -> None:
    world.add("used", POWER)
    world.add("user", "<virtual/used> * 2")
    with pytest.raises(SuperTwinError, match="^user ") as error:
        world.remove("used")
    assert error.value.code == "virtual-in-use"
    world.remove("user")
    world.remove("used")
    assert not world.rows("<virtual/used> ?p ?o")
    with pytest.raises(SuperTwinError, match="no virtual telemetry 'used'") as error:
        world.remove("used")
    assert error.value.code == "unknown-virtual"


def test_unit_of_an_input_may_change_to_one_that_converts(world: World) -> None:
    world.add("base", f"{POWER}")
    world.add("above", "<virtual/base> * 2")
    before = world.values("above", 0, 20)
    world.add("base", POWER, "KiloW")
    assert world.values("above", 0, 20) == pytest.approx(before)
    world.rewrite("base", QUDT.hasUnit, "<http://qudt.org/vocab/unit/J>")
    with pytest.raises(SuperTwinError, match="above .*base.*unit:J.*unit:W") as error:
        world.values("above", 0, 20)
    assert error.value.code == "unit-mismatch"
    world.add("base", POWER)
    for name in ("above", "base"):
        world.remove(name)


def test_change_that_would_break_others_is_refused(world: World) -> None:
    world.add("base", POWER)
    world.add("above", "<virtual/base> * 2")
    world.add("top", f"<virtual/above> + {POWER}")
    long = " + ".join(["<virtual/base>"] * 20)
    world.add("wide", long)
    for expression, user in (
        (f"integral({POWER})", "above"),
        (f"<{telemetry('bare')}>", "above"),
        (" + ".join([POWER] * 30), "wide"),
    ):
        with pytest.raises(
            SuperTwinError, match=f"^{user} computes with base"
        ) as error:
            world.add("base", expression)
        assert error.value.code == "virtual-in-use"
    assert world.add("base", f"{POWER} * 2", "KiloW").unit.endswith("KiloW")
    for name in ("wide", "top", "above", "base"):
        world.remove(name)


def test_one_that_cannot_be_computed_breaks_no_other(world: World) -> None:
    world.add("good", POWER)
    world.add("broken", f"<{telemetry('power', 'n2')}> * 2")
    graph = str(Iris(BASE).twin_graph("n2"))
    with world.twin() as twin:
        whole = twin.get_graph(graph)
        twin.update(f"DROP GRAPH <{graph}>")
        texts = world.rows("?virtual st:metricsQl ?text")
        named = inputs(twin, f"{BASE}/virtual/broken")
        why = fault(find(twin, "broken").tree, twin)
        with pytest.raises(SuperTwinError, match="virtual/broken cannot be") as error:
            world.values("broken", 0, 10)
        assert world.values("good", 0, 10)
        twin.put_graph(graph, whole)
        assert fault(find(twin, "broken").tree, twin) == ""
    assert error.value.code == "unknown-telemetry"
    found = {row["virtual"].rpartition("/")[2] for row in texts}
    assert "good" in found and "broken" not in found
    assert named == [f"{BASE}/{telemetry('power', 'n2')}"]
    assert telemetry("power", "n2") in why
    for name in ("good", "broken"):
        world.remove(name)


def test_bad_calls_of_virtual_telemetry(world: World) -> None:
    world.add("called", POWER)
    for call in ("st:rate (0 10 ?v)", "st:increase (0 10 ?v)"):
        with pytest.raises(SuperTwinError) as error:
            world.rows(f"<virtual/called> {call}")
        assert error.value.code == "bad-samples-call"
    with pytest.raises(SuperTwinError) as error:
        world.rows("<virtual/called> st:avg (0 'now' ?v)")
    assert error.value.code == "too-many-samples"
    with pytest.raises(SuperTwinError) as error:
        world.rows("<virtual/called> st:rawSamples (0 'now' ?time ?v)")
    assert error.value.code == "too-many-samples"


def test_set_that_lost_all_members_has_no_values(world: World) -> None:
    pattern = "{ ?telemetry st:samplerName 'power' ; st:dbName ?any ; ?mark 1 }"
    node = f"<{BASE}/{telemetry('power')}> <urn:mark> 1"
    with world.twin() as twin:
        twin.update(f"INSERT DATA {{ GRAPH <{BASE}/marks> {{ {node} }} }}")
        world.add("emptied", f"sum({pattern}) + {HEAT}", "W")
        assert world.values("emptied", 0, 100)
        twin.update(f"DROP GRAPH <{BASE}/marks>")
    assert world.values("emptied", 0, 100) == {}
    assert world.rows("<virtual/emptied> st:last (?v)") == []
    call = f"st:avg ({world.range(0, 100)} ?v ?present ?expected)"
    assert world.rows(f"<virtual/emptied> {call}") == [
        {"v": None, "present": 0, "expected": None}
    ]
    assert world.rows("<virtual/emptied> st:metricsQl ?text") == []
    world.remove("emptied")


def test_long_range_is_read_in_portions(world: World) -> None:
    world.add("long", POWER)
    call = f"<virtual/long> st:rawSamples ({world.range(-40_000, 1200)} ?time ?value)"
    assert len(world.requests(call)) == 2
    assert len(world.rows(call)) == 1200
    call = f"<virtual/long> st:avg ({world.range(-180_000, 1200)} 600 ?time ?value)"
    assert len(world.requests(call)) == 2
    assert len(world.rows(call)) == 2
    world.remove("long")


def test_scope_hides_virtual_telemetry_and_inputs_of_other_hosts(world: World) -> None:
    world.add("scoped", f"sum({OF_POWER})")
    assert world.values("scoped", 0, 10)  # also keeps the compiled expression
    tree = '{"function":"sum","of":{"set":"%s","unit":"%s"}}'
    of_power = (
        f"PREFIX st: <{ST}> SELECT ?telemetry {{ ?telemetry st:samplerName 'power' ; "
        "st:dbName ?name ; st:ofMetric ?metric }"
    )
    text = tree % (of_power, "http://qudt.org/vocab/unit/W")
    for pattern, found in (
        ("<virtual/scoped> ?p ?o", 0),
        ("?virtual st:derivedFrom ?input", 0),
        ("<virtual/scoped> st:metricsQl ?text", 0),
        (f"VALUES ?tree {{ {json.dumps(text)} }} ?tree st:derivedFrom ?input", 1),
    ):
        assert len(world.rows_in_scope(pattern, hosts=["n1"])) == found, pattern
    call = f"<virtual/scoped> st:avg ({world.range(0, 10)} ?value)"
    with pytest.raises(SuperTwinError) as error:
        world.rows_in_scope(call, hosts=["n1"])
    assert error.value.code == "unknown-telemetry"
    world.remove("scoped")
