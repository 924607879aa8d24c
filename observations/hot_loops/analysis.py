"""What was recorded of the hot loops of a run, and the bounds of each loop."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from observations.hot_loops.chains import Chains, Timed, find_chains
from observations.hot_loops.instructions import parse_instruction

_X86 = "x86_64"
_BRANCHES = ("j", "loop")
_NOT_RECORDED = "the run ended before its hot loops were recorded"
_OTHER_MACHINE = "dependency chains are found for x86-64 only"


@dataclass(frozen=True)
class Bounds:
    """Cycles of one iteration on one core, if all data is in the first-level cache.

    ``sequential``: one instruction after the other. ``scheduled``: as llvm-mca predicts
    it. ``perfect``: the most loaded port or the dispatch, without dependencies.
    ``chains`` is None where they cannot be found. ``ports``: cycles of each port.
    """

    sequential: float
    scheduled: float
    perfect: float
    chains: Chains | None
    ports: Mapping[str, float]
    micro_operations: float
    dispatch_width: int

    @property
    def limit(self) -> str:
        """What the schedule is bound by: a chain, a port or the dispatch."""
        if self.chains and self.chains.carried >= self.perfect:
            return "dependency chain"
        dispatch = self.micro_operations / self.dispatch_width
        port = max(self.ports, key=self.ports.__getitem__, default="")
        return f"port {port}" if self.ports.get(port, 0.0) > dispatch else "dispatch"


@dataclass(frozen=True)
class HotFunction:
    """A function with a share of the samples; ``reason`` says why it was not analysed.

    ``start`` and ``end`` are addresses in the file. Without a symbol it has no name.
    """

    name: str
    binary: str
    build_id: str
    start: int
    end: int
    samples: int
    share: float
    reason: str = ""

    @property
    def title(self) -> str:
        """Its name, else its address; else what it is."""
        return self.name or (f"{self.start:#x}" if self.end else "other code")


@dataclass(frozen=True)
class HotLoop:
    """An innermost loop of a function, from its first to its last instruction.

    ``source`` is the file with its first and last line; empty without debug
    information. ``bounds`` are None for a ``reason``. ``listing`` has the samples,
    address and text of each instruction.
    """

    function: HotFunction
    start: int
    end: int
    samples: int
    share: float
    listing: tuple[tuple[int, int, str], ...]
    source: tuple[str, int, int] | None
    bounds: Bounds | None
    reason: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class LoopAnalysis:
    """The hot functions and loops of a run, most samples first.

    ``sampler`` is the event that was sampled, at ``rate`` samples a second.
    ``analyser`` made the predictions, for the processor ``cpu``.
    ``note`` says what the samples lack.
    """

    reason: str
    sampler: str = ""
    rate: int = 0
    samples: int = 0
    analyser: str = ""
    cpu: str = ""
    note: str = ""
    functions: list[HotFunction] = field(default_factory=list)
    loops: list[HotLoop] = field(default_factory=list)


def analyse_loops(event: Mapping[str, Any] | None) -> LoopAnalysis:
    """Return the analysis of what a runner recorded; None if it recorded nothing."""
    if event is None:
        return LoopAnalysis(_NOT_RECORDED)
    total = event["samples"]
    functions = [
        HotFunction(**one, share=one["samples"] / total) for one in event["functions"]
    ]
    loops = [_loop(one, functions, event) for one in event["loops"]]
    return LoopAnalysis(
        **{n: event[n] for n in ("reason", "sampler", "rate", "samples")},
        analyser=event["analyser"],
        cpu=event["cpu"],
        note=event.get("note", ""),
        functions=sorted(functions, key=lambda one: -one.samples),
        loops=sorted(loops, key=lambda one: -one.samples),
    )


def _loop(
    one: Mapping[str, Any], functions: list[HotFunction], event: Mapping[str, Any]
) -> HotLoop:
    texts = [text for _, text, _ in one["instructions"]]
    prediction = one["prediction"]
    is_x86 = event["machine"] == _X86
    loads = event["load_latencies"]
    bounds = prediction and _bounds(prediction, texts, loads, is_x86)
    return HotLoop(
        functions[one["function"]],
        one["start"],
        one["end"],
        one["samples"],
        one["samples"] / event["samples"],
        tuple((samples, at, text) for at, text, samples in one["instructions"]),
        one["source"] and tuple(one["source"]),
        bounds or None,
        one["reason"],
        tuple(_notes(texts, is_x86)),
    )


def _bounds(
    found: Mapping[str, Any], texts: list[str], loads: list[float], is_x86: bool
) -> Bounds:
    latencies = found["latencies"]
    timed = [
        Timed(text, latency, _load(text, is_load, loads))
        for text, latency, is_load in zip(texts, latencies, found["loads"], strict=True)
    ]
    return Bounds(
        float(sum(latencies)),
        found["scheduled"],
        found["perfect"],
        find_chains(timed) if is_x86 else None,
        dict(found["ports"]),
        found["micro_operations"],
        found["dispatch_width"],
    )


def _load(text: str, is_load: bool, loads: list[float]) -> float:
    """Return the part of an instruction's latency in which it loads its operand."""
    kind = parse_instruction(text).kind
    return loads[kind] if is_load and kind < len(loads) else 0.0


def _notes(texts: list[str], is_x86: bool) -> Iterator[str]:
    """Say what the prediction does not know."""
    calls = sum(text.startswith("call") for text in texts)
    branches = sum(text.startswith(_BRANCHES) for text in texts[:-1])
    if calls:
        yield f"calls: {calls}, the time of what they call is not in the bounds"
    if branches:
        yield f"other branches: {branches}, the bounds are for all its instructions"
    if not is_x86:
        yield _OTHER_MACHINE
