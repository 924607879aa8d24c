"""Chooses the events that a host counts for the requested roles and events."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from ingest.errors import RoleError
from ingest.pmu.kernel import encode_terms, kernel_pmus
from sampling.errors import PerfeventError
from sampling.events.event import PmuEvent, split_event
from sampling.events.host import HostPmus, RoleTerm

_NOT_OFFERED = "the kernel of this host does not offer this PMU"
# Events that the agent itself knows: /sys does not list them (parse_events.c).
SOFTWARE = (
    "alignment-faults",
    "context-switches",
    "cpu-clock",
    "cpu-migrations",
    "emulation-faults",
    "major-faults",
    "minor-faults",
    "page-faults",
    "task-clock",
)

_ON_NODES = ("socket", "cache")

# The encodings (hexadecimal) of an event in libpfm4; empty if it is unknown there.
Encode = Callable[[str, str], Sequence[str]]


@dataclass(frozen=True)
class SelectedEvent:
    """An event to count, the scope of one of its values, and its code if known.

    `config` are perf's config, config1 … of an event that the kernel does not name.
    """

    event: PmuEvent
    scope: str
    code: int | None = None
    config: tuple[tuple[str, int], ...] = ()

    @property
    def on_nodes(self) -> bool:
        """Whether the first thread of each NUMA domain counts it, not every thread."""
        return self.scope in _ON_NODES and not self.event.kernel


@dataclass(frozen=True)
class RoleFormula:
    """A role as a sum of events; `unit` is QUDT's.

    If its events are counted `apart`, each has instances of its own: a channel of one
    socket, or the threads of one kind of core.
    """

    role: str
    scope: str
    unit: str
    terms: tuple[tuple[Decimal, PmuEvent], ...]
    apart: bool = False


@dataclass(frozen=True)
class EventSelection:
    """What to count on a host; `refused` gives the reasons for the rest."""

    host: str
    counted: tuple[SelectedEvent, ...] = ()
    roles: tuple[RoleFormula, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def refusals(self) -> list[str]:
        """The different reasons; one that several roles have names all of them."""
        found: dict[str, list[str]] = {}
        for name, text in self.refused.items():
            reason = text.removeprefix(f"{name} on {self.host}: ")
            found.setdefault(reason, []).extend([name] * (reason != text))
        return [
            f"{', '.join(names)} on {self.host}: {reason}" if names else reason
            for reason, names in found.items()
        ]


def choose(
    host: HostPmus,
    roles: Mapping[str, Sequence[RoleTerm]],
    events: Iterable[str],
    encode: Encode,
) -> EventSelection:
    """What can be counted of these roles and events; each one is refused separately."""
    counted: dict[PmuEvent, SelectedEvent] = {}
    formulas: list[RoleFormula] = []
    refused: dict[str, str] = {}
    for role, terms in roles.items():
        try:
            formula, needed = _role(host, role, terms)
        except PerfeventError as error:
            refused[role] = str(error)
        else:
            formulas.append(formula)
            counted |= {one.event: one for one in needed}
    for text in events:
        try:
            one = _event(host, text, encode)
        except PerfeventError as error:
            refused[text] = str(error)
        else:
            counted.setdefault(one.event, one)
    _names_differ(counted)
    return EventSelection(host.host, tuple(counted.values()), tuple(formulas), refused)


def _role(
    host: HostPmus, role: str, terms: Sequence[RoleTerm]
) -> tuple[RoleFormula, list[SelectedEvent]]:
    if not terms:
        raise PerfeventError(
            f"unknown role {role[:80]}: `supertwin catalogue roles` lists the roles"
        )
    # The kinds of cores of a hybrid processor share its memory controllers.
    each = {(term.pmu, term.event, term.reason): term for term in terms}.values()
    present = [term for term in each if not _is_absent_box(terms, term)]
    for term in present:
        if term.reason or term.event is None:
            raise PerfeventError(
                f"{role} on {host.host}: {term.reason or 'no event is named'}"
            )
    needed = [_of_role(host, role, term) for term in present]
    if not all(one.event.kernel for one in needed):
        _places(host, role, present[0].scope)
    weights = tuple(
        (term.weight, one.event) for term, one in zip(present, needed, strict=True)
    )
    first = present[0]
    apart = _are_apart(host, needed)
    return RoleFormula(role, first.scope, first.unit, weights, apart), needed


def _of_role(host: HostPmus, role: str, term: RoleTerm) -> SelectedEvent:
    """The event of a term, with its configuration if it is one of the kernel."""
    event = PmuEvent(term.pmu, term.event or "", kernel=term.pmu in kernel_pmus())
    if event.kernel and not term.kernel_terms and host.devices:
        _check_named(host, term.pmu, event.name)
    if not (event.kernel and term.kernel_terms):
        return SelectedEvent(event, term.scope, _code(term.encoding))
    if term.pmu not in host.formats:
        raise PerfeventError(
            f"{role} on {host.host}: the formats of the kernel's {term.pmu} are "
            "unknown: probe the host again"
        )
    try:
        config = encode_terms(term.kernel_terms, host.formats[term.pmu])
    except RoleError as error:
        raise PerfeventError(f"{role} on {host.host}: {event}: {error}") from None
    found = tuple(sorted(config.items()))
    return SelectedEvent(event, term.scope, config.get("config"), found)


def _are_apart(host: HostPmus, needed: Sequence[SelectedEvent]) -> bool:
    """Whether the events of a role are counted on different CPUs."""
    uncore = {
        host.cpus.get(one.event.pmu)
        for one in needed
        if one.event.kernel and one.scope in _ON_NODES
    }
    cores = {one.event.pmu for one in needed} & {*host.cores}
    return len(uncore) > 1 or len(cores) > 1


def _is_absent_box(terms: Sequence[RoleTerm], term: RoleTerm) -> bool:
    """Whether this is a missing channel in a sum over channels, to be left out."""
    boxes = [one for one in terms if one.event == term.event and not one.reason]
    return term.event is not None and term.reason is not None and bool(boxes)


def _event(host: HostPmus, text: str, encode: Encode) -> SelectedEvent:
    pmu, name = split_event(text)
    if pmu is None:
        pmu = _the_core(host, text)
    if pmu in host.pmus and pmu not in host.devices:
        return _of_libpfm4(host, pmu, name, encode)
    return _of_kernel(host, pmu, name)


def _the_core(host: HostPmus, text: str) -> str:
    if len(host.cores) != 1:
        has = ", ".join(host.cores) or "none"
        raise PerfeventError(
            f"{text} does not name a PMU, and {host.host} does not have exactly one "
            f"kind of core ({has}): write PMU::EVENT"
        )
    return host.cores[0]


def _of_libpfm4(host: HostPmus, pmu: str, name: str, encode: Encode) -> SelectedEvent:
    known = host.pmus[pmu]
    if known.usable is False:
        raise PerfeventError(f"{pmu}::{name} on {host.host}: {_NOT_OFFERED}")
    codes = encode(pmu, name)
    if not codes:
        raise PerfeventError(
            f"{pmu} has no event {name}, or it lacks a unit mask: "
            f"`supertwin catalogue pmu {pmu}` lists its events"
        )
    scope = known.scope or "thread"
    _places(host, f"{pmu}::{name}", scope)
    return SelectedEvent(PmuEvent(pmu, name), scope, _code(codes[0]))


def _of_kernel(host: HostPmus, pmu: str, name: str) -> SelectedEvent:
    if not host.devices:
        raise PerfeventError(
            f"the twin of {host.host} does not list the events of its kernel: probe it "
            "again"
        )
    if pmu not in host.devices:
        raise PerfeventError(
            f"{host.host} has no PMU {pmu}: `supertwin query pmu/present` lists those "
            "that libpfm4 knows, /sys/bus/event_source/devices those of the kernel"
        )
    _check_named(host, pmu, name)
    return SelectedEvent(PmuEvent(pmu, name, kernel=True), "device")


def _check_named(host: HostPmus, pmu: str, name: str) -> None:
    """Raise PerfeventError unless the kernel names an event of a PMU."""
    offered = SOFTWARE if pmu == "software" else host.devices.get(pmu, ())
    if name not in offered:
        has = ", ".join(sorted(offered)) or "none"
        raise PerfeventError(
            f"the kernel of {host.host} has no event {name} of {pmu}: it has {has}"
        )


def _places(host: HostPmus, what: str, scope: str) -> None:
    """Refuse what the agent would count for some components only."""
    left = [p.component for p in host.places.get(scope, ()) if not p.counted]
    if left:
        names = ", ".join(name.rpartition("/")[2] for name in left[:3])
        more = ", …" if len(left) > 3 else ""
        raise PerfeventError(
            f"{what} cannot be counted on {host.host}: PCP's perfevent agent counts on "
            f"the first thread of each NUMA domain, which would leave out {names}{more}"
        )


def _names_differ(counted: Mapping[PmuEvent, SelectedEvent]) -> None:
    """Refuse two events with the same metric: the agent would mix their values."""
    metrics: dict[str, PmuEvent] = {}
    for event in counted:
        other = metrics.setdefault(event.value, event)
        if other is not event:
            raise PerfeventError(
                f"{other} and {event} have the same metric in PCP ({event.value}): "
                "leave one out"
            )


def _code(encoding: str | None) -> int | None:
    """The first register; an off-core event has a second one."""
    return int(encoding.partition(",")[0], 16) if encoding else None
