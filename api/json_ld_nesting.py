"""Puts the nodes of a JSON-LD document into each other."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from queries.natural_order import natural

JsonObject = dict[str, Any]
_WHOLE, _PARTS = "isPartOf", "parts"


class Nesting:
    """Nests each node at the first place that is found for it.

    ``nodes`` are by id and are changed. ``links`` are the names of properties whose
    values are nested.
    """

    def __init__(self, nodes: Mapping[str, JsonObject], links: Collection[str]) -> None:
        self._nodes, self._links = nodes, links
        self._placed: set[str] = set()
        self._parts = defaultdict[str, list[str]](list)
        for id_, node in nodes.items():
            for whole in _values(node, _WHOLE):
                self._parts[target(whole)].append(id_)

    def within(self, first: str) -> list[JsonObject]:
        """Return the first node with all nodes within it, then those that are not."""
        roots = [first] if first in self._nodes else []
        nested = [self._nested(id_) for id_ in roots]
        for id_ in sorted(self._nodes, key=natural):
            if id_ not in self._placed:
                nested.append(self._nested(id_))
        return nested

    def _nested(self, id_: str) -> JsonObject:
        self._placed.add(id_)
        node = self._nodes[id_]
        for name in self._links & node.keys():
            node[name] = [self._value(value) for value in _values(node, name)]
        free = [one for one in self._parts[id_] if one not in self._placed]
        # Marked first, so that none of them ends up within another one.
        self._placed.update(free)
        for part in sorted(free, key=natural):
            _remove(self._nodes[part], id_)
            node.setdefault(_PARTS, []).append(self._nested(part))
        return node

    def _value(self, value: Any) -> Any:
        id_ = target(value)
        if id_ not in self._nodes or id_ in self._placed:
            return value
        return self._nested(id_)


def target(value: Any) -> str:
    """Return the IRI that a value refers to; the value itself if it is a text."""
    return str(value.get("@id", "")) if isinstance(value, dict) else str(value)


def _values(node: JsonObject, name: str) -> list[Any]:
    value = node.get(name, [])
    return value if isinstance(value, list) else [value]


def _remove(part: JsonObject, whole: str) -> None:
    """Remove the link to the whole, which nesting expresses."""
    others = [one for one in _values(part, _WHOLE) if target(one) != whole]
    del part[_WHOLE]
    if others:
        part[_WHOLE] = others
