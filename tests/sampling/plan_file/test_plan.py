"""Plans from rows, saved in a file; the monitor plan on a real PMCD."""

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sampling.errors import MonitorError
from sampling.plan_file.monitor import MONITOR_FILE, load_monitor, plan_names
from sampling.plan_file.plan import (
    FetchGroup,
    PlannedMetric,
    SamplingPlan,
    StoredPlan,
    load_plan,
    make_plan,
    save_plan,
)
from tests.servers import Pmcd


def row(
    name: str, period: object = 1.0, series: str | None = None
) -> dict[str, object]:
    series = name.replace(".", "_") if series is None else series
    return {"samplerName": name, "dbName": series, "period": period}


@pytest.mark.parametrize(
    ("seconds", "milliseconds"),
    [(1, 1000), (1.0, 1000), (Decimal("0.057"), 57), ("0.001", 1), (3600, 3_600_000)],
)
def test_periods_are_read_from_any_number_format(
    seconds: object, milliseconds: int
) -> None:
    assert make_plan([row("a.b", seconds)]).metrics == (
        PlannedMetric("a.b", "a_b", milliseconds),
    )


@pytest.mark.parametrize(
    "seconds", [0, -1, "x", None, 0.0001, 3601, "NaN", "Infinity", "1e999999"]
)
def test_impossible_period_refuses_only_its_metric(seconds: object) -> None:
    plan = make_plan([row("a.b", seconds), row("c.d")])
    assert [planned.metric for planned in plan.metrics] == ["c.d"]
    assert "period" in plan.refused["a.b"]


@pytest.mark.parametrize("series", ["", "1a", 'a"}', "a b", "a\n", "ä"])
def test_bad_series_name_is_refused(series: str) -> None:
    plan = make_plan([row("a.b", series=series)])
    assert plan.metrics == ()
    assert "series name" in plan.refused["a.b"]


def test_finest_of_several_plans_applies() -> None:
    plan = make_plan([row("a", 5), row("a", 1), row("a", 2), row("b", 5)])
    assert plan.groups() == {1000: FetchGroup({"a": "a"}), 5000: FetchGroup({"b": "b"})}


def test_two_metrics_of_one_series_name_are_not_mixed() -> None:
    plan = make_plan([row("a.b"), row("a_b")])
    assert [planned.metric for planned in plan.metrics] == ["a.b"]
    reason = "its series name a_b is already that of a.b: sample only one of them"
    assert plan.refused == {"a_b": reason}


def test_plan_round_trips(tmp_path: Path) -> None:
    some = {**row("c", 5), "some": True, "instname": "x\ny"}
    fine = {**row("c"), "some": True, "instname": "z"}
    plan = make_plan([row("a"), row("b", 0), some, fine, row("c", 9)])
    assert len(plan.metrics) == 4
    stored = StoredPlan(plan, "/run/counts", {"bpf": "/run/bpf"})
    save_plan(tmp_path / "plan.json", *stored)
    assert load_plan(tmp_path / "plan.json") == stored


