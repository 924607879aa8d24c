"""The profile of a run: its functions and its call tree, with samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

_NOT_RECORDED = "the run ended before its profile was recorded"


@dataclass(frozen=True)
class Binary:
    """A file with code; ``reason`` says what its functions lack."""

    path: str
    build_id: str
    reason: str = ""

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2] or self.path


@dataclass(frozen=True)
class Function:
    """A function; without a symbol it has no name, but its address in the file."""

    name: str
    binary: int
    file: str = ""
    address: int = 0


@dataclass(frozen=True)
class CallNode:
    """A function that a caller called, at a line or 0; ``samples`` ended in it.

    ``caller`` is the position of its caller, which comes before it, or -1.
    """

    caller: int
    function: int
    line: int
    samples: int


@dataclass(frozen=True)
class Profile:
    """The stacks of a run; ``reason`` says why there are none.

    ``sampler`` is the event that was sampled, at ``rate`` samples a second of each
    thread. perf lost ``lost`` samples.
    """

    reason: str
    sampler: str = ""
    rate: int = 0
    samples: int = 0
    lost: int = 0
    notes: Sequence[str] = ()
    binaries: Sequence[Binary] = ()
    functions: Sequence[Function] = ()
    nodes: Sequence[CallNode] = field(default=())

    def title(self, function: int) -> str:
        """Return the name of a function, else its address in its file."""
        one = self.functions[function]
        return one.name or f"{one.address:#x} in {self.binaries[one.binary].name}"

    @cached_property
    def totals(self) -> list[int]:
        """The samples of each node with those of all that it called."""
        found = [node.samples for node in self.nodes]
        for at in range(len(found) - 1, -1, -1):
            caller = self.nodes[at].caller
            if caller >= 0:
                found[caller] += found[at]
        return found

    def own_samples(self) -> list[int]:
        """Return the samples that ended in each function."""
        found = [0] * len(self.functions)
        for node in self.nodes:
            found[node.function] += node.samples
        return found

    def total_samples(self) -> list[int]:
        """Return the samples with each function in the stack; recursion counts once."""
        return self._within([node.function for node in self.nodes], self.functions)

    def binary_samples(self) -> list[int]:
        """Return the samples that ended in each binary."""
        found = [0] * len(self.binaries)
        for function, samples in zip(self.functions, self.own_samples(), strict=True):
            found[function.binary] += samples
        return found

    def binary_totals(self) -> list[int]:
        """Return the samples with each binary in the stack."""
        binaries = [self.functions[node.function].binary for node in self.nodes]
        return self._within(binaries, self.binaries)

    def _within(self, keys: Sequence[int], of: Sequence[object]) -> list[int]:
        found = [0] * len(of)
        above: list[frozenset[int]] = []
        for at, node in enumerate(self.nodes):
            outer = above[node.caller] if node.caller >= 0 else frozenset()
            if keys[at] not in outer:
                found[keys[at]] += self.totals[at]
            above.append(outer | {keys[at]})
        return found

    def path(self, at: int) -> list[int]:
        """Return the positions of a node and its callers, the outermost first."""
        found = []
        while at >= 0:
            found.append(at)
            at = self.nodes[at].caller
        return found[::-1]


def profile_of(event: Mapping[str, Any] | None) -> Profile:
    """Return the profile that a runner recorded; None if it recorded nothing."""
    if event is None:
        return Profile(_NOT_RECORDED)
    names = ("reason", "sampler", "rate", "samples", "lost", "notes")
    return Profile(
        **{name: event[name] for name in names},
        binaries=[
            Binary(**{name: one[name] for name in ("path", "build_id", "reason")})
            for one in event["binaries"]
        ],
        functions=[Function(*one) for one in event["functions"]],
        nodes=[CallNode(*one) for one in event["nodes"]],
    )
