"""The dependency chains of a loop: its time if it waits for nothing but data."""

from collections.abc import Sequence
from dataclasses import dataclass

from observations.hot_loops.instructions import Instruction, parse_instruction

# A chain that passes through several registers repeats after some iterations.
_ITERATIONS = 32


@dataclass(frozen=True)
class Timed:
    """An instruction and its latency in cycles.

    ``load`` is the part of the latency that is spent loading an operand from memory; 0
    if it loads nothing.
    """

    text: str
    latency: float
    load: float = 0.0


@dataclass(frozen=True)
class Chains:
    """Cycles of one iteration by data alone.

    ``critical_path`` is the longest chain in a single iteration, ``carried`` what each
    further iteration adds because it needs results of those before.
    """

    critical_path: float
    carried: float


def find_chains(loop: Sequence[Timed]) -> Chains:
    """Return the chains of a loop, as if every instruction had its own port."""
    parsed = [parse_instruction(one.text) for one in loop]
    written = {name for one in parsed for name in one.writes}
    ready: dict[str, float] = {}
    ends = [0.0]
    for _ in range(2 * _ITERATIONS):
        ends.append(max(ends[-1], _iterate(loop, parsed, written, ready)))
    added = ends[2 * _ITERATIONS] - ends[_ITERATIONS]
    return Chains(ends[1], added / _ITERATIONS)


def _iterate(
    loop: Sequence[Timed],
    parsed: Sequence[Instruction],
    written: set[str],
    ready: dict[str, float],
) -> float:
    """Run one iteration; ``ready`` holds when each value is there. Return its end."""
    end = 0.0
    for one, about in zip(loop, parsed, strict=True):
        done = _end(one, about, written, ready)
        for name in about.writes:
            if _is_known(name, written):
                ready[name] = done
        end = max(end, done)
    return end


def _end(
    one: Timed, about: Instruction, written: set[str], ready: dict[str, float]
) -> float:
    memory = {name for name in about.reads if "(" in name}
    early = {*about.address, *(n for n in memory if _is_known(n, written))}
    start = max((ready.get(name, 0.0) for name in early), default=0.0)
    # Registers are needed only when the operand from memory is there.
    values = (ready.get(name, 0.0) for name in about.reads - memory)
    late = max(values, default=0.0)
    return max(start + one.latency, late + max(one.latency - one.load, 0.0))


def _is_known(name: str, written: set[str]) -> bool:
    """Whether a name is the same place in each iteration.

    A place in memory is, if the loop changes none of the registers in its address.
    """
    return "(" not in name or not (
        parse_instruction(f"lea {name}, %rip").reads & written
    )
