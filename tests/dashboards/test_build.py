"""A dashboard from its saved queries, for hosts with much, little or no data."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.stores.endpoint import Endpoint
from core.stores.errors import EndpointUnreachableError, QuerySyntaxError
from core.stores.results import TermRows
from dashboards.build import BoundQuery, build, run
from dashboards.errors import UnknownDashboardError
from dashboards.spec import Dashboard, Panel
from ingest.hwloc.read import parse_hwloc
from ingest.probe import hwloc_document
from queries.errors import UnknownHostError
from tests.dashboards.saved import saved_dashboards
from tests.dashboards.synthetic import publish_document
from tests.dashboards.synthetic_facts import big_document, topology
from tests.ports import free_port
from tests.servers import Fuseki

BASE = "http://localhost:8000"
SMALL = "pack:1 numa:1 l2:1 l1d:2 core:1 pu:2"
HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def graph(emptied_fuseki: Fuseki) -> Iterator[Endpoint]:
    """Hosts: big; poor, whose PCP offers little; idle, without plans; dark, without
    PCP; shut, whose PCP refused; odd, of a hostile name."""
    for document in _documents():
        publish_document(emptied_fuseki.url, BASE, document)
    with Endpoint(f"{emptied_fuseki.url}/twin") as twin:
        twin.update(f"DROP GRAPH <{BASE}/graph/plans/idle>")
        yield twin


def _documents() -> Iterator[dict[str, Any]]:
    yield big_document("big", topology())
    yield _poor()
    yield big_document("idle", topology(SMALL))
    dark = hwloc_document("dark", parse_hwloc(topology(SMALL)))
    yield dark
    refused = {"ok": False, "seconds": 0.1, "reason": "no PMCD answers: start it"}
    shut = copy.deepcopy(dark) | {"host": "shut"}
    yield {**shut, "sources": {**shut["sources"], "pcp": refused}}
    odd = big_document("odd", topology(SMALL))
    odd["facts"]["disks"][0]["name"] = HOSTILE
    odd["facts"]["pcp"]["indoms"]["60.1"]["instances"] = [[HOSTILE, 0]]
    yield odd


def _poor() -> dict[str, Any]:
    document = big_document("poor", topology(SMALL))
    pcp = document["facts"]["pcp"]
    gone = ("lmsensors.", "denki.", "kernel.all.pressure.", "kernel.all.cpu.steal")
    pcp["metrics"] = [m for m in pcp["metrics"] if not m["name"].startswith(gone)]
    pcp["indoms"]["60.1"]["instances"] = []
    del pcp["indoms"]["156.0"]
    return document


def made(
    graph: Endpoint, name: str, host: str, folder: Path | None = None
) -> Dashboard:
    """The dashboard, with one query to the graph at a time."""
    dashboards = saved_dashboards(folder) if folder else None
    batches = build(name, host, BASE, dashboards)
    return run(batches, lambda question: graph.select(question.sparql))


def panels(dashboard: Dashboard) -> dict[str, Panel]:
    return {p.id: p for section in dashboard.sections for p in section.panels}


def titled(dashboard: Dashboard, title: str) -> Panel:
    return next(p for p in panels(dashboard).values() if p.title == title)


@pytest.fixture(scope="module")
def big(graph: Endpoint) -> Dashboard:
    return made(graph, "monitor", "big")


def test_sections_are_sockets_domains_and_subjects(big: Dashboard) -> None:
    titles = [section.title for section in big.sections]
    assert titles == [
        *("Host", "Socket 0", "Socket 1", "Memory"),
        *(f"NUMA domain {number}" for number in range(8)),
        *("Disks", "Network", "Temperature and power"),
    ]
    assert big.sections[1].component == f"{BASE}/twin/big/socket/socket-0"
    assert big.sections[0].component == ""


def test_fully_sampled_host_has_all_panels(big: Dashboard) -> None:
    for panel in panels(big).values():
        assert (panel.problem, panel.why) == ("", ()), panel.id
        assert panel.series, panel.id
        assert panel.unit, panel.id
        assert {s.target for s in panel.series} == set(range(len(panel.targets)))


def test_threads_are_in_topology_order(big: Dashboard) -> None:
    """Siblings are numbered 64 apart, and share an L1."""
    heat = [p for p in panels(big).values() if p.title == "Busy threads"]
    order = [series.instname for panel in heat for series in panel.series]
    assert order == [f"cpu{n + 64 * s}" for n in range(64) for s in range(2)]
    groups = [series.group for series in heat[0].series]
    assert groups[:4] == ["L1d of threads 0,64"] * 2 + ["L1d of threads 1,65"] * 2
    assert all(len(panel.targets) == 1 for panel in heat)


def test_cores_are_grouped_by_shared_cache(big: Dashboard) -> None:
    caches = [p for p in panels(big).values() if p.title.startswith("L3 of")]
    assert len(caches) == 16
    assert caches[1].title == "L3 of threads 4-7,68-71"
    wanted = [f"cpu{n + 64 * s}" for n in range(4, 8) for s in range(2)]
    assert [series.instname for series in caches[1].series] == wanted
    assert {panel.width for panel in caches} == {6}


def test_shares_are_of_all_threads(big: Dashboard) -> None:
    time = titled(big, "CPU time")
    assert time.targets[0].expression == (
        'rate(kernel_all_cpu_user{hostname="big"}) / 128000'
    )
    assert time.stack
    assert time.unit
    assert time.unit.qudt == "FRACTION"


def test_only_panels_of_threads_can_be_narrowed(big: Dashboard) -> None:
    for panel in panels(big).values():
        threads = all("/thread/" in series.component for series in panel.series)
        assert panel.narrows == threads, panel.id
        for target in panel.targets:
            assert ("$component" in target.expression) == panel.narrows


def test_ids_are_stable_and_distinct(graph: Endpoint, big: Dashboard) -> None:
    ids = [p.id for section in big.sections for p in section.panels]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z0-9-]+", one) for one in ids)
    assert "host-cpu-time" in ids
    again = [p.id for s in made(graph, "monitor", "big").sections for p in s.panels]
    assert again == ids


def test_drop_downs_list_hosts_and_components(big: Dashboard) -> None:
    assert set(big.hosts) == {"big", "poor", "idle", "dark", "shut", "odd"}
    kinds = [component.id.partition("/")[0] for component in big.components]
    assert kinds == ["socket"] * 2 + ["numa"] * 8 + ["cache"] * 16 + ["core"] * 64
    one = next(c for c in big.components if c.id == "cache/l3-4")
    assert one.label == "L3 of threads 4-7,68-71"
    assert one.iri == f"{BASE}/twin/big/cache/l3-4"
    assert set(one.instances) == {f"cpu{n}" for n in (*range(4, 8), *range(68, 72))}
    assert one.pattern == "cpu4|cpu5|cpu6|cpu7|cpu68|cpu69|cpu70|cpu71"


def test_metrics_that_a_host_lacks_are_explained(graph: Endpoint) -> None:
    poor = made(graph, "monitor", "poor")
    time, pressure = titled(poor, "CPU time"), titled(poor, "Pressure")
    assert time.why == ("PCP on 'poor' does not offer 'kernel.all.cpu.steal'",)
    assert len(time.series) == 6
    assert len(pressure.why) == 1
    assert pressure.why[0].startswith(
        "PCP on 'poor' does not offer 'kernel.all.pressure.cpu.some.total', 'kernel"
    )
    assert pressure.why[0].endswith(" or 'kernel.all.pressure.irq.full.total'")
    assert not pressure.series
    (panel_text,) = titled(poor, "Temperature").why
    assert panel_text == "PCP on 'poor' does not offer 'lmsensors.*'"
    (panel_text,) = titled(poor, "Busy disks").why
    assert panel_text == "'disk.dev.avactive' has no instance on 'poor'"


def test_metrics_that_no_plan_samples_are_explained(graph: Endpoint) -> None:
    idle = made(graph, "monitor", "idle")
    for panel in panels(idle).values():
        assert not panel.series
        assert len(panel.why) == 1, panel.id
        assert panel.why[0].startswith("no plan samples '")
    (panel_text,) = titled(idle, "Power").why
    assert panel_text == "no plan samples 'denki.rapl.*' on 'idle'"


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("dark", "'dark' was described without asking PCP: probe it there"),
        ("shut", "the probe could not read PCP: no PMCD answers: start it"),
    ],
)
def test_host_without_data_is_explained_once_per_panel(
    graph: Endpoint, host: str, reason: str
) -> None:
    asked: list[BoundQuery] = []

    def ask(question: BoundQuery) -> TermRows:
        asked.append(question)
        return graph.select(question.sparql)

    dashboard = run(build("monitor", host, BASE), ask)
    assert {panel.why for panel in panels(dashboard).values()} == {(reason,)}
    assert len([q for q in asked if q.query.startswith("why/")]) == 1
    titles = [section.title for section in dashboard.sections]
    assert titles[:3] == ["Host", "Hardware threads", "Memory"]


def test_hostile_names_stay_text(graph: Endpoint) -> None:
    odd = titled(made(graph, "monitor", "odd"), "Busy disks")
    assert odd.series[0].label == f"{HOSTILE} busy"
    assert odd.series[0].instname == HOSTILE
    assert r'instname="<img src=x onerror=\"alert(1)\">"' in odd.targets[0].expression


def test_cores_without_a_shared_cache_are_grouped_by_socket(graph: Endpoint) -> None:
    """For the small host: no L3, and one L2 that both cores share."""
    odd = made(graph, "monitor", "odd")
    assert [s.title for s in odd.sections][1] == "Socket 0"
    wide = titled(odd, "L2 of threads 0-3")
    assert wide.width == 24
    assert [c.id for c in odd.components] == [
        *("socket/socket-0", "numa/0", "core/core-0", "core/core-2"),
    ]


@pytest.mark.parametrize("host", ["", "big"])
def test_tables_cover_all_hosts_or_one(graph: Endpoint, host: str) -> None:
    inventory = made(graph, "inventory", host)
    hosts = titled(inventory, "Hosts").table
    assert hosts
    names = [row[0] for row in hosts.rows]
    assert names == (["big"] if host else sorted(inventory.hosts))
    memory = next(c for c in hosts.columns if c.name == "memory")
    assert memory.unit
    assert (memory.numeric, memory.unit.grafana) == (True, "bytes")
    assert (
        f"VALUES (?host) {{ ({f'{chr(34)}big{chr(34)}' if host else 'UNDEF'}) }}"
        in (hosts.query)
    )
    assert inventory.components == ()
    for panel in panels(inventory).values():
        assert panel.table is not None
        assert bool(panel.table.rows) != bool(panel.why), panel.id


def test_failed_query_for_reasons_is_reported(graph: Endpoint) -> None:
    def ask(question: BoundQuery) -> TermRows:
        if question.values.get("pattern") == "lmsensors.*":
            raise QuerySyntaxError("no such query")
        return graph.select(question.sparql)

    poor = run(build("monitor", "poor", BASE), ask)
    assert titled(poor, "Temperature").why == ("lmsensors.*: no such query",)
    assert len(titled(poor, "CPU time").why) == 1


@pytest.mark.parametrize(
    ("name", "host", "error", "message"),
    [
        ("x", "big", UnknownDashboardError, "no dashboard 'x'; there are: bridge"),
        (
            "monitor",
            "",
            UnknownHostError,
            "dashboard monitor is about one host: name",
        ),
        (
            "monitor",
            "n9",
            UnknownHostError,
            "no host 'n9'; it knows: big, dark, idle",
        ),
        (
            "inventory",
            "n9",
            UnknownHostError,
            "no host 'n9'; it knows: big, dark",
        ),
        ("monitor", "\udcff", UnknownHostError, "no host"),
    ],
)
def test_unknown_dashboard_or_host_is_refused(
    graph: Endpoint, name: str, host: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        made(graph, name, host)
    assert "\n" not in str(caught.value)


def test_unreachable_store_ends_the_build() -> None:
    with (
        Endpoint(f"http://127.0.0.1:{free_port()}/twin") as away,
        pytest.raises(EndpointUnreachableError),
    ):
        made(away, "monitor", "big")


def test_equal_queries_of_a_batch_run_once(graph: Endpoint) -> None:
    batches = build("monitor", "big", BASE)
    asked = next(batches)
    assert len({(q.query, str(q.values)) for q in asked}) == len(asked)
    assert len(asked) <= 12
    batches.close()


def test_dashboard_is_plain_data(big: Dashboard) -> None:
    document = json.loads(json.dumps(big.document()))
    assert document["host"] == "big"
    (first, *_) = document["sections"][0]["panels"]
    assert first["id"] == "host-cpu-time"
    assert first["targets"][0]["metric"] == "kernel.all.cpu.user"
    assert first["unit"]["grafana"] == "percentunit"
