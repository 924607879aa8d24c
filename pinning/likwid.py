"""likwid-pin's expressions: ``S0:0-3@S1:0-3``, ``M0``, ``E:S0:4:1:2``, ``S:scatter``.

This follows likwid-pin 5.2.2. The numbers of a list (``S0:0-3``) count the first thread
of every core of the domain, then the second of every core, and so on. After ``E:``, and
in a domain without a list (``M0``), threads are counted core by core. Sockets are
ordered by their numbers, all other domains by the tree. An expression for which
likwid-pin would wrap around or pin to a CPU twice is refused.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, zip_longest

from pinning.cpu_list import read_cpus
from pinning.errors import LimitError, PlaceError, PolicyError
from pinning.tree import Tree

_LIST = r"[0-9]{1,6}(?:-[0-9]{1,6})?(?:,[0-9]{1,6}(?:-[0-9]{1,6})?)*"
_DOMAIN = r"(?P<letter>[NSDCM])(?P<number>[0-9]{0,6})"
_BARE = re.compile(_LIST)
_LOGICAL = re.compile(rf"(?:L:)?{_DOMAIN}(?::(?P<list>{_LIST}))?")
_EXPRESSION = re.compile(
    rf"E:{_DOMAIN}:(?P<count>[0-9]{{1,6}})"
    r"(?::(?P<chunk>[0-9]{1,6}):(?P<stride>[0-9]{1,6}))?"
)
_SCATTER = re.compile(r"(?P<letter>[NSDCM]):scatter(?::(?P<count>[0-9]{1,6}))?")
_FORMS = "0-3, S0:0-3, M1, E:S0:4, E:S0:4:1:2 and S:scatter, joined by @"
_NAMES = {"S": "socket", "D": "die", "M": "numa"}


def likwid_cpus(tree: Tree, text: str) -> list[int]:
    """The CPUs of an expression, in order.

    Raises PolicyError, LimitError, and PlaceError for a part that the host lacks.
    """
    found: dict[int, None] = {}
    for cpu in chain.from_iterable(_part(tree, part) for part in text.split("@")):
        if cpu in found:
            raise PlaceError(f"likwid:{text[:60]} names CPU {cpu} more than once")
        found[cpu] = None
    return list(found)


def _part(tree: Tree, part: str) -> Sequence[int]:
    if _BARE.fullmatch(part):
        return _physical(tree, part)
    if match := _EXPRESSION.fullmatch(part):
        return _compact(tree, match, part)
    if match := _SCATTER.fullmatch(part):
        return _scattered(tree, match, part)
    if match := _LOGICAL.fullmatch(part):
        return _logical(tree, match, part)
    raise PolicyError(f"likwid: {part[:60]!r}: expected one of {_FORMS}")


def _physical(tree: Tree, part: str) -> list[int]:
    cpus = read_cpus(part)
    for cpu in cpus:
        if cpu not in tree.allowed:
            why = "is offline or not allowed" if cpu in tree.cpus else "does not exist"
            raise PlaceError(f"CPU {cpu} of {tree.host} {why}")
    return cpus


def _logical(tree: Tree, match: re.Match[str], part: str) -> list[int]:
    listed = _listed(tree, match["letter"], _domain(tree, match, part))
    if match["list"] is None:
        return listed
    threads = _cores_first(tree, listed)
    places = read_cpus(match["list"])
    _within(part, max(places) + 1, len(threads))
    return [threads[place] for place in places]


def _compact(tree: Tree, match: re.Match[str], part: str) -> list[int]:
    threads = _listed(tree, match["letter"], _domain(tree, match, part))
    count = int(match["count"])
    chunk, stride = int(match["chunk"] or 1), int(match["stride"] or 1)
    if not count or not 0 < chunk <= stride:
        raise PolicyError(f"likwid: {part}: of each STRIDE threads, CHUNK are taken")
    taken = [cpu for place, cpu in enumerate(threads) if place % stride < chunk]
    _within(part, count, len(taken))
    return taken[:count]


def _scattered(tree: Tree, match: re.Match[str], part: str) -> list[int]:
    letter = match["letter"]
    listed = [_listed(tree, letter, found) for found in _domains(tree, letter)]
    lists = [_cores_first(tree, threads) for threads in listed]
    turns = chain.from_iterable(zip_longest(*lists))
    threads = [cpu for cpu in turns if cpu is not None]
    count = int(match["count"] or len(threads))
    if not count:
        raise PolicyError(f"likwid: {part} names no thread")
    _within(part, count, len(threads))
    return threads[:count]


def _within(part: str, number: int, limit: int) -> None:
    if number > limit:
        raise LimitError(f"likwid: {part}: {limit} threads there, {number} asked")


def _domain(tree: Tree, match: re.Match[str], part: str) -> frozenset[int]:
    letter, number = match["letter"], match["number"]
    if (letter == "N") == bool(number):
        raise PolicyError(f"likwid: {part}: N has no number, S, D, C and M have one")
    found = _domains(tree, letter)
    place = int(number or 0)
    if place >= len(found):
        known = ", ".join(f"{letter}{n}" for n in range(len(found))) or "none"
        raise PlaceError(f"{tree.host} has no {letter}{number}; it has: {known}")
    return found[place]


def _domains(tree: Tree, letter: str) -> list[frozenset[int]]:
    """The allowed threads of every domain of a letter, in likwid's order."""
    if letter == "N":
        return [tree.allowed]
    if letter == "C":
        levels = [level for level in ("l3", "l2", "l1") if tree.domains(level)]
        kind = levels[0] if levels else "l3"
    else:
        kind = _NAMES[letter]
    # likwid counts a socket without dies as one die.
    things = tree.domains(kind) or (tree.domains("socket") if letter == "D" else [])
    held = [thing.cpus & tree.allowed for thing in things if thing.cpus & tree.allowed]
    if letter == "M":
        return held
    return sorted(held, key=lambda cpus: min(_place(tree, letter, cpu) for cpu in cpus))


def _listed(tree: Tree, letter: str, cpus: frozenset[int]) -> list[int]:
    return sorted(cpus, key=lambda cpu: _place(tree, letter, cpu))


def _place(tree: Tree, letter: str, cpu: int) -> tuple[int, int]:
    """A sort key: by socket; in a NUMA domain, by the lowest thread of the core."""
    if letter == "M":
        core = tree.domain("core", cpu)
        return (min(core.cpus & tree.allowed) if core else cpu), cpu
    socket = tree.domain("socket", cpu)
    return (socket.number or 0 if socket else 0), tree.order[cpu]


def _cores_first(tree: Tree, listed: Sequence[int]) -> list[int]:
    """The first thread of every core, then the second of every core, and so on."""
    seen: dict[object, int] = defaultdict(int)
    placed = []
    for cpu in listed:
        core = tree.domain("core", cpu) or cpu
        placed.append((seen[core], cpu))
        seen[core] += 1
    return [cpu for _, cpu in sorted(placed, key=lambda one: one[0])]
