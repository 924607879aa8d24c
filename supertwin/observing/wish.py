"""What a user wishes to be run and observed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from observations.record import Asked


@dataclass(frozen=True)
class Wish:
    """A command, what is sampled meanwhile, how often it is run, and how long (s).

    Who asked for an ``attended`` one runs it and tells what it says.
    """

    asked: Asked
    metrics: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    repeat: int = 1
    timeout: float | None = None
    attended: bool = False

    @property
    def samples(self) -> bool:
        """Whether anything is sampled."""
        return bool(self.metrics or self.roles or self.events)

    def one_of(self, group: str, number: int) -> "Wish":
        """The wish for one of its runs."""
        if self.repeat == 1:
            return self
        return replace(self, asked=replace(self.asked, group=group, repetition=number))

    def request(self) -> dict[str, object]:
        """What its runner is asked for."""
        asked = self.asked
        return {
            "argv": list(asked.argv),
            "cpus": list(asked.cpus),
            "cwd": asked.cwd or None,
            "env": dict(self.environment),
            "timeout": self.timeout,
            "look": self.samples,
            "show_all": self.attended,
        }
