"""Maps the boxes of lstopo's drawing to components.

lstopo names its boxes by class and logical index (``L2_3``), counted from 0 in the
order of hwloc's topology. The ids of components follow the rules of ingest.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from api.drawing.svg import SvgShape
from ingest.describe import component_ids as ids
from ingest.hwloc.lstopo import plain
from ingest.hwloc.read import parse_hwloc
from ingest.hwloc.xml import HwlocObject, parse_topology, whole
from ontology.iris import IdError, encode_id

Box = tuple[str, str]

_LETTERS = {0: "", 1: "d", 2: "i"}
_CONTAINERS = {"Package": "socket", "Die": "die", "Core": "core"}
_OS_INDEX = re.compile(r"NUMANode\b.*? P#([0-9]+)\b")
_DEVICES = {"Block": "disk", "Net": "nic", "GPU": "gpu", "CoProc": "gpu"}


def find_boxes(
    shapes: Iterable[SvgShape], sketched: bytes, given: bytes
) -> dict[str, Box]:
    """Return kind and id of the component by the name of its box.

    ``sketched`` is the XML as lstopo numbered it, ``given`` is the XML that the host
    was described from. Raises TopologyError.
    """
    facts = parse_hwloc(given)
    devices = _devices(given)
    counts: Counter[str] = Counter()
    found: dict[str, Box] = {"Machine_0": ("host", "")}
    for thing in parse_topology(sketched).objects:
        name = _class(thing)
        number, counts[name] = counts[name], counts[name] + 1
        if name == "OSDev":
            found |= _device(thing, number, devices)
        elif box := _component(thing, name, facts):
            found[f"{name}_{number}"] = box
    return found | _domains(shapes)


def _domains(shapes: Iterable[SvgShape]) -> dict[str, Box]:
    """Map NUMA domains by the OS index in their texts.

    hwloc numbers them differently from its XML if memories of several kinds are close
    to the same threads.
    """
    texts = ((shape.box, _OS_INDEX.match(shape.text)) for shape in shapes)
    return {box: ("numa", found[1]) for box, found in texts if found}


def _class(thing: HwlocObject) -> str:
    """Return the class that lstopo gives the boxes of such an object."""
    if thing.kind == "Cache":
        letter = _LETTERS.get(whole(thing, "cache_type") or 0, "?")
        return f"L{whole(thing, 'depth')}{letter}"
    return f"Group{thing.level}" if thing.kind == "Group" else thing.kind


def _component(thing: HwlocObject, name: str, facts: Mapping[str, Any]) -> Box | None:
    match thing.kind:
        case "PU":
            return "thread", str(thing.os_index)
        case "Package" | "Die" | "Core" if thing.threads:
            kind = _CONTAINERS[thing.kind]
            return kind, ids.container(kind, thing.threads)
        case "Cache" if thing.threads:
            return "cache", ids.container(name.lower(), thing.threads)
        case "Group":
            return next(_groups(thing, facts), None)
    return None


def _groups(thing: HwlocObject, facts: Mapping[str, Any]) -> Iterator[Box]:
    """Find a group by its threads: hwloc omits useless groups, so levels may differ."""
    for group in facts["groups"]:
        if group["threads"] and group["threads"] == thing.threads:
            yield "group", ids.group(group["level"], group["threads"])


def _devices(given: bytes) -> dict[str, str]:
    """Map the names in the drawing to device names, if they are unambiguous."""
    things = parse_topology(given).all_things("OSDev")
    names = {thing.attributes.get("name", "") for thing in things}
    drawn = Counter(plain(name) for name in names)
    return {plain(name): name for name in names if drawn[plain(name)] == 1}


def _device(
    thing: HwlocObject, number: int, names: Mapping[str, str]
) -> dict[str, Box]:
    name = ids.device(names.get(thing.attributes.get("name", ""), ""))
    try:
        encode_id(name)
    except IdError:
        return {}
    return {f"{class_}_{number}": (kind, name) for class_, kind in _DEVICES.items()}
