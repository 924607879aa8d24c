"""Groups events so that each group fits the counters that a host has."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sampling.errors import PerfeventError
from sampling.events.choice import EventSelection, SelectedEvent
from sampling.events.counters import needs
from sampling.events.event import PmuEvent
from sampling.events.host import HostPmus

# How many placements are tried to need fewer groups than the first ones that fit.
_MOST_TRIED = 5_000

_Events = frozenset[SelectedEvent]
_Fits = Callable[[Collection[SelectedEvent]], bool]


class CountingPass(NamedTuple):
    """Roles that are counted in a pass, and events by name, with those of all passes.

    The events of a role that is in no pass are counted in several.
    """

    roles: tuple[str, ...] = ()
    events: tuple[str, ...] = ()


@dataclass(frozen=True)
class EventGroup:
    """Roles whose events are all counted together, and events that are counted too.

    A role that needs more events than a group may have is in no group: its events are
    in several.
    """

    roles: tuple[str, ...]
    events: tuple[PmuEvent, ...]


@dataclass(frozen=True)
class _Unit:
    """Events that stay together: those of a role, or, without a role, some others."""

    role: str
    events: _Events


def group_events(
    host: HostPmus,
    choice: EventSelection,
    taken: Collection[SelectedEvent] = (),
    common: Collection[SelectedEvent] = (),
    most: int | None = None,
) -> list[EventGroup]:
    """Put all events into as few groups as possible, those of a role into one.

    The counters also count ``taken`` for others, and ``common`` in each group. Apart
    from these, a group has at most ``most`` events. Raises PerfeventError if an event
    fits no group.
    """
    own = frozenset(common)

    def fits(events: Collection[SelectedEvent]) -> bool:
        more = {*events} - own
        if most is not None and len(more) > most:
            return False
        found = needs(host, {**dict.fromkeys(taken), **dict.fromkeys(own | more)})
        return all(n.there is None or n.needed <= n.there for n in found)

    units = list(_units(host, choice, fits))
    return [_group(choice, packed) for packed in _pack(units, fits)]


def _units(host: HostPmus, choice: EventSelection, fits: _Fits) -> Iterator[_Unit]:
    """Yield the roles that fit a group, and what else must be counted."""
    left = {one.event: one for one in choice.counted}
    for event, one in left.items():
        if not fits([one]):
            raise PerfeventError(
                f"{event} fits no pass on {host.host}, because other plans or the "
                "kernel use its counters: `supertwin query telemetry/plan-events` "
                "lists the events of plans; remove some"
            )
    roles = {
        f.role: frozenset(left[event] for _, event in f.terms) for f in choice.roles
    }
    whole = {role: events for role, events in roles.items() if fits(events)}
    yield from (_Unit(role, events) for role, events in whole.items())
    counted = frozenset().union(*whole.values())
    for role in [role for role in roles if role not in whole]:
        more = [one for one in choice.counted if one in roles[role] - counted]
        yield from _parts(more, fits)
        counted |= roles[role]
    yield from (_Unit("", frozenset([o])) for o in choice.counted if o not in counted)


def _parts(events: Sequence[SelectedEvent], fits: _Fits) -> Iterator[_Unit]:
    """Yield the events of a role that fits no group, in as few units as possible."""
    part: list[SelectedEvent] = []
    for one in events:
        if part and not fits([*part, one]):
            yield _Unit("", frozenset(part))
            part = []
        part.append(one)
    if part:
        yield _Unit("", frozenset(part))


def _pack(units: Sequence[_Unit], fits: _Fits) -> list[list[_Unit]]:
    """Put units into few groups: first fit, then a search for fewer groups."""
    ordered = sorted(units, key=lambda unit: -len(unit.events))
    first: list[list[_Unit]] = []
    for unit in ordered:
        places = [group for group in first if fits(_events([*group, unit]))]
        if places:
            max(places, key=lambda group: _shared(group, unit)).append(unit)
        else:
            first.append([unit])
    # If all units fitted one group, they would be in one group already.
    return _Search(ordered, fits, first).best() if len(first) > 2 else first


class _Search:
    """Looks for a placement with fewer groups, for a limited number of steps."""

    def __init__(
        self, units: Sequence[_Unit], fits: _Fits, known: list[list[_Unit]]
    ) -> None:
        self._units, self._fits, self._known = units, fits, known
        self._tried = 0

    def best(self) -> list[list[_Unit]]:
        """Return the placement with the fewest groups that was found."""
        self._place(0, [])
        return self._known

    def _place(self, number: int, groups: list[list[_Unit]]) -> None:
        if len(groups) >= len(self._known) or self._tried > _MOST_TRIED:
            return
        if number == len(self._units):
            self._known = [list(group) for group in groups]
            return
        unit = self._units[number]
        for group in groups:
            self._tried += 1
            if self._fits(_events([*group, unit])):
                group.append(unit)
                self._place(number + 1, groups)
                group.pop()
        self._place(number + 1, [*groups, [unit]])


def _events(units: Collection[_Unit]) -> _Events:
    return frozenset().union(*(unit.events for unit in units))


def _shared(group: Collection[_Unit], unit: _Unit) -> int:
    return len(_events(group) & unit.events)


def _group(choice: EventSelection, units: Sequence[_Unit]) -> EventGroup:
    """Name the roles of a group, in the order of the request, and other events."""
    held, roles = {one.event for one in _events(units)}, {unit.role for unit in units}
    found = [f for f in choice.roles if f.role in roles]
    of_roles = {event for formula in found for _, event in formula.terms}
    more = [o.event for o in choice.counted if o.event in held - of_roles]
    return EventGroup(tuple(formula.role for formula in found), tuple(more))
