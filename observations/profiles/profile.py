"""The profiles of a run: its stacks as one tree of calls, with the time in each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

# Samples in a second of CPU time. 99 does not run in step with timers of 100 Hz.
USUAL_RATE, MOST_RATE = 99, 1000
HOT_SHARE = 0.01
_NOT_RECORDED = "the run ended before its profile was recorded"


class ProfileKind(StrEnum):
    """What the threads of a run did: they computed, or they waited."""

    ON_CPU = "on CPU"
    OFF_CPU = "off CPU"


@dataclass(frozen=True)
class ProfiledFunction:
    """A function; its name is the address in the file where there is no symbol.

    ``source`` and ``line`` are those with most samples, from debug information.
    """

    name: str
    binary: str
    build_id: str
    source: str = ""
    line: int = 0


@dataclass
class Call:
    """A function with the calls that led to it, outermost first.

    ``samples`` are those in the function and in what it called, ``own`` those in the
    function itself.
    """

    function: ProfiledFunction | None
    samples: int = 0
    own: int = 0
    calls: dict[ProfiledFunction, "Call"] = field(default_factory=dict)

    def add(self, stack: Sequence[ProfiledFunction], count: int) -> None:
        """Add a stack below this call."""
        at = self
        at.samples += count
        for function in stack:
            at = at.calls.setdefault(function, Call(function))
            at.samples += count
        at.own += count

    def walk(self, least: float) -> Iterator[tuple[tuple[int, ...], "Call"]]:
        """Yield the calls with at least this many samples, each with its path.

        The path has the position of each call among those of its caller.
        """
        waiting: list[tuple[tuple[int, ...], Call]] = [((), self)]
        while waiting:
            path, call = waiting.pop()
            for number, one in enumerate(call.ordered()):
                if one.samples >= least:
                    yield (*path, number), one
                    waiting.append(((*path, number), one))

    def ordered(self) -> list["Call"]:
        """Return the calls, most samples first."""
        return sorted(self.calls.values(), key=lambda one: -one.samples)


@dataclass(frozen=True)
class Share:
    """The share of the samples with something on the stack, and of those in it."""

    total: float
    own: float


@dataclass(frozen=True)
class Profile:
    """The stacks of all processes of a run; each has its weight, outermost call first.

    The weight is the number of samples, or the ns of waiting. ``sampler`` is the event
    that was sampled, at ``rate`` samples in a second of CPU time. ``lost`` samples were
    taken by perf but not written. ``waits`` off the CPU took ``waited_ns`` of all
    threads together, and ``samples`` of them have a stack of their own. ``note`` says
    what is missing. A ``reason`` says why there is nothing.
    """

    reason: str
    kind: ProfileKind = ProfileKind.ON_CPU
    sampler: str = ""
    rate: int = 0
    samples: int = 0
    lost: int = 0
    note: str = ""
    waits: int = 0
    waited_ns: int = 0
    stacks: tuple[tuple[int, tuple[ProfiledFunction, ...]], ...] = ()

    @property
    def weight(self) -> int:
        """The weight of all stacks, also of those that are not kept."""
        return self.samples if self.kind is ProfileKind.ON_CPU else self.waited_ns

    @cached_property
    def tree(self) -> Call:
        """All stacks, merged."""
        root = Call(None)
        for count, stack in self.stacks:
            root.add(stack, count)
        return root

    def functions(self) -> dict[ProfiledFunction, Share]:
        """Return the share of each function; a recursive one counts once a stack."""
        return self._shares(lambda function: function)

    def binaries(self) -> dict[tuple[str, str], Share]:
        """Return the share of each file, which is its path and build id."""
        return self._shares(lambda function: (function.binary, function.build_id))

    def _shares(self, key: Any) -> dict[Any, Share]:
        total: dict[Any, int] = {}
        own: dict[Any, int] = {}
        for count, stack in self.stacks:
            for one in {key(function) for function in stack}:
                total[one] = total.get(one, 0) + count
            last = key(stack[-1])
            own[last] = own.get(last, 0) + count
        shares = {
            one: Share(count / self.weight, own.get(one, 0) / self.weight)
            for one, count in total.items()
        }
        return dict(
            sorted(shares.items(), key=lambda pair: (-pair[1].total, str(pair[0])))
        )


def profile_of(
    event: Mapping[str, Any] | None, kind: ProfileKind = ProfileKind.ON_CPU
) -> Profile:
    """Return a profile that a runner recorded; None if it recorded nothing."""
    if event and kind is ProfileKind.OFF_CPU:
        event = event.get("off_cpu")
    if event is None:
        return Profile(_NOT_RECORDED, kind)
    functions = [
        ProfiledFunction(name, path, build_id, source, line)
        for name, binary, source, line in event["functions"]
        for path, build_id in [event["binaries"][binary]]
    ]
    stacks = tuple(
        (count, tuple(functions[number] for number in stack))
        for count, stack in event["stacks"]
    )
    names = ("reason", "sampler", "rate", "samples", "lost", "note")
    more = ("waits", "waited_ns")
    about = {name: event[name] for name in (*names, *more) if name in event}
    return Profile(**about, kind=kind, stacks=stacks)
