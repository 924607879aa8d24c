"""What a user wishes to be run and observed."""

from dataclasses import dataclass, replace

from observations.record import Asked


@dataclass(frozen=True)
class Wish:
    """What is asked for; who asked for an ``attended`` one runs it, and tells what it
    says.

    ``user`` runs the command; empty: the user that SuperTwin runs as. ``within`` are
    the folders that it may be started in or below; empty: any.
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
        """The wish for one of its runs."""
        if self.asked.repeat == 1:
            return self
        return replace(self, asked=replace(self.asked, group=group, repetition=number))

    def request(self) -> dict[str, object]:
        """What its runner is asked for."""
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
