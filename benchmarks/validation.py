"""Compares results with theory, and with earlier ones of the host and of its model.

Theory of a peak: cores x clock x operations per cycle. The clock is the best one that
the same run measured, so a processor that slows down under vector instructions is seen.
`memory_theory` has that of main memory.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import yaml

from benchmarks.machine import MAIN_MEMORY
from benchmarks.memory_theory import MemoryLimit
from benchmarks.results import Result
from core.stores.endpoint import Endpoint
from queries.catalogue import saved_query

_DATA = Path(__file__).parent / "processors.yaml"
_PRECISIONS = ("double", "single")
# A peak may be this much above theory, since the clock is measured apart from it.
_ABOVE, _BELOW = 1.02, 0.9
# A result that differs this much from the median of earlier ones, or from the mean of
# other hosts of the same model, is marked.
_CHANGED, _FEWEST_EARLIER, _FEWEST_HOSTS = 0.1, 3, 2
_FLOPS, _BYTES, _CLOCK = "FLOPS", "BYTE-PER-SEC", "clock"
# Of what all channels of memory could deliver; the rest is refresh and turnarounds.
_MEMORY_BELOW = 0.6
# All other kernels move more bytes than their results say.
_EXACT = ("load", "streaming-store")


@dataclass(frozen=True)
class Processor:
    """The operations of a core per cycle, by operation, instruction set and precision.

    ``source`` is the document that they are from.
    """

    name: str
    operations: Mapping[tuple[str, str, str], int]
    source: str


@dataclass
class Earlier:
    """Earlier values of a kernel: on the host, and the mean of others of its model."""

    own: list[float] = field(default_factory=list)
    mean: float = 0.0
    hosts: int = 0


# By kernel, variant and threads.
EarlierResults = Mapping[tuple[str, str, int], Earlier]


@cache
def _processors() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = yaml.safe_load(_DATA.read_text("utf-8"))
    return loaded


def known_processor(vendor: str, family: str, model: str) -> Processor | None:
    """Return a processor of the table; None if it has no entry."""
    for entry in _processors():
        ranges = (str(each).split("-") for each in entry["models"])
        if (entry["vendor"], True) == (vendor, family in entry["families"]) and any(
            int(first) <= int(model or -1) <= int(last) for first, last in ranges
        ):
            operations = {
                (operation, isa, precision): count
                for operation in ("fma", "add")
                for isa, counts in entry[operation].items()
                for precision, count in zip(_PRECISIONS, counts, strict=True)
            }
            return Processor(entry["name"], operations, entry["source"])
    return None


def processor_of(twin: Endpoint, host: str) -> tuple[Processor | None, str]:
    """Return the processor of a host, and the governor of its frequency or ''."""
    query = saved_query("benchmarks/processor").bind({"host": host})
    rows = twin.table(query).records()
    if not rows:
        return None, ""
    first = {name: str(value or "") for name, value in rows[0].items()}
    found = known_processor(first["vendor"], first["family"], first["model"])
    return found, first["governor"]


def validated(
    results: Sequence[Result],
    cores: int,
    processor: Processor | None,
    governor: str,
    earlier: EarlierResults,
    memory: MemoryLimit | None = None,
) -> tuple[Result, ...]:
    """Add theory, and what is doubtful about it, to each result of a run.

    ``cores`` is the number of cores that the threads ran on. ``memory`` is the limit of
    main memory.
    """
    clock = _clock(results)
    found = []
    for one in results:
        if memory and _is_of_memory(one):
            result = replace(one, theory=memory.rate)
            doubts = _memory_doubts(result, memory)
        else:
            result = _with_theory(one, cores, clock, processor)
            doubts = _theory_doubts(result, cores, governor)
        found.append(replace(result, doubts=(*doubts, *_change(result, earlier))))
    return tuple(found)


def _is_of_memory(result: Result) -> bool:
    """Whether it is a bandwidth of main memory: of the roofline, or of STREAM."""
    is_there = result.level == MAIN_MEMORY or bool(result.stores)
    return result.unit == _BYTES and is_there


def _memory_doubts(result: Result, memory: MemoryLimit) -> Iterable[str]:
    share = result.value / memory.rate
    moves_all = result.kernel in _EXACT or result.stores == "streaming"
    if share > _ABOVE:
        yield (
            f"{share:.0%} of theory: caches hold a part of it, or the twin has other "
            "memory modules"
        )
    elif share < _MEMORY_BELOW and memory.is_whole and moves_all:
        reasons = [*result.concerns] or ["a limit of the hypervisor"]
        likely = "; ".join([*reasons, "or channels with unequal modules"])
        yield f"{share:.0%} of theory of the memory: {likely}"


def _clock(results: Iterable[Result]) -> float:
    """Return the clock of a run; 0 if it is unknown, or others disturbed it."""
    clocks = (one for one in results if one.kernel == _CLOCK and not one.concerns)
    return max((one.best for one in clocks), default=0.0)


def _with_theory(
    result: Result, cores: int, clock: float, processor: Processor | None
) -> Result:
    if result.unit != _FLOPS or processor is None:
        return result
    key = (result.kernel, result.isa, result.precision)
    count = processor.operations.get(key)
    return replace(result, theory=cores * clock * count) if count and clock else result


def _theory_doubts(result: Result, cores: int, governor: str) -> Iterable[str]:
    if result.kernel == _CLOCK and result.concerns:
        yield "no theory of peaks follows from it"
    if result.theory is None:
        return
    share = result.value / result.theory
    if share > _ABOVE:
        yield (
            f"{share:.0%} of theory: the clock rose after it was measured, or the twin "
            "has another processor"
        )
    elif share < _BELOW:
        reasons = [*result.concerns]
        if governor and governor != "performance":
            reasons.append(f"the governor {governor} may lower the clock")
        if result.threads > cores:
            reasons.append("threads share cores")
        likely = "; ".join(reasons) or "a limit of the container, or a lower clock"
        yield f"{share:.0%} of theory: {likely}"


def _change(result: Result, earlier: EarlierResults) -> Iterable[str]:
    known = earlier.get((result.kernel, result.variant, result.threads), Earlier())
    if len(known.own) >= _FEWEST_EARLIER:
        of = f"the median of {len(known.own)} earlier results"
        yield from _difference(result, median(known.own), of)
    if known.hosts >= _FEWEST_HOSTS:
        of = f"the mean of {known.hosts} other hosts of the same model"
        yield from _difference(result, known.mean, of)


def _difference(result: Result, typical: float, of: str) -> Iterable[str]:
    change = result.value / typical - 1
    if abs(change) > _CHANGED:
        yield f"{change:+.0%} against {of}"


def earlier_results(twin: Endpoint, host: str, suite: str) -> EarlierResults:
    """Return the earlier results of a host, and those of other hosts of its model."""
    found: dict[tuple[str, str, int], Earlier] = defaultdict(Earlier)
    query = saved_query("benchmarks/results").bind({"host": host, "suite": suite})
    for row in twin.table(query).records():
        found[_key(row)].own.append(float(row["value"]))
    query = saved_query("benchmarks/by-model").bind({"like": host, "suite": suite})
    for row in twin.table(query).records():
        one = found[_key(row)]
        one.mean, one.hosts = float(row["mean"]), int(row["hosts"])
    return found


def _key(row: Mapping[str, Any]) -> tuple[str, str, int]:
    return str(row["kernel"]), str(row["variant"] or ""), int(row["threads"])
