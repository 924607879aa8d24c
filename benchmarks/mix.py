"""The mix of operations and memory traffic of a run, for a loop with the same mix."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.errors import MixError
from benchmarks.results import Result
from benchmarks.suites import Suite, time_of
from core.stores.endpoint import Endpoint
from ontology.iris import Iris
from queries.catalogue import saved_query
from queries.run_ids import with_run_iris

_LINE_BYTES, _BLOCK_BYTES = 64, 16 * 64
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
        if self.intensity is None or not self.footprint:
            lacking = "--intensity" if self.intensity is None else "--footprint"
            raise MixError(f"a loop of this mix needs {lacking}, or --like RUN")
        if self.stride < _LINE_BYTES or self.stride % _LINE_BYTES:
            raise MixError(
                f"--stride {self.stride}: give a multiple of {_LINE_BYTES} bytes"
            )
        operations = self.intensity * _BLOCK_BYTES
        return f"{self.footprint}", f"{self.stride // _LINE_BYTES}", f"{operations:.9g}"

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
            lambda effort: time_of(2, effort),
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
