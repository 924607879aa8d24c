"""Every expression of the generated dashboards runs on a real VictoriaMetrics."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.errors import SuperTwinError
from dashboards.grafana import render
from dashboards.grafana_text import interpolate
from dashboards.lint import panels, variables
from dashboards.lint_queries import choices, in_string
from dashboards.live_check import check, expressions
from dashboards.spec import Panel
from supertwin.cli.dashboards import RangeReader
from tests.dashboards import specs
from tests.dashboards.conftest import BIG, Made, Servers
from tests.dashboards.specs import HOSTILE, dashboard, panel, quoted, series
from tests.servers import VictoriaMetrics

INSTANCES = [*(f"cpu{n}" for n in range(12)), HOSTILE, "a.b|c", "ü+", "sd$host"]


@pytest.fixture(scope="module")
def store(servers: Servers) -> Iterator[RangeReader]:
    """The store, with some further series of odd names."""
    now = int(time.time()) * 1000
    lines = [
        f'odd_metric{{hostname="{specs.HOST}",instname={quoted(name)}}} {at} {stamp}'
        for at, name in enumerate(INSTANCES)
        for stamp in (now - 20_000, now - 10_000, now)
    ]
    url = f"{servers.store}/api/v1/import/prometheus"
    httpx.post(url, content="\n".join(lines)).raise_for_status()
    httpx.post(f"{servers.store}/internal/force_flush").raise_for_status()
    with closing(RangeReader(servers.store, None, 30.0)) as found:
        yield found


def asked(store: RangeReader, expression: str) -> list[str]:
    """The instances of a query result, in its order."""
    now = time.time()
    answer = store.range(expression, now - 60, now)
    return [one["metric"]["instname"] for one in answer]


def odd(*names: str, **given: Any) -> Panel:
    """A panel of these instances of the odd metric, in this order."""
    members = [series(name, metric="odd.metric") for name in names]
    return panel(*members, **given)


def first_expression(one: Panel, **given: Any) -> str:
    """The expression of its only query, with everything selected."""
    document = render(dashboard(one, **given))
    target = next(iter(panels(document)))["targets"][0]
    return next(iter(expressions(target, variables(document))))


# ---- generated dashboards ----------------------------------------------------------


def test_every_expression_runs(store: RangeReader, made: list[Made]) -> None:
    count = 0
    for one in made:
        done = check(one.document, store.count, lambda _: [])
        found = [line for line in done.findings if "column-missing" not in line]
        assert found == []
        assert done.panels == len(list(panels(one.document)))
        count += done.expressions
    assert count > 100


def test_every_expression_of_the_large_host_has_series(
    store: RangeReader, made: list[Made]
) -> None:
    for one in made:
        if one.spec.host == BIG:
            assert check(one.document, store.count, lambda _: []).empty == 0


def test_returned_series_have_the_overridden_names(
    store: RangeReader, made: list[Made]
) -> None:
    """Each override matches a field, and each field an override, in order."""
    compared = 0
    for one in made:
        for drawn in panels(one.document):
            if "overrides" not in drawn.get("fieldConfig", {}):
                continue
            for target in drawn["targets"]:
                if "expr" not in target:
                    continue
                overridden = _fields(drawn, target)
                text = next(iter(expressions(target, variables(one.document))))
                now = time.time()
                answer = store.range(text, now - 60, now)
                got = [_legend(target, series["metric"]) for series in answer]
                assert got == [name for name in overridden if name in got], drawn
                assert set(got) <= set(overridden)
                compared += len(got)
    assert compared > 500


def _legend(target: dict[str, Any], labels: dict[str, str]) -> str:
    """Grafana's text for a legend."""
    legend: str = target["legendFormat"]
    return legend.replace("{{instname}}", labels.get("instname", ""))


def _fields(drawn: dict[str, Any], target: dict[str, Any]) -> list[str]:
    before, found, after = target["legendFormat"].partition("{{instname}}")
    names = [one["matcher"]["options"] for one in drawn["fieldConfig"]["overrides"]]
    if not found:
        return [name for name in names if name == before]
    return [name for name in names if name.startswith(before) and name.endswith(after)]