def test_plan_of_an_earlier_release_has_no_agents(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(whole(ROW))
    found = load_plan(tmp_path / "plan.json")
    assert found and (found.plan.names, found.agents) == ({"a.b"}, {})


ROW = {"metric": "a.b", "series": "a_b", "period_ms": 1000}


def whole(*rows: object, **changed: object) -> str:
    document = {
        "format": "supertwin-plan/1",
        "metrics": [*rows],
        "refused": {},
        "counters": "",
    }
    return json.dumps(document | changed)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "{}", "[1]", "[" * 100_000, "\xff"),
        *('{"metrics": 7}', '{"format": "supertwin-plan/1"}'),
        whole(ROW, format="x"),
        whole(ROW, refused=[]),
        whole(ROW, refused={"a": 1}),
        whole(ROW, metrics={}),
        whole(ROW, counters=None),
        whole(ROW, counters="/run\0"),
        whole(ROW, agents=[]),
        whole(ROW, agents={"bpf": None}),
        whole(ROW, agents={"bpf": "/run\0"}),
        whole(ROW, ROW),
        whole(7),
        whole({"metric": "a.b"}),
        whole({**ROW, "metric": 7}),
        whole({**ROW, "metric": ""}),
        whole({**ROW, "metric": "a\0"}),
        whole({**ROW, "metric": "\ud800"}),
        whole({**ROW, "series": 'a"} or b'}),
        whole({**ROW, "period_ms": 0}),
        whole({**ROW, "period_ms": -1000}),
        whole({**ROW, "period_ms": 10**30}),
        whole({**ROW, "period_ms": 0.5}),
        whole({**ROW, "period_ms": "1000"}),
        whole({**ROW, "only": 7}),
        whole({**ROW, "only": [7]}),
        whole({**ROW, "but": None}),
        whole(ROW, {**ROW, "only": ["x"]}),
        whole(ROW, {**ROW, "period_ms": 10, "series": "c"}),
    ],
    ids=lambda text: ascii(text[:30] + text[-30:]),
)
def test_file_that_is_not_a_plan_is_ignored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    (tmp_path / "plan.json").write_text(text, "latin-1")
    assert load_plan(tmp_path / "plan.json") is None
    (line,) = caplog.messages
    assert "plan.json is not a plan" in line and "\n" not in line


def test_first_start_has_no_plan(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert load_plan(tmp_path / "plan.json") is None
    assert not caplog.messages


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries(
        {
            "metric": JSON | st.text(st.characters(exclude_categories=[])),
            "series": JSON | st.just("a"),
            "period_ms": JSON | st.integers(1, 5000),
        }
    ),
    JSON | st.just({}),
)
def test_any_saved_plan_is_usable_or_ignored(
    tmp_path: Path, row: object, refused: object
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(whole(row, refused=refused))
    if kept := load_plan(path):
        rows = [(one.metric, one.series, one.period_ms) for one in kept.plan.metrics]
        assert all(metric.encode() for metric, _, _ in rows)
        assert all(re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) for _, name, _ in rows)
        assert all(1 <= period <= 3_600_000 for _, _, period in rows)


def test_no_rows_are_an_empty_plan() -> None:
    assert make_plan([]) == SamplingPlan()


def test_monitor_set_chooses_what_a_host_exposes() -> None:
    exposed = ["z", "lm.b.temp", "lm.a.temp", "k.load"]
    assert plan_names(["k.load", "k.none", "lm.*", "lm.a.*"], exposed) == [
        *("k.load", "lm.a.temp", "lm.b.temp")
    ]


def test_monitor_set_finds_its_metrics_on_a_real_pmcd(pmcd: Pmcd) -> None:
    monitor, exposed = load_monitor(), pmcd.names()
    found = plan_names(monitor, exposed)
    assert len(found) >= 35
    elsewhere = {
        *("kernel.percpu.interrupts.PMI", "kernel.percpu.interrupts.TRM"),
        *("kernel.all.pressure.cpu.full.total", "kernel.all.pressure.irq.full.total"),
        *("lmsensors.*", "denki.rapl.*"),
    }
    assert {name for name in monitor if not plan_names([name], exposed)} <= elsewhere
    assert not [name for name in found if name.startswith(("proc.", "hotproc."))]


@pytest.mark.parametrize(
    "text", ["", "- a\n", "g: [a, a]\n", "g: [1]\n", "g: []\n", "{"]
)
def test_broken_monitor_set_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "monitor.yaml"
    path.write_text(text)
    with pytest.raises(MonitorError, match="monitor.yaml"):
        load_monitor(path)
    with pytest.raises(MonitorError, match="cannot be read"):
        load_monitor(tmp_path / "none.yaml")
    assert load_monitor(MONITOR_FILE)
