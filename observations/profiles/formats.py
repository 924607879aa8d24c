"""A profile in the text formats of other programs, and the tree of a flame graph."""

from collections.abc import Iterator
from typing import Any

from observations.profiles.profile import (
    Call,
    Profile,
    ProfiledFunction,
    ProfileKind,
)

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
# Calls below this share are less than a pixel wide.
_DRAWN_SHARE = 0.001
_Path = tuple[ProfiledFunction, ...]


def folded(profile: Profile) -> str:
    """Return a line for each stack: its functions, outermost first, and its weight."""
    lines = (
        f"{';'.join(one.name.replace(';', ':') for one in stack)} {count}\n"
        for count, stack in profile.stacks
    )
    return "".join(lines)


def speedscope(profile: Profile, name: str) -> dict[str, Any]:
    """Return a document for speedscope.app."""
    numbers = {one: n for n, one in enumerate(profile.functions())}
    frames = [
        {"name": one.name, "file": one.source or one.binary}
        | ({"line": one.line} if one.line else {})
        for one in numbers
    ]
    weights = [count for count, _ in profile.stacks]
    sampled = {
        "type": "sampled",
        "name": name,
        "unit": "none" if profile.kind is ProfileKind.ON_CPU else "nanoseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": [[numbers[one] for one in stack] for _, stack in profile.stacks],
        "weights": weights,
    }
    return {"$schema": _SCHEMA, "shared": {"frames": frames}, "profiles": [sampled]}


def flame_graph(profile: Profile, base: Profile | None = None) -> dict[str, Any]:
    """Return the calls with their shares, each after its caller.

    ``parent`` is the position of the caller, -1 for none. With ``base``, each call also
    has its share ``before``, and calls that only ``base`` has are included.
    """
    calls = list(_calls(profile, base))
    position = {path: number for number, (path, _) in enumerate(calls)}
    return {
        "samples": profile.samples,
        "waits": profile.waits,
        "waited": profile.waited_ns / 1e9,
        "lost": profile.lost,
        "note": profile.note,
        "reason": profile.reason or (base.reason if base else ""),
        "calls": [
            {"parent": position.get(path[:-1], -1), **about} for path, about in calls
        ],
    }


def _calls(
    profile: Profile, base: Profile | None
) -> Iterator[tuple[_Path, dict[str, Any]]]:
    waiting: list[tuple[_Path, Call | None, Call | None]] = [
        ((), profile.tree, base.tree if base else None)
    ]
    while waiting:
        path, now, before = waiting.pop()
        for function in _called(now, before):
            one = now.calls.get(function) if now else None
            old = before.calls.get(function) if before else None
            share, was = _share(one, profile), _share(old, base)
            if max(share, was) >= _DRAWN_SHARE:
                yield (*path, function), _about(function, share, was if base else None)
                waiting.append(((*path, function), one, old))


def _called(now: Call | None, before: Call | None) -> list[ProfiledFunction]:
    """Return the functions that either calls, in the order of their names."""
    both = {**(now.calls if now else {}), **(before.calls if before else {})}
    return sorted(both, key=lambda one: (one.name, one.binary))


def _share(call: Call | None, profile: Profile | None) -> float:
    return call.samples / profile.weight if call and profile else 0.0


def _about(
    function: ProfiledFunction, share: float, before: float | None
) -> dict[str, Any]:
    found: dict[str, Any] = {"name": function.name, "binary": function.binary}
    if function.source:
        found["source"] = f"{function.source}:{function.line}"
    if before is not None:
        found["before"] = round(before, 6)
    return {**found, "share": round(share, 6)}
