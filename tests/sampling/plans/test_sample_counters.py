"""Plans of roles and events for other processors, on a real graph store.

Events that cannot be counted are refused. The agent counts what all plans of a host
request together.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import NotRunningError, SuperTwinError
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ingest.errors import PlanRequestError, UnknownInstanceError, UnknownMetricError
from ingest.pmu.pfm import read_events
from ingest.pmu.roles import known_codes, roles
from ingest.pmu.store import publish_roles
from ontology.iris import stated
from ontology.terms import ST
from queries.catalogue import saved_query
from sampling.cost.plan_cost import plan_cost
from sampling.counters import counters
from sampling.counters.perfevent import prepare
from sampling.events.event import split_event
from sampling.plan_file.choice import InstanceSelection
from sampling.plan_file.graph_plan import read_plan
from sampling.plans.counters import publish_counters
from sampling.plans.request import PlanRequest
from sampling.plans.store import add_plan, plan_names, remove_plan
from tests.counting_hosts import IRIS, MODELS, add, publish_host, request
from tests.servers import Fuseki

EVENTS = {"msr": ["tsc"], "software": [], "cpu": [], "power": ["energy-pkg"]}


@pytest.fixture(scope="module")
def twin(emptied_fuseki: Fuseki) -> Iterator[Endpoint]:
    """A store with the roles and hosts, each a socket with four threads."""
    with Endpoint(f"{emptied_fuseki.url}/twin") as endpoint:
        publish_roles(endpoint, IRIS)
        for host in MODELS:
            publish_host(endpoint, host, EVENTS)
        yield endpoint


@pytest.fixture(autouse=True)
def no_plans(twin: Endpoint) -> Iterator[None]:
    yield
    for host in MODELS:
        for plan in plan_names(host, twin):
            remove_plan(host, plan, twin, IRIS)
        publish_counters(host, None, "", twin, IRIS)


def configured(text: str) -> list[str]:
    return [line.split()[0] for line in text.splitlines()[2:] if "::" in line]


def refusal(twin: Endpoint, asked: PlanRequest) -> SuperTwinError:
    with pytest.raises(SuperTwinError) as caught:
        add(twin, asked)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("host", MODELS)
def test_libpfm4_knows_the_events_of_a_role_plan(twin: Endpoint, host: str) -> None:
    """For all roles of the processor; RAPL's events depend on where libpfm4 runs."""
    refused = prepare(twin, host, roles(), (), multiplex=True).choice.refused
    measured = [role for role in roles() if role not in refused]
    wanted = counters.planned(request(host, "a", *measured, multiplex=True), twin)
    assert wanted.remarks, "there are more events than counters"
    lines = [split_event(line) for line in configured(wanted.together.text)]
    assert len(lines) == len(set(lines)) >= 5
    for pmu, name in lines:
        known = [one["encoding"] for one in read_events({pmu: [name]}).get(pmu, [])]
        assert known and all(known) or (pmu, name) in known_codes(), (pmu, name)
    assert {role for one in wanted.counts.values() for role in one.roles} == {*measured}
    own = [one for one in wanted.counts.values() if not one.is_kernel]
    assert len(own) == 2 * len(lines)


def test_plan_lists_its_events(twin: Endpoint) -> None:
    event = "INST_RETIRED:ANY_P"
    add(twin, request("sky", "a", "FLOPsDouble", events=(event, "msr::tsc")))
    rows = twin.select(saved_query("telemetry/plan-events").bind({"host": "sky"}))
    assert [row[1:] for row in rows.values()] == [
        ["a", None, "msr::tsc", False],
        ["a", None, f"skx::{event}", False],
        ["a", "FLOPsDouble", None, False],
    ]
    (plan,) = twin.select(saved_query("telemetry/plans").bind({"host": "sky"})).values()
    assert plan[-2:] == ["FLOPsDouble", f"msr::tsc, skx::{event}"]
    names = read_plan(twin, "sky").groups()[1000].names
    assert "perfevent.hwcounters.msr.tsc.dutycycle" in names
    assert "perfevent.hwcounters.skx__INST_RETIRED_ANY_P.value" in names
    assert len(names) == 2 * (4 + 2)


