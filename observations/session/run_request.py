"""A user's request to run and observe a command."""

from dataclasses import dataclass, replace

from observations.record import RunSpec


@dataclass(frozen=True)
class RunRequest:
    """A request to run a command; the client runs an ``attended`` one and reports.

    ``user`` runs the command; by default the user that SuperTwin runs as. ``within``
    are the folders that it may start in or below; empty means any.
    """

    spec: RunSpec
    attended: bool = False
    user: str = ""
    within: tuple[str, ...] = ()

    @property
    def samples(self) -> bool:
        """Whether anything is sampled."""
        return bool(self.spec.metrics or self.spec.roles or self.spec.events)

    def one_of(self, group: str, number: int) -> "RunRequest":
        """Return the request for one of its runs."""
        if self.spec.repeat == 1:
            return self
        return replace(self, spec=replace(self.spec, group=group, repetition=number))

    def request(self) -> dict[str, object]:
        """Return the request for its runner."""
        spec = self.spec
        return {
            "argv": list(spec.argv),
            "cpus": list(spec.cpus),
            "cwd": spec.cwd or None,
            "within": list(self.within),
            "env": dict(spec.environment),
            "timeout": spec.timeout,
            "look": self.samples,
            "show_all": self.attended,
        }
