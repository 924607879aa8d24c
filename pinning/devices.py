"""The CPUs of a device or a kind of core, from rows of saved queries."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pinning.errors import PlaceError
from pinning.policy import Cores, Policy

Row = Mapping[str, Any]

_FAST, _SLOW = "IntelCore", "IntelAtom"
# A GPU by its number, with the name that its vendor's tools and libraries use.
_NUMBERED = re.compile(r"(?:gpu|cuda|nvml|rsmi)?([0-9]{1,4})")


def with_devices(policy: Policy, rows: Sequence[Row]) -> Policy:
    """Resolve the policy's devices to kinds and names of ``topology/near-devices``.

    GPUs are numbered by PCI address. A device that the host lacks stays unchanged.
    """
    near = tuple(_known_as(rows, kind, name) for kind, name in policy.near)
    return replace(policy, near=near)


def _known_as(rows: Sequence[Row], kind: str, name: str) -> tuple[str, str]:
    kinds = {str(row["kind"]) for row in rows if name in (row["name"], row["address"])}
    if kind and kinds:
        return kind, name
    if kinds:
        return (min(kinds) if len(kinds) == 1 else ""), name
    numbered = _NUMBERED.fullmatch(name)
    gpus = sorted({str(row["address"]) for row in rows if _is_gpu(row)})
    if kind in ("", "gpu") and numbered and int(numbered[1]) < len(gpus):
        return "gpu", gpus[int(numbered[1])]
    return kind, name


def _is_gpu(row: Row) -> bool:
    return bool(row["kind"] == "gpu" and row["address"])


def near_cpus(host: str, rows: Iterable[Row], device: str, name: str) -> frozenset[int]:
    """The CPUs nearest to a device, from the rows of ``topology/near-devices``.

    ``device`` is its kind; empty means any. ``name`` is the name of the device, its PCI
    address, or a driver's name such as ``mlx5_0``. Raises PlaceError if the host lacks
    the device, if it is of another kind, or if it is equally near to all CPUs.
    """
    known = [row for row in rows if row["cpus"]]
    named = [row for row in known if name in (row["name"], row["address"])]
    cpus = _all(row for row in named if device in ("", row["kind"]))
    if not cpus:
        reason = _another(named) or _unknown(known, device)
        word = f"near:{device}={name}" if device else f"near:{name}"
        raise PlaceError(f"{word}: {host} has no such {device or 'device'} {reason}")
    return cpus


def _another(named: Iterable[Row]) -> str:
    kinds = " and ".join(sorted({str(row["kind"]) for row in named}))
    return f"by that name: it is used as {kinds}" if kinds else ""


def _unknown(known: Iterable[Row], device: str) -> str:
    of_kind = (row for row in known if device in ("", row["kind"]))
    names = sorted({str(row["name"]) for row in of_kind})
    have = f"those that are: {', '.join(names)}" if names else "none is"
    return f"that is nearer to some CPUs than to others; {have}"


def core_cpus(host: str, rows: Iterable[Row]) -> dict[Cores, frozenset[int]]:
    """The CPUs of performance and efficiency cores: rows of ``topology/cpu-kinds``.

    On Intel, the vendor's names decide; otherwise the fastest kind is separated from
    the others. Raises PlaceError if all cores are of one kind.
    """
    known = list(rows)
    if {row["type"] for row in known} >= {_FAST, _SLOW}:
        fast = [row for row in known if row["type"] == _FAST]
    else:
        best = max((row["rank"] or 0 for row in known), default=0)
        fast = [row for row in known if (row["rank"] or 0) == best]
    slow = [row for row in known if row not in fast]
    if not slow:
        raise PlaceError(f"cores: all cores of {host} are of one kind; leave it out")
    return {"p": _all(fast), "e": _all(slow)}


def _all(rows: Iterable[Row]) -> frozenset[int]:
    return frozenset(cpu for row in rows for cpu in _cpus(row["cpus"]))


def _cpus(text: str | None) -> list[int]:
    return [int(cpu) for cpu in (text or "").split(",") if cpu]
