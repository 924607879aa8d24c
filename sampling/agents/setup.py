"""What an agent is asked to do: its configuration, and the metrics that follow."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sampling.agents.checks import refusals, refused_scripts
from sampling.errors import AgentRefusedError
from sampling.events.live import attached_scripts, unknown_metrics


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
class ScriptsSetup:
    """The agent of bpftrace with the scripts that the plans of its host need."""

    agent: str
    text: str
    metrics: Sequence[str]

    def absent(self, address: str) -> list[str]:
        """The metrics of scripts that are not attached; raises PerfeventError."""
        unknown = unknown_metrics(address, self.metrics)
        if unknown:
            return unknown
        names = {_script_of(metric) for metric in self.metrics}
        attached = attached_scripts(address, names)
        return [one for one in self.metrics if _script_of(one) not in attached]

    def check(self, lacks: Sequence[str], log: str) -> None:
        """Raise AgentRefusedError if bpftrace refused a script that is needed."""
        names = {_script_of(metric) for metric in lacks}
        for name, why in refused_scripts(log).items():
            if name in names:
                raise AgentRefusedError(f"bpftrace refuses script {name}: {why}")

    def works(self, address: str) -> bool:  # noqa: ARG002
        """An attached script gives values as soon as something happens."""
        return True


def _script_of(metric: str) -> str:
    return metric.split(".")[2]


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
