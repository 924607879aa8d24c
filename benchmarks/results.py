"""Reads what the programs print: for each kernel its work and its times."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from scipy.stats import binom

from observations.errors import BenchmarkError

# The unit of a rate, by the unit of the work.
_RATES = {"FLOP": "FLOPS", "BYTE": "BYTE-PER-SEC", "CYCLE": "HZ"}
# The results of this work are times, not rates.
_TIMED, _LATENCY_UNIT, _NANO = ("LOAD", "CALL"), "NanoSEC", 1e9
_CONFIDENCE = 0.95
# Fields that are kept as a program prints them: texts, numbers, and what it measured.
_TEXTS = ("isa", "precision", "level", "stores", "pages", "kind", "tool")
_NUMBERS = ("order", "bandwidth", "transfer")
_MEASURED = ("began", "ended", "other", "stolen")
# Above these shares of the CPUs' time, a result is marked.
_OTHER_LOAD, _STOLEN = 0.05, 0.01
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9.-]+")


@dataclass(frozen=True)
class Result:
    """The figure of one kernel: the median of its repetitions, in ``unit``.

    ``best`` is the highest rate, or the lowest latency. ``low`` and ``high`` are the
    95 % confidence interval of the median; with fewer than six repetitions there is
    none. ``other`` and ``stolen`` are the shares of the CPUs' time that other programs
    and the hypervisor took meanwhile, None if unknown. ``theory`` is what the processor
    could do, and ``doubts`` say what is odd about the value. ``tool`` is the installed
    program or library that it depends on, with its version, and ``kind`` how the kernel
    was run. ``transfer`` is the size of a message or block in bytes, and ``order`` that
    of a square matrix, whose elements are up to ``bandwidth`` from its diagonal.
    ``system`` is a file system, on ``disk``. Texts are empty, and
    sizes None, if they do not apply.
    """

    kernel: str
    unit: str
    threads: int
    value: float
    best: float
    repeats: int
    low: float | None = None
    high: float | None = None
    isa: str = ""
    precision: str = ""
    level: str = ""
    stores: str = ""
    pages: str = ""
    kind: str = ""
    tool: str = ""
    order: int | None = None
    bandwidth: int | None = None
    transfer: int | None = None
    system: str = ""
    disk: str = ""
    size: int = 0
    began: float = 0.0
    ended: float = 0.0
    other: float | None = None
    stolen: float | None = None
    theory: float | None = None
    doubts: tuple[str, ...] = ()

    @property
    def variant(self) -> str:
        """Which variant of a kernel it is; the thesis' modifier.

        Results of one host, kernel, variant and thread set are of the same thing.
        """
        size = f"{self.size} B" if self.pages else ""
        pages = f"{self.pages} pages" if self.pages else ""
        order = "" if self.order is None else f"N={self.order}"
        wide = "" if self.bandwidth is None else f"bandwidth {self.bandwidth}"
        transfer = "" if self.transfer is None else f"{self.transfer} B"
        kernel = (self.isa, self.precision, self.level, self.stores, pages, size)
        installed = (self.kind, order, wide, transfer, self.tool)
        return ", ".join(filter(None, (*kernel, *installed)))

    @property
    def id(self) -> str:
        """A name that no other result of the same run has."""
        words = f"{self.kernel} {self.variant}"
        return _NOT_IN_A_NAME.sub("-", words).strip("-")

    @property
    def concerns(self) -> list[str]:
        """What disturbed the measurement, in words."""
        found = []
        if self.other is not None and self.other > _OTHER_LOAD:
            found.append(f"other programs used {self.other:.0%} of its CPUs")
        if self.stolen is not None and self.stolen > _STOLEN:
            found.append(f"the hypervisor took {self.stolen:.0%} of its CPUs")
        return found


def read_results(printed: str) -> list[Result]:
    """Read all results of a run; raises BenchmarkError."""
    found = [_read(line) for line in printed.splitlines() if line.strip()]
    if not found:
        raise BenchmarkError("the benchmark printed no result: run it again")
    return found


def _read(line: str) -> Result:
    try:
        fields = json.loads(line)
        return _result(fields)
    except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        raise BenchmarkError(
            f"{line[:200]!r} is not a result of a benchmark ({error}): run it again"
        ) from None


def _result(fields: dict[str, Any]) -> Result:
    work, seconds = float(fields["work"]), [float(one) for one in fields["seconds"]]
    is_latency = fields["unit"] in _TIMED
    values = [_NANO * s / work if is_latency else work / s for s in seconds]
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise ValueError("a time is not positive")
    interval = interval_of_median(values)
    return Result(
        kernel=fields["kernel"],
        unit=_LATENCY_UNIT if is_latency else _RATES[fields["unit"]],
        threads=int(fields["threads"]),
        value=median(values),
        best=min(values) if is_latency else max(values),
        repeats=len(values),
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        size=int(fields.get("bytes", 0)),
        **_copied(fields),
    )


def _copied(fields: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: fields.get(name, "") for name in _TEXTS}
    numbers = {name: fields.get(name) for name in _NUMBERS}
    return {**texts, **numbers, **{name: float(fields[name]) for name in _MEASURED}}


def interval_of_median(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of the median by order statistics.

    It assumes nothing about the distribution. None if there are too few values.
    """
    ordered, count = sorted(values), len(values)
    first = int(binom.ppf((1 - _CONFIDENCE) / 2, count, 0.5))
    if first < 1:
        return None
    return ordered[first - 1], ordered[count - first]


def noisy(results: Iterable[Result]) -> bool:
    """Whether something other than the benchmark used its CPUs."""
    return any(result.concerns for result in results)
