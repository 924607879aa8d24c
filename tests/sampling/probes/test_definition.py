"""Probes as they are written, and the file that lists them."""

from dataclasses import replace
from pathlib import Path

import pytest

from sampling.probes.arguments import CONTEXT, Form
from sampling.probes.changes import probes_file, remove, save
from sampling.probes.cost import check_cost, predict
from sampling.probes.definition import (
    MOST,
    CodeProbe,
    Place,
    parse_target,
    read_probes,
)
from sampling.probes.errors import (
    NoSuchProbeError,
    ProbeCostError,
    ProbeError,
    ProbeExistsError,
)

FUNCTION = parse_target("uprobe:/bin/true:main")
EVENT = parse_target("tracepoint:sched:sched_switch")
USDT = parse_target("usdt:/bin/true:demo:begin")
PLACES = (Place(5, 7, Form(CONTEXT, -4, 112)),)
PROBE = CodeProbe(
    "p", FUNCTION, True, build_id="ab", begins=PLACES, by="cgroup", argument="1"
)


@pytest.mark.parametrize(
    "text",
    [
        *("", "uprobe", "uprobe:main", "uprobe:bin/true:main", "uprobe:/bin/true:"),
        *("uprobe:/bin/true:ma in", "uprobe:/bin/true:ma\tin", "kprobe:/x:y"),
        *("usdt:/bin/true:begin", "tracepoint:sched", "tracepoint:a/../b:c"),
        *("tracepoint:sched:a\tb", "uprobe:/bin/tr\nue:main"),
    ],
)
def test_text_that_names_no_probe_is_refused(text: str) -> None:
    with pytest.raises(ProbeError, match="names no probe: expected"):
        parse_target(text)


@pytest.mark.parametrize("target", [FUNCTION, EVENT, USDT])
def test_target_is_written_as_it_is_read(target: object) -> None:
    assert parse_target(str(target)) == target


@pytest.mark.parametrize("name", ["", "1", "a b", "a:b", "a" * 65, "a\n"])
def test_invalid_name_is_refused(name: str) -> None:
    with pytest.raises(ProbeError, match="is not a name of a probe"):
        CodeProbe(name, FUNCTION)


def test_impossible_pairs_are_refused() -> None:
    other = parse_target("uprobe:/bin/false:main")
    for begin, end, why in (
        (EVENT, FUNCTION, "two kinds"),
        (FUNCTION, other, "two binaries"),
        (EVENT, None, "has no return"),
        (USDT, None, "has no return"),
    ):
        with pytest.raises(ProbeError, match=why):
            CodeProbe("p", begin, True, end)


def test_file_keeps_probes(tmp_path: Path) -> None:
    pair = CodeProbe("q", USDT, True, replace(USDT, name="end"), ends=(Place(9),))
    for probe in (PROBE, pair):
        save(tmp_path, probe, change=False)
    path = probes_file(tmp_path)
    assert read_probes(path) == {"p": PROBE, "q": pair}
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ProbeExistsError):
        save(tmp_path, PROBE, change=False)
    save(tmp_path, replace(PROBE, limit=5), change=True)
    assert read_probes(path)["p"].limit == 5
    assert remove(tmp_path, "q") == pair
    with pytest.raises(NoSuchProbeError):
        remove(tmp_path, "q")
    with pytest.raises(NoSuchProbeError):
        save(tmp_path, pair, change=True)


def test_there_is_a_limit_of_probes(tmp_path: Path) -> None:
    for number in range(MOST):
        save(tmp_path, replace(PROBE, name=f"p{number}"), change=False)
    with pytest.raises(ProbeError, match="remove one first"):
        save(tmp_path, PROBE, change=False)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"name": "p"}]', "[[[["])
def test_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "probes.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ProbeError, match=r"probes\.json.*: delete it"):
        read_probes(path)


def test_cost_follows_from_the_rate() -> None:
    cost = predict(PROBE, 100_000)
    assert 0.01 < cost.share < 1
    assert predict(PROBE, 200_000).share == pytest.approx(2 * cost.share)
    plain = replace(PROBE, by="", argument="")
    assert predict(plain, 100_000).share < cost.share
    assert predict(replace(plain, by="cpu"), 1) == predict(plain, 1)
    check_cost(PROBE, cost, percent=100)
    with pytest.raises(ProbeCostError, match="100,000 calls/s"):
        check_cost(PROBE, cost, percent=1)