def test_series_of_pmu_events_are_hardware_telemetry(twin: Endpoint) -> None:
    named = ("INST_RETIRED:ANY_P", "skx::INST_RETIRED:ANY_P:u", "msr::tsc")
    more = {"events": named, "metrics": ("k.load",), "multiplex": True}
    asked = request("sky", "a", "FLOPsDouble", **more)
    load = IRIS.metric("k.load")
    twin.update(
        f"""INSERT DATA {{ GRAPH <{IRIS.twin_graph("sky")}> {{
        <{load}> a <{ST.Metric}> ; <{ST.samplerName}> "k.load" ;
          <{ST.valueType}> "u64" . <{IRIS.host("sky")}> <{ST.exposes}> <{load}> }} }}"""
    )
    add(twin, asked)
    rows = twin.select(
        f"""SELECT DISTINCT ?kind ?metric ?name ?event {{
          ?series <{ST.sampledBy}> ?plan ; <{ST.samplerName}> ?metric .
          {stated("?series a ?kind")}
          OPTIONAL {{ ?series <{ST.pmuName}> ?name }}
          OPTIONAL {{ ?series <{ST.ofEvent}> ?event }} }}"""
    ).values()
    found = {metric: (kind, name, event) for kind, metric, name, event in rows}
    hardware, event = str(ST.HWTelemetry), "INST_RETIRED:ANY_P"
    counters = "perfevent.hwcounters"
    plain = (hardware, event, str(IRIS.pmu_event("skx", event)))
    assert found[f"{counters}.skx__INST_RETIRED_ANY_P.value"] == plain
    assert found[f"{counters}.skx__INST_RETIRED_ANY_P.dutycycle"] == plain
    modified = found[f"{counters}.skx__INST_RETIRED_ANY_P_u.value"]
    assert modified == (hardware, f"{event}:u", None)
    assert found[f"{counters}.msr.tsc.value"] == (hardware, "msr::tsc", None)
    assert found["k.load"] == (str(ST.SWTelemetry), None, None)
    of_role = [one for one in found.values() if (one[1] or "").startswith("FP_ARITH")]
    assert len(of_role) == 2 * 4 and all(event for _, _, event in of_role)
    assert all(kind == hardware for name, (kind, *_) in found.items() if "perf" in name)


def test_events_of_a_plan_have_a_cost(
    twin: Endpoint, emptied_fuseki: Fuseki, tmp_path: Path
) -> None:
    """Each event has a value and a duty cycle on each of four threads."""
    settings = Settings(home=tmp_path, base=IRIS.base, fuseki_url=emptied_fuseki.url)
    asked = request("sky", "a", "FLOPsDouble", events=("msr::tsc",))
    found = plan_cost(settings, asked)
    assert found.added.series == 2 * (4 + 1) * 4
    assert found.added.fetches == 1
    assert found.added.agents["perfevent"].values == found.added.series
    assert not found.added.unknown
    add(twin, asked)
    again = plan_cost(settings, request("sky", "b", "FLOPsDouble"))
    assert (again.added.points, again.added.fetches) == (0, 0)
    assert again.whole.series == found.added.series
    one = request("sky", "c", events=("software::page-faults",), instances=("cpu1",))
    assert plan_cost(settings, one).added.series == 2
    # One thread of each NUMA domain counts what a socket uses.
    power = request("sky", "c", "EnergyPackage")
    assert plan_cost(settings, power).added.series == 2


def test_counters_of_all_plans_are_summed(twin: Endpoint) -> None:
    add(twin, request("ice", "a", "FLOPsDouble"))
    both = counters.planned(request("ice", "b", "Cycles", events=("msr::tsc",)), twin)
    alone = counters.planned(request("ice", "b", "FLOPsDouble"), twin).together.text
    lines = configured(both.together.text)
    assert {*configured(alone), "msr.tsc"} < {*lines, "msr.tsc"}
    assert len(lines) == len(configured(alone)) + 1
    assert "msr.tsc" in both.together.text
    # Contains only the new plan's own metrics.
    assert {name.split(".")[2] for name in both.counts} >= {"msr"}
    assert len(both.counts) == 4
    # Another plan of events that are counted already changes nothing for the agent.
    assert (
        alone
        == counters.planned(request("ice", "c", "FLOPsDouble"), twin).together.text
    )


