"""Selectors find the right series in a real store, whatever its name is."""

import re
import time
from collections.abc import Iterator

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ontology.selectors import escaped, pattern, selector, series_labels, series_name
from tests.servers import VictoriaMetrics

HOSTILE = [
    "cpu0",
    "cpu01",
    "1 minute",
    " spaces ",
    'a"b',
    '"',
    '"} or up{x="',
    "\\",
    "\\\\",
    "a\\",
    "\\n",
    "\n",
    "a\nb\n",
    "\r\n",
    "\t",
    "\x00",
    "\x1b\x7f\x85",
    "\u2028",
    ".*",
    "cpu.",
    "a|b",
    "a",
    "b",
    "(",
    ")",
    "[a-z]",
    "{2}",
    "^a$",
    "a+b?",
    "(?i)A",
    "A",
    "$host",
    "${component}",
    "%d",
    "{{x}}",
    "#",
    "'",
    "`",
    "é",
    "e\u0301",
    "ſ",
    "日本",
    "🦑",
    ",",
    "=",
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with VictoriaMetrics(tmp_path_factory.mktemp("store")) as server:
        fill(server.url, HOSTILE)
        yield server.url


def fill(url: str, values: list[str], name: str = "a_b") -> None:
    stamp = int(time.time() * 1000)
    lines = [f"{selector(name, {'instname': value})} 1 {stamp}\n" for value in values]
    lines.append(f"{selector(name, {'other': 'x'})} 1 {stamp}\n")
    sent = httpx.post(f"{url}/api/v1/import/prometheus", content="".join(lines))
    sent.raise_for_status()
    httpx.get(f"{url}/internal/force_flush").raise_for_status()


def found(url: str, query: str) -> list[str | None]:
    parameters = {"query": query, "nocache": "1", "time": f"{time.time() + 1:.3f}"}
    answer = httpx.post(f"{url}/api/v1/query", data=parameters)
    assert answer.is_success, answer.text
    return [one["metric"].get("instname") for one in answer.json()["data"]["result"]]


@pytest.mark.parametrize("value", HOSTILE)
def test_value_matches_only_itself(store: str, value: str) -> None:
    assert found(store, selector("a_b", {"instname": value})) == [value]


@pytest.mark.parametrize("value", HOSTILE)
def test_pattern_matches_only_its_value(store: str, value: str) -> None:
    assert found(store, f'a_b{{instname=~"{escaped(pattern([value]))}"}}') == [value]


def test_pattern_matches_all_its_values(store: str) -> None:
    query = f'a_b{{instname=~"{escaped(pattern(HOSTILE[::2]))}"}}'
    assert sorted(map(str, found(store, query))) == sorted(HOSTILE[::2])


def test_empty_pattern_matches_nothing(store: str) -> None:
    assert found(store, f'a_b{{instname=~"{escaped(pattern([]))}"}}') == []


# VictoriaMetrics reserves the first three characters: see pattern.
TEXT = st.text(st.characters(min_codepoint=3, codec="utf-8"), min_size=1, max_size=40)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(values=st.lists(TEXT, min_size=1, unique=True))
def test_any_text_can_be_matched(store: str, values: list[str]) -> None:
    fill(store, values, "any")
    for value in values:
        assert found(store, selector("any", {"instname": value})) == [value]
    query = f'any{{instname=~"{escaped(pattern(values))}"}}'
    assert sorted(map(str, found(store, query))) == sorted(values)


@pytest.mark.parametrize("name", ["", "a-b", 'a{x="y"} or b', "1a", "ä", "a\n"])
def test_name_that_is_not_an_identifier_stays_a_name(store: str, name: str) -> None:
    assert found(store, selector(name, {})) == []
    assert found(store, selector(name, {"instname": "cpu0"})) == []


def test_selector_has_quoted_labels() -> None:
    assert selector("a_b", series_labels("n1", None)) == 'a_b{hostname="n1"}'
    assert selector("a_b", series_labels('x"\\\n', "%d")) == (
        'a_b{hostname="x\\"\\\\\\n",instname="%d"}'
    )
    assert series_labels("n1", "a\0b") == {"hostname": "n1", "instname": "a\ufffdb"}
    assert selector("a-b", {"x": "y"}) == '{__name__="a-b",x="y"}'
    assert selector("", {"x": "y"}) == '{__name__=~"\\\\b\\\\B",x="y"}'
    assert pattern(["cpu0", "a.b"]) == "cpu0|a\\.b"


@pytest.mark.parametrize(
    ("metric", "series"),
    [
        ("kernel.percpu.cpu.user", "kernel_percpu_cpu_user"),
        ("mem.util.used", "mem_util_used"),
        ("a-b:c d", "a_b_c_d"),
        ("é", "_"),
    ],
)
def test_metrics_have_their_series_names(metric: str, series: str) -> None:
    assert series_name(metric) == series


@given(st.text())
def test_series_names_contain_no_selector_syntax(metric: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_]*", series_name(metric))
