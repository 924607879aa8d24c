"""What a user wishes to be run and observed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from observations.record import Asked


@dataclass(frozen=True)
class Wish:
    """A command, what is sampled meanwhile, how often it is run, and how long (s)."""

    asked: Asked
    metrics: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    repeat: int = 1
    timeout: float | None = None

    @property
    def samples(self) -> bool:
        """Whether anything is sampled."""
        return bool(self.metrics or self.roles or self.events)

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
        }
