"""MetricsQL: written exactly, and matched in a real store whatever the names are."""

import time
from fractions import Fraction

import httpx
import pytest

from dashboards.expressions import (
    LONGEST,
    portions,
    series_expression,
    series_selector,
)
from tests.dashboards.conftest import Servers

NASTY = ['a"b', "a\\b", "a.b", "aXb", "$component", "${x}", "a|b", "ü $1", "[[h]]"]


@pytest.mark.parametrize(
    ("counter", "expression", "scale", "written"),
    [
        (True, "", Fraction(1), "rate(S)"),
        (False, "", Fraction(1), "S"),
        (False, "", Fraction(1024), "S * 1024"),
        (True, "", Fraction(1, 1000), "rate(S) / 1000"),
        (True, "", Fraction(1024, 6), "rate(S) * 512 / 3"),
        (True, "1 - rate($series) / 1000", Fraction(1), "1 - rate(S) / 1000"),
        (True, "1 - rate($series)", Fraction(1, 8), "(1 - rate(S)) / 8"),
        (True, "$series + $series", Fraction(1), "S + S"),
    ],
)
def test_expressions_are_built(
    counter: bool, expression: str, scale: Fraction, written: str
) -> None:
    found = series_expression("S", counter=counter, expression=expression, scale=scale)
    assert found == written


@pytest.mark.parametrize(
    ("instances", "narrows", "written"),
    [
        ([None], False, 'm{hostname="h"}'),
        (["cpu0"], False, 'm{hostname="h",instname="cpu0"}'),
        (["a.b", "c"], False, r'm{hostname="h",instname=~"a\\.b|c"}'),
        (["a"], True, 'm{hostname="h",instname="a",instname=~"$component"}'),
        (["$component"], False, r'm{hostname="h",instname="\x24component"}'),
        (
            ["$x", "y"],
            True,
            r'm{hostname="h",instname=~"\\\x24x|y",instname=~"$component"}',
        ),
    ],
)
def test_selectors_are_built(
    instances: list[str | None], narrows: bool, written: str
) -> None:
    assert series_selector("m", "h", instances, narrows=narrows) == written


def test_store_finds_the_written_series(servers: Servers) -> None:
    lines = "".join(
        f'{{"metric":{{"__name__":"nasty","hostname":"$h\\"","instname":{name}}},'
        f'"values":[1],"timestamps":[{int(time.time()) * 1000}]}}\n'
        for name in map(_json, NASTY)
    )
    with httpx.Client(base_url=servers.store, timeout=120) as store:
        store.post("/api/v1/import", content=lines.encode()).raise_for_status()
        store.get("/internal/force_flush").raise_for_status()
        for asked in ([NASTY[0]], [NASTY[4]], NASTY[:4], NASTY[4:8], NASTY):
            found = _names(store, series_selector("nasty", '$h"', asked))
            assert sorted(found) == sorted(asked)


def _json(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'


def _names(store: httpx.Client, expression: str) -> list[str]:
    answer = store.get("/api/v1/query", params={"query": expression, "nocache": "1"})
    answer.raise_for_status()
    result = answer.json()["data"]["result"]
    return [series["metric"].get("instname", "") for series in result]


def test_long_expression_is_split() -> None:
    names = [f"a-name-of-some-length-{number}" for number in range(2000)]
    found = list(portions(names, series_selector("m", "h", ["", ""])))
    assert [name for portion in found for name in portion] == names
    sizes = [len(series_selector("m", "h", portion).encode()) for portion in found]
    assert max(sizes) <= LONGEST
    assert sum(sizes) < LONGEST * len(found)
    assert len(found) == 4


def test_length_of_the_component_is_reserved() -> None:
    names = [f"cpu{number}" for number in range(2000)]
    reserve = 9000
    plain = series_selector("m", "h", ["", ""], narrows=True)
    for portion in portions(names, plain, reserve):
        written = series_selector("m", "h", portion, narrows=True)
        assert len(written) - len("$component") + reserve <= LONGEST


def test_part_holds_at_least_one_instance() -> None:
    assert list(portions(["x" * 20000, "y"], "m")) == [["x" * 20000], ["y"]]
    assert list(portions([None], "m")) == [[None]]
    assert list(portions([], "m")) == []


def test_longest_expression_runs(servers: Servers) -> None:
    names = [f"name-{number}" for number in range(5000)]
    plain = series_selector("m", "h", ["", ""])
    written = [series_selector("m", "h", p) for p in portions(names, plain)]
    answer = httpx.get(
        f"{servers.store}/api/v1/query",
        params={"query": max(written, key=len)},
        timeout=120,
    )
    assert answer.is_success, answer.text
