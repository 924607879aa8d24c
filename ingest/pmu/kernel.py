"""Events of the kernel's own PMUs that libpfm4 does not know, for roles.

``roles/kernel.yaml`` lists them by device. An event has terms, such as
``event=0x0a,rdwrmask=0x1``, unless the kernel names it itself. The device's format
files say which bits of perf's configuration a term sets.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from ingest.errors import RoleError
from ingest.pmu.models import expanded

_FILE = Path(__file__).parent / "roles/kernel.yaml"
_FORMAT = re.compile(r"(config\d?):(\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)")


@dataclass(frozen=True)
class KernelPmu:
    """A PMU of the kernel: what it counts for, and the terms of its events.

    An event that the kernel names itself has no terms. ``counters`` is 0 if unknown.
    """

    name: str
    scope: str
    counters: int
    source: str
    events: Mapping[str, str]


@cache
def kernel_pmus() -> dict[str, KernelPmu]:
    """Return the kernel's PMUs that roles use, by the name of their device."""
    return {
        name: KernelPmu(
            name,
            entry["scope"],
            entry.get("counters", 0),
            entry["source"],
            {event: terms or "" for event, terms in entry["events"].items()},
        )
        for names, entry in yaml.safe_load(_FILE.read_text("utf-8")).items()
        for name in expanded(names)
    }


def encode_terms(terms: str, formats: Mapping[str, str]) -> dict[str, int]:
    """The values of config, config1 … for an event's terms, by a device's formats.

    ``formats`` are the texts of the format files: ``config:0-7,32-37`` of ``event``.
    Raises RoleError for a term that the device lacks, or a value that does not fit.
    """
    found: dict[str, int] = {}
    for term in terms.split(","):
        name, _, number = term.partition("=")
        field, bits = _bits(name, formats.get(name, ""))
        found[field] = found.get(field, 0) | _scattered(term, int(number, 0), bits)
    return found


def _bits(name: str, text: str) -> tuple[str, list[int]]:
    """The field of a term and its bits, the lowest first."""
    known = _FORMAT.fullmatch(text.strip())
    if known is None:
        raise RoleError(
            f"this kernel's format of the term {name} is {text!r}: expected "
            "config:FIRST-LAST"
        )
    ranges = [part.partition("-") for part in known[2].split(",")]
    spans = [(int(first), int(last or first)) for first, _, last in ranges]
    return known[1], [bit for low, high in spans for bit in range(low, high + 1)]


def _scattered(term: str, value: int, bits: list[int]) -> int:
    if value >> len(bits):
        raise RoleError(f"{term} does not fit the {len(bits)} bits of this kernel")
    return sum(1 << bit for place, bit in enumerate(bits) if value >> place & 1)
