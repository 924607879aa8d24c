"""A profile in other formats, and the counts that a reader may trust."""

import gzip
import json
from typing import Any

import pytest

from observations.errors import RunnerEventError
from observations.events import event_of
from observations.profiles.formats import folded, speedscope
from observations.profiles.perf import Stacks
from observations.profiles.pprof import pprof
from observations.profiles.profile import ProfileKind, profile_of

EVENT = {
    **{"event": "profile", "reason": "", "sampler": "cpu-clock", "rate": 100},
    **{"samples": 4, "lost": 2, "note": ""},
    "binaries": [["/opt/app", "ab" * 20], ["/lib/libmpi.so", ""]],
    "functions": [
        ["main", 0, "/src/a.c", 7],
        ["f;g", 0, "", 0],
        ["MPI_Wait", 1, "", 0],
    ],
    "stacks": [[3, [0, 1, 2]], [1, [0, 1, 1]]],
}
OFF_CPU = {
    **{"reason": "", "sampler": "context-switches", "samples": 3, "lost": 2},
    **{"waits": 4, "waited_ns": 5_000_000, "note": ""},
    **{name: EVENT[name] for name in ("binaries", "functions")},
    "stacks": [[3_000_000, [0, 2]], [1_000_000, [0]]],
}
LINES = (
    b"7 \n",
    b"\t 1249 foo(int, char) (/opt/my app)\n",
    b"\t 10ae [unknown] (/opt/my app)\n",
    b"\t 2000 run (/tmp/perf-7.map)\n",
    b"\n",
    b"7 \n",
    b"\t 1249 foo(int, char) (/opt/my app)\n",
    b"\n",
    b" 7 PERF_RECORD_LOST lost 5\n",
    b" 7 PERF_RECORD_LOST_SAMPLES lost 6\n",
    b"9 \n",
    b"\t 1249 own (/usr/bin/python3)\n",
)


def test_shares_count_a_recursive_function_once() -> None:
    profile = profile_of(EVENT)
    found = {one.name: share for one, share in profile.functions().items()}
    assert (found["main"].total, found["main"].own) == (1.0, 0.0)
    assert (found["f;g"].total, found["f;g"].own) == (1.0, 0.25)
    assert (found["MPI_Wait"].total, found["MPI_Wait"].own) == (0.75, 0.75)
    files = {path: share for (path, _), share in profile.binaries().items()}
    assert files["/lib/libmpi.so"].total == 0.75


def test_text_formats() -> None:
    profile = profile_of(EVENT)
    assert folded(profile) == "main;f:g;MPI_Wait 3\nmain;f:g;f:g 1\n"
    document = speedscope(profile, "run")
    (shown,) = document["profiles"]
    names = [one["name"] for one in document["shared"]["frames"]]
    assert [names[n] for n in shown["samples"][0]] == ["main", "f;g", "MPI_Wait"]
    assert (shown["weights"], shown["endValue"]) == ([3, 1], 4)


def test_pprof_has_the_samples_innermost_call_first() -> None:
    found = fields(gzip.decompress(pprof(profile_of(EVENT), 1, 2)))
    texts = [text.decode() for text in found[6]]
    functions = [fields(one) for one in found[5]]
    names = {one[1][0]: texts[one[2][0]] for one in functions}
    sample = fields(found[2][0])
    stack = [names[number] for number in sample[1][0]]
    assert stack == ["MPI_Wait", "f;g", "main"]
    assert [*sample[2][0][:1]] == [3]
    assert texts[0] == ""
    assert (found[9], found[10], found[12]) == ([1], [2], [10_000_000])


def test_formats_of_waits_have_their_times() -> None:
    profile = profile_of({**EVENT, "off_cpu": OFF_CPU}, ProfileKind.OFF_CPU)
    assert folded(profile) == "main;MPI_Wait 3000000\nmain 1000000\n"
    (shown,) = speedscope(profile, "run")["profiles"]
    assert (shown["unit"], shown["endValue"]) == ("nanoseconds", 4_000_000)
    found = fields(gzip.decompress(pprof(profile)))
    texts = [text.decode() for text in found[6]]
    kind = fields(found[1][0])
    assert [texts[kind[1][0]], texts[kind[2][0]]] == ["waiting", "nanoseconds"]
    assert len(found[1]) == 1
    assert varint(fields(found[2][0])[2][0], 0)[0] == 3_000_000
    # A fifth of the time is in stacks that were not kept.
    wait = {one.name: share for one, share in profile.functions().items()}["MPI_Wait"]
    assert (wait.total, wait.own) == (0.6, 0.6)


def fields(content: bytes) -> dict[int, list[Any]]:
    """Decode a message: the values of each field."""
    found: dict[int, list[Any]] = {}
    at = 0
    while at < len(content):
        key, at = varint(content, at)
        value, at = varint(content, at)
        if key & 7 == 2:
            found.setdefault(key >> 3, []).append(content[at : at + value])
            at += value
        else:
            found.setdefault(key >> 3, []).append(value)
    return found


def varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def test_stacks_of_perf_are_counted_from_the_outermost_call() -> None:
    found = Stacks(LINES, own=9)
    assert found.lost == 11
    foo = ("foo(int, char)", "/opt/my app")
    unknown = ("0x10ae", "/opt/my app")
    run = ("run", "[generated code]")
    assert found.counts == {(run, unknown, foo): 1, (foo,): 1}


@pytest.mark.parametrize(
    "wrong",
    [
        {"functions": [["f", 2, "", 0]]},
        {"stacks": [[3, [9]]]},
        {"stacks": [[5, [0]]]},
        {"stacks": []},
        {"rate": -1},
        {"off_cpu": {**OFF_CPU, "waited_ns": 3_999_999}},
        {"off_cpu": {**OFF_CPU, "stacks": [[1, [9]]]}},
        {"off_cpu": {**OFF_CPU, "stacks": []}},
    ],
)
def test_event_that_contradicts_itself_is_refused(wrong: dict[str, object]) -> None:
    event_of(json.dumps({**EVENT, "off_cpu": OFF_CPU}).encode())
    with pytest.raises(RunnerEventError):
        event_of(json.dumps({**EVENT, **wrong}).encode())
