"""Which dashboards exist: all names in the panel headers of saved queries."""

from pathlib import Path

import pytest

from dashboards.catalogue import definition, load_dashboards
from dashboards.errors import UnknownDashboardError
from dashboards.header import PanelHeader
from sampling.plan_file.monitor import load_monitor
from sampling.sources.cgroup_metrics import cgroup_metrics
from sampling.sources.own_metrics import OWN_METRICS
from sampling.sources.probe_metrics import PROBE_METRICS
from tests.dashboards.saved import SERIES, TABLE, query_text, save, saved_dashboards


def test_own_dashboards_are_loaded() -> None:
    monitor, inventory = definition("monitor"), definition("inventory")
    assert list(load_dashboards()) == [
        "bridge",
        "inventory",
        "jobs",
        "monitor",
        "probes",
        "roofline",
        "virtual",
    ]
    assert (monitor.title, monitor.about_one_host) == ("Monitor", True)
    assert (inventory.title, inventory.about_one_host) == ("Inventory and drift", False)


@pytest.mark.parametrize("name", load_dashboards())
def test_all_headers_are_valid(name: str) -> None:
    assert not [panel.problem for panel in definition(name).panels if panel.problem]


@pytest.mark.parametrize("name", load_dashboards())
def test_panel_positions_are_unique(name: str) -> None:
    positions = [panel.position for panel in definition(name).panels]
    assert positions == sorted(set(positions))


@pytest.mark.parametrize("panel", definition("bridge").panels, ids=lambda p: p.title)
def test_bridge_dashboard_uses_only_own_metrics(panel: PanelHeader) -> None:
    assert panel.metrics
    assert set(panel.metrics) <= {metric.name for metric in OWN_METRICS}


@pytest.mark.parametrize("panel", definition("jobs").panels, ids=lambda p: p.title)
def test_jobs_dashboard_uses_only_control_group_metrics(panel: PanelHeader) -> None:
    assert panel.metrics
    assert set(panel.metrics) <= set(cgroup_metrics())


@pytest.mark.parametrize("panel", definition("probes").panels, ids=lambda p: p.title)
def test_probes_dashboard_uses_only_probe_metrics(panel: PanelHeader) -> None:
    agents = {"bpf.runq.latency", "bpf.disk.all.latency", "bpftrace.scripts.*"}
    assert panel.metrics
    assert set(panel.metrics) <= {metric.name for metric in PROBE_METRICS} | agents


@pytest.mark.parametrize("panel", definition("monitor").panels, ids=lambda p: p.title)
def test_monitor_dashboard_uses_only_the_monitor_set(panel: PanelHeader) -> None:
    assert panel.metrics
    assert set(panel.metrics) <= set(load_monitor())


def test_header_alone_defines_a_dashboard(tmp_path: Path) -> None:
    save(tmp_path, "a/late", query_text({**TABLE, "position": 9}, columns=("host",)))
    save(tmp_path, "b/early", query_text([{**SERIES, "position": 1}]))
    save(
        tmp_path,
        "c/other",
        query_text({**TABLE, "dashboard": "two-words"}, columns=("host",)),
    )
    dashboards = saved_dashboards(tmp_path)
    own = definition("own", dashboards)
    assert [panel.saved.name for panel in own.panels] == ["b/early", "a/late"]
    assert own.about_one_host
    assert definition("two-words", dashboards).title == "Two words"
    assert not definition("two-words", dashboards).about_one_host


def test_unknown_name_lists_the_known() -> None:
    with pytest.raises(
        UnknownDashboardError, match="'x'; there are: bridge, inventory, jobs"
    ):
        definition("x")


def test_wrong_header_appears_on_its_dashboard(tmp_path: Path) -> None:
    save(tmp_path, "a/b", query_text({**SERIES, "picture": "pie"}))
    save(tmp_path, "a/c", query_text({**TABLE, "dashboard": "two"}, columns=("host",)))
    own, two = saved_dashboards(tmp_path).values()
    assert own.panels[0].problem.startswith("queries/a/b.rq: panel: picture must be")
    assert [panel.problem for panel in two.panels] == [""]


def test_header_without_a_dashboard_appears_on_all(tmp_path: Path) -> None:
    save(tmp_path, "a/b", query_text({"picture": "table"}, columns=("host",)))
    save(tmp_path, "a/c", query_text(TABLE, columns=("host",)))
    (own,) = saved_dashboards(tmp_path).values()
    assert [bool(panel.problem) for panel in own.panels] == [True, False]
