"""What the graph says about a host's PMUs: counters, places, and formulas of roles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from core.stores.endpoint import Endpoint
from queries.run import saved_rows
from sampling.errors import PerfeventError

Row = Mapping[str, Any]

# The queries about a host, and about a role on it.
HOST_QUERIES = ("pmu/counters", "pmu/places", "pmu/kernel-events", "pmu/kernel-formats")
ROLE_QUERY = "pmu/role-events"

# In addition to a processor's own PMU, libpfm4 lists one that all of Intel's share.
_COMMON = "ix86arch"


@dataclass(frozen=True)
class HostPmu:
    """A PMU of a host; `counters` is libpfm4's number, for a core with one thread.

    `usable` says whether the kernel offers it, None if that could not be checked.
    """

    name: str
    type: str = "unknown"
    scope: str | None = None
    counters: int = 0
    fixed: int = 0
    threads_per_core: int = 1
    usable: bool | None = None


@dataclass(frozen=True)
class CounterLocation:
    """A socket or L3 cache, its lowest thread, and whether the agent counts there.

    The agent opens such events on the first thread of each NUMA domain.
    """

    component: str
    cpu: int
    counted: bool


@dataclass(frozen=True)
class HostPmus:
    """The PMUs of a host, and the events that its kernel names, by device.

    `places` are those of a scope, ``socket`` or ``cache``; `devices` is empty if the
    kernel's own events are unknown. `formats` are the bits of each term, by device, and
    `cpus` the CPUs on which the kernel opens a device, as in ``0,16``. `watchdog`: the
    kernel's NMI watchdog counts the cycles of each thread.
    """

    host: str
    pmus: Mapping[str, HostPmu]
    places: Mapping[str, Sequence[CounterLocation]] = field(default_factory=dict)
    devices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    watchdog: bool = False
    formats: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    cpus: Mapping[str, str] = field(default_factory=dict)

    @property
    def cores(self) -> list[str]:
        """The PMUs of the cores."""
        found = [name for name, pmu in self.pmus.items() if pmu.type == "core"]
        return [name for name in found if name != _COMMON] or found


@dataclass(frozen=True)
class RoleTerm:
    """An event of a formula; `reason` says why it cannot be counted.

    `kernel_terms` select an event that the kernel counts but does not name.
    """

    pmu: str
    event: str | None
    weight: Decimal
    encoding: str | None
    scope: str
    unit: str
    reason: str | None
    kernel_terms: str = ""


def read_host(endpoint: Endpoint, host: str) -> HostPmus:
    """Read the PMUs of a host from the graph.

    Raises PerfeventError if it has none, and QueriesError.
    """
    parameters = {"host": host}
    found = {name: saved_rows(endpoint, name, parameters) for name in HOST_QUERIES}
    return host_of(host, found)


def host_of(host: str, answers: Mapping[str, Sequence[Row]]) -> HostPmus:
    """The same, from the rows of `HOST_QUERIES`; raises PerfeventError."""
    counters, places, kernel, formats = (answers[name] for name in HOST_QUERIES)
    pmus = {row["pmu"]: _pmu(row) for row in counters}
    if not pmus:
        raise PerfeventError(
            f"the graph knows no PMU of {host}: probe it with `supertwin ingest` or "
            "`supertwin add`, or check its name with `supertwin query inventory/hosts`"
        )
    watchdog = any(row["watchdog"] for row in kernel)
    return HostPmus(
        host,
        pmus,
        _places(places),
        _devices(kernel),
        watchdog,
        _formats(formats),
        {row["pmu"]: row["cpus"] for row in formats if row["cpus"]},
    )


def _formats(rows: Sequence[Row]) -> dict[str, dict[str, str]]:
    formats: dict[str, dict[str, str]] = {}
    for row in rows:
        terms = formats.setdefault(row["pmu"], {})
        terms |= {row["term"]: row["bits"]} if row["term"] else {}
    return formats


def _places(rows: Sequence[Row]) -> dict[str, list[CounterLocation]]:
    places: dict[str, list[CounterLocation]] = {}
    for row in rows:
        place = CounterLocation(row["component"], int(row["cpu"]), bool(row["counted"]))
        places.setdefault(row["scope"], []).append(place)
    return places


def _devices(rows: Sequence[Row]) -> dict[str, list[str]]:
    devices: dict[str, list[str]] = {}
    for row in rows:
        events = devices.setdefault(row["device"], [])
        events += [row["event"]] if row["event"] else []
    return devices


def read_role(endpoint: Endpoint, host: str, role: str) -> list[RoleTerm]:
    """The terms of a role on a host; empty if there is no such role."""
    return role_terms(saved_rows(endpoint, ROLE_QUERY, {"host": host, "role": role}))


def role_terms(rows: Sequence[Row]) -> list[RoleTerm]:
    """The same, from the rows of `ROLE_QUERY`."""
    return [_term(row) for row in rows]


def _pmu(row: Row) -> HostPmu:
    return HostPmu(
        name=row["pmu"],
        type=row["type"] or "unknown",
        scope=row["scope"],
        counters=int(row["counters"] or 0),
        fixed=int(row["fixedCounters"] or 0),
        threads_per_core=int(row["threadsPerCore"] or 1),
        usable=row["usable"],
    )


def _term(row: Row) -> RoleTerm:
    weight = row["weight"]
    return RoleTerm(
        pmu=row["pmu"] or "",
        event=row["event"],
        weight=Decimal(0) if weight is None else Decimal(str(weight)),
        encoding=row["encoding"],
        scope=row["scope"] or "",
        unit=row["unit"] or "",
        reason=row["reason"],
        kernel_terms=row.get("terms") or "",
    )
