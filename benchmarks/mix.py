"""The mix of operations and memory traffic of a run, for a loop with the same mix."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.errors import MixError
from benchmarks.results import Result
from benchmarks.suites import FULL, Suite, time_of
from core.stores.endpoint import Endpoint
from ontology.iris import Iris
from queries.catalogue import saved_query
from queries.run_ids import with_run_iris

_LINE_BYTES, _BLOCK_LINES = 64, 16
_BLOCK_BYTES = _BLOCK_LINES * _LINE_BYTES
# A pass is measured as often as other kernels, after one to calibrate and one to warm
# up. Rates of a slow core, in operations and in bytes per second.
_PASSES, _OPERATIONS, _BYTES = FULL.repeats + 2, 8e9, 4e9
_MOST_SECONDS, _MOST_INTENSITY = 600.0, 10_000.0
_FLOPS = "FLOPS"
NAME = "mix"
# The widest vectors of the machine.
_FLAGS = ("-O3", "-march=native", "-std=gnu11", "-pthread")


@dataclass(frozen=True)
class Mix:
    """Operations per byte, bytes of memory, and bytes from one line to the next.

    Those of a run have its number of threads and, if it is known, its ``rate`` in
    operations per second.
    """

    intensity: float | None = None
    footprint: int | None = None
    stride: int = _LINE_BYTES
    threads: int | None = None
    rate: float | None = None

    def words(self) -> Sequence[str]:
        """Return the arguments of the loop's program; raises MixError."""
        intensity, footprint = self._complete()
        self._check_footprint(footprint)
        if self.seconds > _MOST_SECONDS:
            raise MixError(
                f"a loop of this mix needs about {self.seconds:.0f} s: give a smaller "
                "--footprint or --intensity"
            )
        operations = intensity * _BLOCK_BYTES
        return f"{footprint}", f"{self.stride // _LINE_BYTES}", f"{operations:.9g}"

    @property
    def seconds(self) -> float:
        """About how long the loop runs, at the rates of slow cores; raises MixError."""
        intensity, footprint = self._complete()
        of_byte = max(intensity / _OPERATIONS, 1 / _BYTES)
        of_pass = footprint * of_byte / (self.threads or 1)
        return time_of(2, FULL) + _PASSES * of_pass

    def _complete(self) -> tuple[float, int]:
        if self.intensity is None or not self.footprint:
            lacking = "--intensity" if self.intensity is None else "--footprint"
            raise MixError(f"a loop needs {lacking}, or a RUN where it was measured")
        if self.intensity > _MOST_INTENSITY:
            raise MixError(
                f"{self.intensity:.3g} operations per byte are more than a loop can "
                f"have: give --intensity of at most {_MOST_INTENSITY:.0f}"
            )
        return self.intensity, self.footprint

    def _check_footprint(self, footprint: int) -> None:
        """Raise MixError unless each thread has memory for 16 lines of each stride."""
        if self.stride < _LINE_BYTES or self.stride % _LINE_BYTES:
            raise MixError(
                f"--stride {self.stride}: give a multiple of {_LINE_BYTES} bytes"
            )
        least = _BLOCK_LINES * self.stride * (self.threads or 1)
        if footprint < least:
            raise MixError(
                f"--footprint {footprint} is too small for --stride {self.stride} and "
                f"--threads {self.threads or 1}: give at least {least} bytes, or a "
                "smaller stride"
            )

    def suite(self) -> Suite:
        """Return the suite that measures a loop with this mix."""
        return Suite(
            NAME,
            "Loop of a mix",
            "a loop with given operations per byte, memory and stride",
            lambda _, cpus, effort: [
                *(str(effort.repeats), str(effort.seconds)),
                *self.words(),
            ],
            lambda *_: self.seconds,
            _FLAGS,
        )

    def compared(self, results: Sequence[Result]) -> str:
        """Say which share of the loop's rate the run reached; empty if unknown."""
        best = next((one.value for one in results if one.unit == _FLOPS), None)
        if not self.rate or not best:
            return ""
        share = f"{self.rate / best:.0%}"
        return f"the run: {self.rate / 1e9:.3g} GFLOP/s, {share} of this loop"


def mix_of_run(twin: Endpoint, iris: Iris, run: str, given: Mix) -> Mix:
    """Return the mix of a run, by its id or IRI; what is given replaces what it had.

    Raises MixError if the run, or a count of it, is not known, and ParameterError.
    """
    query = saved_query("benchmarks/mix")
    rows = twin.table(query.bind(with_run_iris(query, iris, {"id": run}))).records()
    if not rows:
        raise MixError(f"no run {run}: `supertwin query observations/runs` lists them")
    row = rows[0]
    intensity = given.intensity
    if intensity is None:
        intensity = _number(row["intensity"])
    if intensity is None:
        raise MixError(f"{run}: {row['reason']}: give --intensity")
    return replace(
        given,
        intensity=intensity,
        footprint=given.footprint or int(row["memory"] or 0) or None,
        threads=int(row["threads"]) if row["threads"] else None,
        rate=_number(row["rate"]),
    )


def _number(found: object) -> float | None:
    return None if found is None else float(str(found))
