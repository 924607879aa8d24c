"""Texts in Grafana's JSON stay literal, whatever they contain."""

from dataclasses import replace
from typing import Any

import pytest

from dashboards.grafana import render
from dashboards.grafana_text import (
    interpolate,
    link,
    markdown,
    option,
    plain,
    sparql,
    variables,
)
from dashboards.lint import panels
from dashboards.lint_queries import choices
from tests.dashboards import specs
from tests.dashboards.specs import HOSTILE, dashboard, panel, series, table_panel
from tests.dashboards.test_grafana import first, properties

VALUES = dict.fromkeys(("host", "component", "metrics", "__interval", "x"), "BROKEN")


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("a $host b", "a V b"),
        ("${host}", "V"),
        ("${host:doublequote}", "V"),
        ("[[host]]", "V"),
        ("[[host:csv]]", "V"),
        ("$unknown ${unknown} [[unknown]]", "$unknown ${unknown} [[unknown]]"),
        ("5 $ and $", "5 $ and $"),
        ("$hosts", "$hosts"),
        ("${__value.raw}", "${__value.raw}"),
    ],
)
def test_variables_are_filled_as_grafana_fills_them(text: str, filled: str) -> None:
    assert interpolate(text, {"host": "V"}) == filled


@pytest.mark.parametrize("written", [plain, markdown, link])
def test_text_is_not_taken_for_a_variable(written: Any) -> None:
    assert interpolate(written(HOSTILE), VALUES) == written(HOSTILE)
    assert not variables(written(HOSTILE))


def test_plain_text_looks_the_same() -> None:
    assert plain(HOSTILE).replace("\u2060", "") == HOSTILE
    assert plain("CPU 0") == "CPU 0"


@pytest.mark.parametrize(
    "text",
    ["# a", "- a", "1. a", "12) a", "> a", "* a", "+ a", "=== a", "---"],
)
def test_markdown_starts_no_block(text: str) -> None:
    shown = markdown(text)
    assert shown.startswith("&#")


@pytest.mark.parametrize(
    "text",
    ["<b>", "a *b* _c_ `d` ~e~", "[a](http://b)", "http://a.b", "www.a.b", "a@b.c",
     "a|b", "![x](y)", "\\*", "&lt;", "a\nb"],
)  # fmt: skip
def test_markdown_shows_text_verbatim(text: str) -> None:
    shown = markdown(text)
    assert not set("<>*_`~[]|@\\\n") & set(shown)
    assert "://" not in shown
    assert "www." not in shown


def test_choices_round_trip() -> None:
    labels = ["a, b", "c : d", "e\\", "f\\,g", "$host", "[[host]]"]
    query = ", ".join(option(label, f"v{at}") for at, label in enumerate(labels))
    assert choices({"query": query}) == [f"v{at}" for at in range(len(labels))]
    assert not variables(query)


def test_sparql_has_no_variable_of_grafana() -> None:
    query = 'SELECT ?x { ?x <http://a/$host> "[[host]] $x" . [[] ?p $x] # $host\n}'
    text = sparql(query)
    assert interpolate(text, VALUES) == text
    assert not variables(text)
    assert text == (
        'SELECT ?x { ?x <http://a/\\U00000024host> "\\U0000005B[host]] '
        '\\U00000024x" . [ [] ?p ?x] # \\U00000024host\n}'
    )


def test_hostile_name_stays_a_text_everywhere() -> None:
    parts = (specs.component(HOSTILE, "cpu0", HOSTILE),)
    member = series(HOSTILE, label=HOSTILE, group=HOSTILE)
    one = panel(
        *(member, series("cpu0")),
        narrows=True,
        title=HOSTILE,
        description=HOSTILE,
        why=(HOSTILE,),
    )
    other = panel(title=HOSTILE, why=(HOSTILE,), id="other")
    spec = dashboard(one, other, table_panel(), host=HOSTILE, components=parts)
    document = render(replace(spec, title=HOSTILE))
    used = {name for text in _texts(document) for name in variables(text)}
    assert used <= {"component", "metrics", "graph", "__value"}
    for drawn in panels(document):
        assert "<b" not in drawn["description"]
        assert "<b" not in drawn["options"].get("content", "")
    # The name of a field is compared, and not interpolated.
    assert properties(first(document), HOSTILE)


def _texts(item: Any) -> list[str]:
    if isinstance(item, dict):
        return [
            t for key, part in item.items() if key != "matcher" for t in _texts(part)
        ]
    if isinstance(item, list):
        return [text for part in item for text in _texts(part)]
    return [item] if isinstance(item, str) else []