def test_every_expression_is_parsed_alone(store: RangeReader, made: list[Made]) -> None:
    """VictoriaMetrics before 1.80, as in Debian 13, does not have this endpoint."""
    url = store.url.replace("/api/v1/query_range", "/prettify-query")
    with httpx.Client(trust_env=False) as client:
        if client.get(url, params={"query": "a"}).status_code == 400:
            assert "unexpected token" in str(store.count("rate((", 0, 1))
            return
        for text in _all_expressions(made):
            answer = client.post(url, data={"query": text}).json()
            assert answer["status"] == "success", answer


def _all_expressions(made: list[Made]) -> Iterator[str]:
    for one in made:
        for drawn in panels(one.document):
            for target in drawn.get("targets", []):
                if "expr" in target:
                    yield from expressions(target, variables(one.document))


# ---- order, names, components -------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        ["cpu0", "cpu6", "cpu1", "cpu7", "cpu10", "cpu2"],
        list(reversed(INSTANCES)),
        sorted(INSTANCES, key=str.encode),
        [HOSTILE, "a.b|c", "cpu3"],
    ],
)
def test_series_are_in_the_order_of_the_twin(
    store: RangeReader, names: list[str]
) -> None:
    answered = asked(store, first_expression(odd(*names)))
    assert [name for name in answered if name in names] == names
    assert sorted(answered) == sorted(INSTANCES)


def test_instances_unknown_to_the_twin_are_last(store: RangeReader) -> None:
    answered = asked(store, first_expression(odd("cpu5", "cpu11", "cpu4")))
    assert answered[:3] == ["cpu5", "cpu11", "cpu4"]


@pytest.mark.parametrize("chosen", [["cpu1"], ["cpu1", "cpu10"], [HOSTILE], INSTANCES])
def test_component_limits_to_its_instances(
    store: RangeReader, chosen: list[str]
) -> None:
    parts = (specs.component(f"a, {HOSTILE} : b", *chosen), specs.component("empty"))
    document = render(dashboard(odd(*INSTANCES, narrows=True), components=parts))
    target = next(iter(panels(document)))["targets"][0]
    everything, some, nothing = choices(variables(document)[1])
    # Grafana sends the value with its backslashes doubled, and no other change.
    for value, wanted in ((everything, INSTANCES), (some, chosen), (nothing, [])):
        text = interpolate(target["expr"], {"component": in_string(value)})
        assert asked(store, text) == list(wanted)


# ---- planted errors -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ('no_such_function(odd_metric{hostname="n1"})', "no_such_function"),
        ('rate(odd_metric{hostname="n1"}', "unexpected token"),
        ('rate(odd_metric{hostname="n1})', "closing quote"),
        ('rate(odd_metric{hostname="n1"})[', "unexpected token"),
        ('odd_metric{instname=~"("}', "parsing regexp"),
        ("a" * 17_000, "too long"),
    ],
    ids=["function", "bracket", "quote", "window", "pattern", "length"],
)
def test_planted_error_is_reported(
    store: RangeReader, expression: str, reason: str
) -> None:
    document = render(dashboard(odd("cpu0"), odd("cpu1", id="other")))
    panels_ = list(panels(document))
    panels_[0]["targets"][0]["expr"] = expression
    done = check(document, store.count, lambda _: [])
    assert len(done.findings) == 1
    assert done.findings[0].startswith("panel 2 'Busy threads': expression-fails: ")
    assert reason in done.findings[0]


def test_expressions_without_series_are_counted_not_errors(store: RangeReader) -> None:
    document = render(dashboard(panel(series("cpu0", metric="not.there"))))
    done = check(document, store.count, lambda _: [])
    assert (done.findings, done.expressions, done.empty) == ([], 1, 1)


def test_unreachable_store_gives_one_line(tmp_path: Path) -> None:
    away = VictoriaMetrics(tmp_path / "away").url
    with pytest.raises(SuperTwinError, match="does not answer"):
        RangeReader(away, None, 30.0).count("a", 0, 1)
