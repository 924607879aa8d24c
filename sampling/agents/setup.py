"""What an agent is asked to do: its configuration, and the metrics that follow."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sampling.agents.checks import refusals
from sampling.errors import AgentRefusedError
from sampling.events.live import unknown_metrics


class AgentSetup(Protocol):
    """A configuration of an agent, and the metrics that PCP must have then."""

    @property
    def agent(self) -> str:
        """The name of the agent in PCP."""

    @property
    def text(self) -> str:
        """Its configuration."""

    @property
    def metrics(self) -> Sequence[str]:
        """The metrics that it gives with this configuration."""

    def absent(self, address: str) -> list[str]:
        """The metrics that a PMCD does not have; raises PerfeventError."""

    def check(self, lacks: Sequence[str], log: str) -> None:
        """Raise an error if the agent's log says why a metric is absent."""

    def works(self, address: str) -> bool:
        """Whether an agent that has all its metrics gives values."""


@dataclass(frozen=True)
class ModulesSetup:
    """An agent with the modules or exporters that the plans of its host need."""

    agent: str
    text: str
    metrics: Sequence[str]

    def absent(self, address: str) -> list[str]:
        """The metrics that a PMCD does not name; some never have an instance."""
        return unknown_metrics(address, self.metrics)

    def check(self, lacks: Sequence[str], log: str) -> None:
        """Raise AgentRefusedError if a module of the BPF agent failed."""
        for module, why in refusals(log).items() if self.agent == "bpf" else ():
            if why:
                raise AgentRefusedError(f"{self.agent}'s {module} cannot run: {why}")

    def works(self, address: str) -> bool:  # noqa: ARG002
        """An agent that has a metric gives its values."""
        return True
