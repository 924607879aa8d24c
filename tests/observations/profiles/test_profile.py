"""Profiles as call trees, and in the formats of other tools."""

import gzip
import json
from collections.abc import Mapping

import pytest

from observations.errors import RunnerEventError
from observations.events import event_of
from observations.profiles import formats, recording
from observations.profiles.pprof import pprof
from observations.profiles.profile import Profile, profile_of
from observations.profiles.recording import call_tree

EVENT: Mapping[str, object] = {
    **{"event": "profile", "reason": "", "sampler": "cpu-clock", "rate": 100},
    **{"samples": 10, "lost": 3, "notes": []},
    "binaries": [
        {"path": "/opt/solver", "build_id": "ab", "reason": ""},
        {"path": "/lib/libmpi.so", "build_id": "", "reason": ""},
    ],
    "functions": [["main", 0, "m.c", 0], ["fib", 0, "m.c", 0], ["", 1, "", 64]],
    # main, main > fib, main > fib > fib, main > fib > fib > libmpi
    "nodes": [[-1, 0, 7, 1], [0, 1, 3, 2], [1, 1, 3, 4], [2, 2, 0, 3]],
}
PROFILE = profile_of(EVENT)


def test_recursion_counts_once() -> None:
    assert PROFILE.own_samples() == [1, 6, 3]
    assert PROFILE.total_samples() == [10, 9, 3]
    assert PROFILE.binary_samples() == [7, 3]
    assert PROFILE.binary_totals() == [10, 3]


def test_folded_stacks() -> None:
    assert formats.folded(PROFILE).decode().splitlines() == [
        "main 1",
        "main;fib 2",
        "main;fib;fib 4",
        "main;fib;fib;0x40 in libmpi.so 3",
    ]


def test_speedscope_weighs_seconds() -> None:
    document = json.loads(formats.speedscope(PROFILE, "o1"))
    (one,) = document["profiles"]
    assert one["weights"] == [0.01, 0.02, 0.04, 0.03]
    assert one["samples"][-1] == [0, 1, 1, 2]
    assert document["shared"]["frames"][2]["name"] == "0x40 in libmpi.so"


def test_difference_has_the_shares_of_both() -> None:
    other = {**EVENT, "samples": 4, "nodes": [[-1, 0, 7, 3], [0, 2, 0, 1]]}
    (main,) = formats.difference(PROFILE, profile_of(other))["children"]
    assert (main["name"], main["shares"]) == ("main", [1.0, 1.0])
    assert {one["name"]: one["shares"] for one in main["children"]} == {
        "fib": [0.9, 0.0],
        "0x40 in libmpi.so": [0.0, 0.25],
    }


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of protobuf's encoding, and the position after it."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data: bytes) -> list[tuple[int, object]]:
    """Return the fields of a message with their values, in their order."""
    found: list[tuple[int, object]] = []
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            found.append((key >> 3, data[at : at + value]))
            at += value
        else:
            assert key & 7 == 0
            found.append((key >> 3, value))
    return found


def numbers(data: object) -> list[int]:
    assert isinstance(data, bytes)
    found, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


def test_builds_of_a_program_are_compared_by_names() -> None:
    binaries = [{"path": "/new/solver", "build_id": "cd", "reason": ""}] * 2
    other = profile_of({**EVENT, "binaries": binaries})
    (main,) = formats.difference(PROFILE, other)["children"]
    assert main["shares"] == [1.0, 1.0]


def test_pprof_has_the_stacks_innermost_first() -> None:
    message = fields(gzip.decompress(pprof(PROFILE, 5, 7)))
    strings = [value.decode() for n, value in message if n == 6]  # type: ignore[attr-defined]
    assert strings[:5] == ["", "samples", "count", "cpu", "nanoseconds"]
    assert "0x40 in libmpi.so" in strings
    samples = [dict(fields(one)) for n, one in message if n == 2]  # type: ignore[arg-type]
    assert [numbers(one[1]) for one in samples][-1] == [4, 3, 2, 1]
    assert [numbers(one[2])[0] for one in samples] == [1, 2, 4, 3]
    assert numbers(samples[0][2])[1] == 10_000_000
    assert {n: v for n, v in message if n in (9, 10, 12)} == {
        **{9: 5, 10: 7, 12: 10_000_000}
    }


def test_tree_that_is_too_large_loses_lines_then_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stacks = {((0, 1), (1, line)): 2 for line in range(9)}
    monkeypatch.setattr(recording, "MOST_NODES", 4)
    assert call_tree(stacks) == ([[-1, 0, 0, 0], [0, 1, 0, 18]], 0)
    stacks = {((0, 1), (function, 1)): function for function in range(1, 9)}
    nodes, dropped = call_tree(stacks)
    assert len(nodes) == 4
    assert sum(node[3] for node in nodes) == sum(range(1, 9))
    assert dropped == sum(range(1, 6))


@pytest.mark.parametrize(
    "wrong",
    [
        {"nodes": [[0, 0, 0, 10]]},
        {"nodes": [[-1, 9, 0, 10]]},
        {"functions": [["main", 5, "", 0]] * 3},
        {"samples": 11},
        {"lost": -1},
    ],
)
def test_wrong_events_are_refused(wrong: Mapping[str, object]) -> None:
    event_of(json.dumps(EVENT).encode())
    with pytest.raises(RunnerEventError):
        event_of(json.dumps({**EVENT, **wrong}).encode())


def test_run_without_a_profile_says_why() -> None:
    assert profile_of(None) == Profile("the run ended before its profile was recorded")