def test_counters_are_shared_only_by_plans_that_allow_it(twin: Endpoint) -> None:
    many = ("FLOPs", "L1Misses", "L2Misses", "Loads", "Stores")
    line = str(refusal(twin, request("sky", "a", *many)))
    assert "has 4 general counters, but" in line
    assert not plan_names("sky", twin)
    asked = request("sky", "a", *many, multiplex=True)
    (line,) = counters.planned(asked, twin).remarks
    assert line.endswith("% of the time")
    add(twin, request("sky", "exact", "FLOPsDouble"))
    line = str(refusal(twin, asked))
    assert "plans of sky that do not share counters: exact" in line
    remove_plan("sky", "exact", twin, IRIS)
    add(twin, asked)
    assert "asks" not in str(refusal(twin, request("sky", "b", "FLOPsDouble")))
    add(twin, request("sky", "b", "FLOPsDouble", multiplex=True))


def test_instances_of_events_are_selected_like_those_of_metrics(twin: Endpoint) -> None:
    tsc = {"events": ("msr::tsc",)}
    some = {"query": "topology/socket-threads", "parameters": {"socket": "0"}}
    add(twin, request("zen4", "all", **tsc, **some))
    add(twin, request("zen4", "one", **tsc, instances=("cpu1",), period_ms=10))
    groups = read_plan(twin, "zen4").groups()
    name = "perfevent.hwcounters.msr.tsc.value"
    assert groups[10].choices[name] == InstanceSelection(frozenset({"cpu1"}))
    assert groups[1000].choices[name] == InstanceSelection(
        frozenset({"cpu0", "cpu2", "cpu3"})
    )


def test_event_metric_of_another_plan_cannot_be_planned(
    twin: Endpoint,
) -> None:
    """The metric would disappear with the other plan, without a message."""
    name = "perfevent.hwcounters.msr.tsc.value"
    add(twin, request("zen4", "a", events=("msr::tsc",)))
    alone = request("zen4", "b", metrics=("kernel.all.load", name))
    with pytest.raises(PlanRequestError, match=f"{name} is counted for the events of"):
        add_plan(alone, twin, IRIS)


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"metrics": ("no.such",)}, UnknownMetricError),
        ({"instances": ("cpu9",)}, UnknownInstanceError),
        ({"query": "inventory/system"}, PlanRequestError),
    ],
)
def test_invalid_request_is_refused_before_contacting_an_agent(
    twin: Endpoint, tmp_path: Path, more: dict[str, object], kind: type[Exception]
) -> None:
    """No agent exists here: reaching it would give another error."""
    settings = Settings(home=tmp_path, base=IRIS.base, host="zen4")
    asked = request("zen4", "bad", **{"events": ("msr::tsc",), **more})
    with (
        pytest.raises(kind),
        counters.counting(settings, asked, twin, print),
    ):
        pass
    with (
        pytest.raises(NotRunningError),
        counters.counting(settings, request("zen4", "x", "Cycles"), twin, print),
    ):
        pass


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"roles": ("Nope",)}, "not-countable"),
        ({"roles": ("L1Stalls",)}, "not-countable"),
        ({"events": ("NOPE",)}, "not-countable"),
        ({"events": ("skx::INST_RETIRED:ANY_P",)}, "not-countable"),
        ({"events": ("msr::aperf",)}, "not-countable"),
        ({"events": ("msr::tsc\nmsr::aperf",)}, "not-countable"),
        ({"events": ("",)}, "not-countable"),
        ({"metrics": ("no.such",)}, "unknown-metric"),
        ({"period_ms": 0}, "plan-refused"),
        ({"instances": ("cpu9",)}, "unknown-instance"),
        ({"instances": ("cpu0\ncpu1",)}, "plan-refused"),
        (
            {"query": "topology/socket-threads", "parameters": {"socket": "7"}},
            "plan-refused",
        ),
        ({"query": "inventory/system"}, "plan-refused"),
        ({"query": "no/such"}, "unknown-query"),
        (
            {"query": "topology/socket-threads", "parameters": {"socket": "x"}},
            "bad-parameter",
        ),
    ],
)
def test_invalid_input_is_refused(
    twin: Endpoint, more: dict[str, object], code: str
) -> None:
    asked = request("zen4", "bad", **{"events": ("msr::tsc",), **more})
    assert refusal(twin, asked).code == code
    assert not plan_names("zen4", twin)
