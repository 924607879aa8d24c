"""A user's request to run and observe a command."""

from dataclasses import dataclass, replace

from observations.record import Asked


@dataclass(frozen=True)
class Wish:
    """A request to run a command; the client runs an ``attended`` one and reports.

    ``user`` runs the command; by default the user that SuperTwin runs as. ``within``
    are the folders that it may start in or below; empty means any.
    """

    asked: Asked
    attended: bool = False
    user: str = ""
    within: tuple[str, ...] = ()

    @property
    def samples(self) -> bool:
        """Whether anything is sampled."""
        return bool(self.asked.metrics or self.asked.roles or self.asked.events)

    def one_of(self, group: str, number: int) -> "Wish":
        """Return the wish for one of its runs."""
        if self.asked.repeat == 1:
            return self
        return replace(self, asked=replace(self.asked, group=group, repetition=number))

    def request(self) -> dict[str, object]:
        """Return the request for its runner."""
        asked = self.asked
        return {
            "argv": list(asked.argv),
            "cpus": list(asked.cpus),
            "cwd": asked.cwd or None,
            "within": list(self.within),
            "env": dict(asked.environment),
            "timeout": asked.timeout,
            "look": self.samples,
            "show_all": self.attended,
        }
