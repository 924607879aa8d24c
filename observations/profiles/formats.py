"""A profile in the formats of other tools, and as the tree of a flame graph."""

from collections.abc import Mapping
from typing import Any

import orjson

from observations.profiles.profile import Profile

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def folded(profile: Profile) -> bytes:
    """Return a line for each stack, as flamegraph.pl reads: a;b;c samples."""
    counts: dict[str, int] = {}
    for at, node in enumerate(profile.nodes):
        if node.samples:
            stack = ";".join(_titles(profile, at))
            counts[stack] = counts.get(stack, 0) + node.samples
    return "".join(f"{stack} {n}\n" for stack, n in counts.items()).encode()


def _titles(profile: Profile, at: int) -> list[str]:
    functions = (profile.nodes[one].function for one in profile.path(at))
    return [profile.title(one).replace(";", ":") for one in functions]


def speedscope(profile: Profile, name: str) -> bytes:
    """Return the profile as speedscope's JSON; weights are seconds of CPU time."""
    ended = [at for at, node in enumerate(profile.nodes) if node.samples]
    weights = [profile.nodes[at].samples / max(profile.rate, 1) for at in ended]
    paths = ([profile.nodes[one].function for one in profile.path(at)] for at in ended)
    frames = [
        {"name": profile.title(at), "file": one.file or None}
        for at, one in enumerate(profile.functions)
    ]
    sampled = {
        "type": "sampled",
        "name": name,
        "unit": "seconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": list(paths),
        "weights": weights,
    }
    document = {"$schema": _SCHEMA, "name": name, "exporter": "SuperTwin"}
    return orjson.dumps(
        {**document, "shared": {"frames": frames}, "profiles": [sampled]}
    )


def difference(first: Profile, second: Profile) -> dict[str, Any]:
    """Return both profiles as one tree of functions, with the shares in each.

    A node has a ``name``, the ``file`` with its code, ``shares`` of the stacks of the
    first and the second profile that contain it, and ``children``, largest first.
    """
    root: dict[str, Any] = _node("all", "")
    for number, profile in enumerate((first, second)):
        _add(root, number, profile)
    return _finished(root)


def tree(profile: Profile) -> dict[str, Any]:
    """Return a profile as a tree of functions; ``shares`` has one share."""
    root = _node("all", "")
    _add(root, 0, profile)
    return _finished(root, 1)


def _node(name: str, file: str) -> dict[str, Any]:
    return {"name": name, "file": file, "shares": [0, 0], "children": {}}


def _add(root: dict[str, Any], number: int, profile: Profile) -> None:
    nodes: list[dict[str, Any]] = []
    samples = max(profile.samples, 1)
    root["shares"][number] = min(profile.samples, 1)
    for at, call in enumerate(profile.nodes):
        caller = nodes[call.caller] if call.caller >= 0 else root
        title = profile.title(call.function)
        file = profile.binaries[profile.functions[call.function].binary].path
        # By name alone: two builds of a program have different paths.
        node = caller["children"].setdefault(title, _node(title, file))
        node["shares"][number] += profile.totals[at] / samples
        nodes.append(node)


def _finished(node: Mapping[str, Any], number: int = 2) -> dict[str, Any]:
    # Depth is that of a stack, at most 127.
    children = [_finished(one, number) for one in node["children"].values()]
    children.sort(key=lambda one: -max(one["shares"]))
    shares = [round(share, 6) for share in node["shares"][:number]]
    return {**node, "shares": shares, "children": children}
