"""The view of hwloc's own tools on a machine: `lstopo`'s tree, `hwloc-distrib`.

Nothing here comes from the twin: placements are judged against this view.
"""

import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

Cpus = frozenset[int]

# lstopo's names for the kinds that policies use; version 1 has only data caches.
_KINDS = {
    "Core": "core",
    "L1dCache": "l1",
    "L1Cache": "l1",
    "L2Cache": "l2",
    "L3Cache": "l3",
    "Die": "die",
    "NUMANode": "numa",
    "Package": "socket",
}
KINDS = tuple(dict.fromkeys(_KINDS.values()))
# The use of a device by its PCI class. A plain VGA (0300) computes nothing.
_CLASSES = (("01", "disk"), ("02", "nic"), ("0302", "gpu"))

_OBJECT = re.compile(
    r"(?P<kind>\w+)(?:\([^)]*\))?(?: P#(?P<number>\d+))?(?: \(.*\))? "
    r"cpuset=(?P<set>\S+)"
)
_PCI = re.compile(r"PCI \(busid=(?P<busid>\S+) .*?class=(?P<class>[0-9a-f]{4})")
_NAMED = re.compile(r'.* "(?P<name>[^"]+)"')
_CPU_KIND = re.compile(r"CPU kind #\d+ efficiency (?P<rank>-?\d+) cpuset (?P<set>\S+)")


@dataclass(frozen=True)
class Device:
    """A device below a PCI device; ``cpus`` are those of its parent object."""

    kind: str
    name: str
    cpus: Cpus


@dataclass(frozen=True)
class Machine:
    """Allowed threads only, in hwloc's order: siblings, the next core, the next cache.

    ``sets`` are the threads of each object of a kind, in the same order; ``sockets``
    the numbers of sockets by their sets; ``cores`` those of ``p`` and ``e`` of a hybrid
    machine.
    """

    xml: Path
    order: tuple[int, ...]
    sets: dict[str, tuple[Cpus, ...]]
    sockets: dict[Cpus, int]
    devices: tuple[Device, ...]
    cores: dict[str, Cpus]

    @property
    def cpus(self) -> Cpus:
        return frozenset(self.order)

    def of(self, kind: str, cpu: int) -> Cpus | None:
        """The set of this kind that contains a thread."""
        return self._holders[kind].get(cpu)

    def ordered(self, cpus: Iterable[int]) -> list[int]:
        """Some threads in hwloc's order."""
        return sorted(cpus, key=self._places.__getitem__)

    @cached_property
    def _holders(self) -> dict[str, dict[int, Cpus]]:
        return {
            kind: {cpu: held for held in sets for cpu in held}
            for kind, sets in self.sets.items()
        }

    @cached_property
    def _places(self) -> dict[int, int]:
        return {cpu: place for place, cpu in enumerate(self.order)}


def read_machine(xml: Path) -> Machine:
    """A machine by its XML, which this version of hwloc must be able to read."""
    output = subprocess.run(
        ["lstopo-no-graphics", "-i", str(xml), "-v", "-p", "--cpuset"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    order: list[int] = []
    found: dict[str, list[Cpus]] = defaultdict(list)
    sockets: dict[Cpus, int] = {}
    for line in output.splitlines():
        match = _OBJECT.fullmatch(line.strip())
        cpus = _cpus(match["set"]) if match else frozenset()
        if not match or not cpus:
            continue
        if match["kind"] == "PU":
            order += cpus
        elif kind := _KINDS.get(match["kind"]):
            found[kind].append(cpus)
            if kind == "socket":
                sockets[cpus] = int(match["number"])
    found["numa"] = _smallest(found["numa"])
    sets = {
        kind: tuple(sorted(found[kind], key=lambda one: min(map(order.index, one))))
        for kind in KINDS
    }
    return Machine(
        xml, tuple(order), sets, sockets, tuple(_devices(output)), _cores(output, order)
    )


def _smallest(sets: Iterable[Cpus]) -> list[Cpus]:
    """The sets, smallest first, each without the CPUs of smaller ones."""
    taken: set[int] = set()
    kept = []
    for one in sorted(sets, key=len):
        if one - taken:
            kept.append(one - taken)
            taken |= one
    return kept


def _devices(message: str) -> Iterable[Device]:
    """A GPU by its address, other devices by their names in the system."""
    above: list[tuple[int, Cpus]] = []
    kind = None
    for line in message.splitlines():
        depth = len(line) - len(line.lstrip())
        above = [one for one in above if one[0] < depth]
        if match := _OBJECT.fullmatch(line.strip()):
            above.append((depth, _cpus(match["set"])))
            kind = None
        elif match := _PCI.match(line.strip()):
            code = match["class"]
            kind = next((k for start, k in _CLASSES if code.startswith(start)), None)
            if kind == "gpu":
                yield Device(kind, match["busid"], above[-1][1])
        elif kind in ("disk", "nic") and (match := _NAMED.fullmatch(line)):
            yield Device(kind, match["name"], above[-1][1])


def _cores(message: str, order: Sequence[int]) -> dict[str, Cpus]:
    """Cores by Intel's types, else by hwloc's efficiency; empty if all are alike."""
    known: dict[Cpus, int] = {}
    named: dict[str, Cpus] = {}
    for line in message.splitlines():
        if match := _CPU_KIND.fullmatch(line.strip()):
            cpus = _cpus(match["set"]) & frozenset(order)
            known[cpus] = int(match["rank"])
        elif line.startswith("  CoreType = "):
            named[line.rpartition(" ")[2]] = cpus
    fast = named.get("IntelCore") or _union(
        one for one, rank in known.items() if rank == max(known.values())
    )
    slow = _union(known) - fast
    return {"p": fast, "e": slow} if slow else {}


def _union(sets: Iterable[Cpus]) -> Cpus:
    return frozenset().union(*sets)


def _cpus(text: str) -> Cpus:
    """Parses ``0xf,,0x1``: words of 32 bits, the highest first; zeros are left out."""
    value = 0
    for word in text.split(","):
        value = value << 32 | int(word or "0", 16)
    return frozenset(cpu for cpu in range(value.bit_length()) if value >> cpu & 1)


@cache
def distrib(xml: Path, count: int, among: Cpus | None = None) -> list[int]:
    """Where the real `hwloc-distrib --single` puts threads.

    With ``among``, as if only those were allowed; `--restrict` would renumber them.
    """
    answer = subprocess.run(
        ["hwloc-distrib", "--single", "--taskset", str(count)],
        env={
            **os.environ,
            "HWLOC_XMLFILE": str(_allowing(xml, among) if among else xml),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(mask, 16).bit_length() - 1 for mask in answer.stdout.split()]


def _allowing(xml: Path, cpus: Cpus) -> Path:
    mask = sum(1 << cpu for cpu in cpus)
    words = [mask >> 32 * n & 0xFFFFFFFF for n in range(max(cpus) // 32 + 1)]
    allowed = ",".join(f"{word:#010x}" for word in reversed(words))
    text = re.sub(
        r' allowed_cpuset="[^"]*"',
        f' allowed_cpuset="{allowed}"',
        xml.read_text("utf-8"),
        count=1,
    )
    copy = xml.with_suffix(".allowing")
    copy.write_text(text, "utf-8")
    return copy


def readable(path: Path, folder: Path) -> Path:
    """A copy that hwloc 2 can read, which refuses XML of version 3."""
    text = path.read_text("utf-8")
    text = re.sub(r'(<topology version=")3\.0"', r'\g<1>2.0"', text, count=1)
    copy = folder / path.name
    copy.write_text(text, "utf-8")
    return copy
