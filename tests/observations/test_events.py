"""Which of the events attributed to a runner are accepted."""

import base64
import json
from typing import Any

import pytest

from observations.errors import RunnerEventError
from observations.events import check_order, event_of, kept_lines, printed, printed_text
from tests.observations.test_launch import launched

KEPT = {"bytes": 3, "head": "aGkK", "tail": "", "cut": 0}
USED = ("minor_faults", "major_faults", "voluntary_switches", "involuntary_switches")
STARTED = {
    **{"event": "started", "start_ns": 1, "exec_ns": 2},
    **{"pid": 3, "start_ticks": 4, "boot": "b", "user": "ana"},
}
ENDED = {
    **{"event": "ended", "end_ns": 9, "exit": 0, "signal": None},
    **{"timed_out": False, "cancelled": "", "left_behind": []},
    "rusage": {"user_seconds": 0.1, "system_seconds": 0, "max_rss_kib": None}
    | dict.fromkeys(USED, 1),
    "output": {"stdout": KEPT, "stderr": KEPT},
}


PROCESS = {"rank": 0, "size": 1, "openmp": "none", "ns": 5, "threads": [[1] * 7]}
FUNCTION = {
    **{"name": "f", "binary": "/b", "build_id": "0f", "start": 1, "end": 9},
    **{"samples": 9, "reason": ""},
}
PREDICTION = {
    **{"latencies": [1], "loads": [False], "stores": [False], "ports": [["P0", 0.5]]},
    **{"micro_operations": 1.0, "dispatch_width": 6, "scheduled": 1.0, "perfect": 0.5},
}
LOOP = {
    **{"function": 0, "start": 1, "end": 1, "samples": 9, "reason": ""},
    **{"instructions": [[1, "jmp 0x1", 9]], "source": ["/f.c", 1, 2]},
    "prediction": PREDICTION,
}
HOT_LOOPS = {
    **{"event": "hot_loops", "reason": "", "sampler": "cycles", "rate": 499},
    **{"samples": 9, "analyser": "llvm-mca 14", "cpu": "znver3", "machine": "x86_64"},
    **{"load_latencies": [4, 5, 6, 7], "functions": [FUNCTION], "loops": [LOOP]},
}
POP = {"event": "pop", "reason": "", "processes": [PROCESS]}


def line(event: Any, **other: Any) -> bytes:
    return json.dumps({**event, **other}).encode()


def test_all_events_of_a_runner_are_accepted() -> None:
    # A beat is due every second; a busy machine may delay it.
    script = "echo out; echo err >&2; sleep 5; exit 3"
    found = launched(argv=["sh", "-c", script])
    names = {event["event"] for event in found}
    assert names == {"started", "output", "alive", "about", "ended"}
    assert [event_of(line(event)) for event in found] == found
    assert event_of(line(POP)) == POP
    assert event_of(line(HOT_LOOPS)) == HOT_LOOPS
    (refused,) = launched(argv=["/no/such/command"])
    assert event_of(line(refused)) == refused


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"{", "a line is not JSON"),
        (b"[]", "a valid dictionary"),
        (b'{"event": "x\\ndata: y"}', "does not match any of the expected tags"),
        (line(HOT_LOOPS, samples=0), "functions without samples"),
        (line(HOT_LOOPS, functions=[]), "a loop of no function"),
        (
            line(HOT_LOOPS, loops=[{**LOOP, "instructions": [[1, "nop", 1]] * 2}]),
            "a prediction for other instructions",
        ),
        (
            line(HOT_LOOPS, functions=[{**FUNCTION, "name": "a\nb"}]),
            "hot_loops.functions.0.name: ",
        ),
        (line(STARTED, start_ns=1e300), "started.start_ns: "),
        (line(STARTED, start_ns=2**63), "started.start_ns: "),
        (line(STARTED, pid="3"), "started.pid: "),
        (line(STARTED, boot="b" * 301), "started.boot: "),
        (line(ENDED, output={}), "ended.output.stdout: Field required"),
        (
            line(ENDED, output={**ENDED["output"], "/home/ana/x": KEPT}),
            "ended.output./home/ana/x: Extra inputs are not permitted",
        ),
        (
            line(ENDED, output={"stdout": KEPT, "stderr": {**KEPT, "head": "a b"}}),
            "ended.output.stderr.head: ",
        ),
        (line(ENDED, exit=256), "ended.exit: "),
        (line(ENDED, left_behind=[{"name": "n" * 400}]), "ended.left_behind.0.name: "),
        (line({"event": "alive", "ns": 1, "pids": [-1]}), "alive.pids.0: "),
        (line(POP, processes=[{**PROCESS, "rank": -2}]), "pop.processes.0.rank: "),
        (line(POP, processes=[{**PROCESS, "openmp": "x"}]), "0.openmp: "),
        (line(POP, processes=[{**PROCESS, "threads": []}]), "0.threads: "),
        (line(POP, processes=[{**PROCESS, "threads": [[1] * 6]}]), "0.threads.0: "),
        (line({"event": "output", "stream": "../x", "data": ""}), "output.stream: "),
    ],
)
def test_other_events_are_refused(text: bytes, words: str) -> None:
    with pytest.raises(RunnerEventError) as caught:
        event_of(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_run_has_one_start_and_it_comes_first() -> None:
    start, end = event_of(line(STARTED)), event_of(line(ENDED))
    refused = {"event": "refused", "reason": "x"}
    check_order({}, [start, end, start, refused, refused, start])
    check_order(end, [refused])
    for last, events in (
        ({}, [end]),
        ({}, [start, start]),
        (end, [end]),
    ):
        with pytest.raises(
            RunnerEventError, match="before its run has started|already"
        ):
            check_order(last, events)


def test_line_cut_by_a_full_disk_is_omitted() -> None:
    whole = [
        line(STARTED),
        line({"event": "output", "stream": "stdout", "data": "aGkK"}),
    ]
    found = list(kept_lines(b"\n".join([*whole, line(ENDED)[:40]])))
    assert [one.text for one in found] == whole
    # The last line is cut off, but the printed output is still known.
    streams = printed(one.event for one in found)
    assert printed_text(streams["stdout"]) == b"hi\n"
    assert printed_text(streams["stderr"]) == b""


def test_truncated_text_is_marked() -> None:
    (*_, ended) = launched(argv=["sh", "-c", "printf 0123456789abcdef"], keep_bytes=4)
    stdout = printed([ended])["stdout"]
    assert base64.b64decode(stdout["head"]) == b"0123"
    assert printed_text(stdout) == b"0123\n[8 bytes were not kept]\ncdef"
