"""Finds the events of a group in the tables of libpfm4 and of the kernel."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ingest.pmu.kernel import kernel_pmus
from ingest.pmu.pfm import read_events, read_models
from ingest.pmu.roles import formulas
from observations.errors import NotImportedError
from observations.groups.likwid import Counter, translations
from virtual_telemetry.expression import Expression, Input, inputs_of, parse

_THREAD = "thread"


@dataclass(frozen=True)
class GroupRole:
    """A role that is one event; ``encoding`` and ``terms`` select it."""

    name: str
    pmu: str
    event: str
    scope: str
    encoding: tuple[str, ...] = ()
    terms: str = ""


class GroupEvents:
    """The events of a PMU model by likwid's names, and the roles that were needed.

    Raises PmuError if libpfm4 does not know the model.
    """

    def __init__(self, model: str) -> None:
        self.model = model
        self.roles: dict[str, GroupRole] = {}
        (self._events,) = read_models([model])

    def find(self, counter: Counter) -> Expression:
        """Return what a counter counts, over roles; raises NotImportedError."""
        known = translations()
        for candidate in known["events"].get(counter.event, ()):
            if found := self._translated(candidate, counter):
                return found
        name = self._names.get(counter.event)
        if (
            counter.kind in known["core"]
            and name
            and (found := self._own(name, counter))
        ):
            return found
        raise NotImportedError(self._reason(counter))

    def _reason(self, counter: Counter) -> str:
        """Say why a counter counts nothing that is known."""
        known, what = translations(), f"{counter.register} {counter.event}"
        for key in (counter.kind, counter.event):
            if key in known["elsewhere"]:
                return f"{what} is {known['elsewhere'][key]}, which no PMU counts"
        if counter.kind in known["core"]:
            return f"{what}: libpfm4 has no such event of {self.model}"
        if counter.kind in known["roles"]:
            return f"{what}: {self.model} has no role for it"
        return f"{what}: events of {counter.kind} are not counted"

    def _translated(self, candidate: str, counter: Counter) -> Expression | None:
        if "<" in candidate:
            found = parse(candidate)
            has_role = all(self._has_role(name) for name in inputs_of(found))
            return found if has_role and not counter.options else None
        pmu, _, event = candidate.rpartition("::")
        if not pmu:
            return self._own(event, counter)
        kernel = kernel_pmus().get(pmu)
        if kernel is None or event not in kernel.events or not self._has_device(pmu):
            return None
        terms = kernel.events[event]
        return self._role(GroupRole(counter.name, pmu, event, kernel.scope, (), terms))

    def _own(self, name: str, counter: Counter) -> Expression | None:
        """Return a role that is an event of the core, if libpfm4 can encode it."""
        event = ":".join((name, *_modifiers(counter)))
        found = read_events({self.model: [event]})[self.model]
        if not found:
            return None
        encoding = tuple(found[0]["encoding"])
        role = GroupRole(counter.name, self.model, event, _THREAD, encoding)
        return self._role(role)

    def _role(self, role: GroupRole) -> Expression:
        self.roles[role.name] = role
        return Input(role.name)

    def _has_role(self, name: str) -> bool:
        formula = formulas().get((name, self.model))
        return formula is not None and bool(formula.terms)

    def _has_device(self, pmu: str) -> bool:
        """Whether a role of the model has events of a PMU of the kernel."""
        return any(
            term.pmu == pmu
            for (_, model), formula in formulas().items()
            for term in formula.terms
            if model == self.model
        )

    @cached_property
    def _names(self) -> dict[str, str]:
        """The names in libpfm4 by those in likwid, which has _ for : and dots."""
        found: dict[str, str] = {}
        for event in self._events["events"]:
            masks = (f"{event['name']}:{mask['name']}" for mask in event["umasks"])
            for name in (event["name"], *masks):
                found.setdefault(name.replace(":", "_").replace(".", "_"), name)
        return found


def _modifiers(counter: Counter) -> Iterator[str]:
    for option in counter.options:
        name, _, value = option.partition("=")
        modifier = translations()["options"].get(name)
        if modifier is None:
            raise NotImportedError(
                f"{counter.register} {counter.event}: the option {name} has no "
                "equivalent in libpfm4"
            )
        yield f"{modifier}={int(value or '1', 0)}"
