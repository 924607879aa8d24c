"""What is said of recorded loops, in the table and in the analysis."""

from typing import Any

import pytest

from observations.hot_loops.analysis import LoopAnalysis, analyse_loops
from observations.hot_loops.table import table
from tests.observations.test_events import HOT_LOOPS, LOOP, PREDICTION


def analysed(loop: Any, **event: Any) -> LoopAnalysis:
    return analyse_loops({**HOT_LOOPS, "loops": [{**LOOP, **loop}], **event})


def test_busiest_port_dispatch_or_chain_is_the_limit() -> None:
    (loop,) = analysed({}).loops
    assert loop.bounds
    assert loop.bounds.limit == "port P0"
    wide = {**PREDICTION, "micro_operations": 60.0}
    (loop,) = analysed({"prediction": wide}).loops
    assert loop.bounds
    assert loop.bounds.limit == "dispatch"
    chain = {"instructions": [[1, "addq $1, %rax", 9]]}
    (loop,) = analysed(chain).loops
    assert loop.bounds
    assert loop.bounds.limit == "dependency chain"


def test_calls_and_branches_are_noted() -> None:
    words = ["call 0x9", "je 0x9", "addq $1, %rax", "jne 0x1"]
    body = {"instructions": [[at, text, 1] for at, text in enumerate(words)]}
    (loop,) = analysed({**body, "prediction": None, "reason": "none"}).loops
    assert [note.partition(",")[0] for note in loop.notes] == [
        "calls: 1",
        "other branches: 1",
    ]


def test_chains_of_other_machines_are_missing() -> None:
    found = analysed({}, machine="aarch64")
    (loop,) = found.loops
    assert loop.bounds
    assert loop.bounds.chains is None
    assert loop.notes == ("dependency chains are found for x86-64 only",)
    assert f"{'-':>7}{'-':>7}" in table(found)[-1]


def test_run_that_ended_before_or_was_cut_says_so() -> None:
    assert table(analyse_loops(None)) == [
        "no hot loops: the run ended before its hot loops were recorded"
    ]
    assert "perf stopped" in table(analysed({}, note="perf stopped"))


@pytest.mark.parametrize(
    ("source", "name"),
    [(["/src/f.c", 6, 7], "f.c:6 "), (None, "f+0x0 "), (["/" + "x" * 90, 1, 2], "…")],
)
def test_place_of_a_loop_is_short(source: Any, name: str) -> None:
    line = table(analysed({"source": source}))[-1]
    assert name in line
    assert line.index("100.0%") < 30
