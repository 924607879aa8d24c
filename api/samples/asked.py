"""What a request for samples asks for."""

import time
from dataclasses import dataclass, replace
from typing import Self

from fastapi import Request

from api.samples.media_types import TABLES, prefers_page
from core.stores.errors import SamplesError
from queries.sample_calls import AVG, LAST, RAW, SampleCall
from queries.sample_times import time_ms

_TEXTS = ("to", "step", "fn", "q")
_OF_PAGES = ("from", "to")
PARAMETERS = ("from", *_TEXTS, "coverage")


@dataclass(frozen=True)
class SampleQuery:
    """The arguments as texts, as they are written in a URL; empty if not given."""

    from_: str = ""
    to: str = ""
    step: str = ""
    fn: str = ""
    q: str = ""
    coverage: bool = False

    @classmethod
    def of(cls, request: Request) -> Self:
        """Return the arguments in a URL; raises SamplesError."""
        given = request.query_params
        coverage = given.get("coverage", "false")
        if coverage not in ("true", "false"):
            raise SamplesError(f"coverage={coverage[:40]!r}: write true or false")
        texts = {name: given.get(name, "") for name in _TEXTS}
        return cls(given.get("from", ""), coverage=coverage == "true", **texts)

    def call(self) -> SampleCall:
        """Return the call of a function; raises SamplesError."""
        function = self.fn or (AVG if self.step else RAW)
        call = SampleCall(function, 0, 0, self.step, self.q, self.coverage)
        if function != LAST:
            start, end = self._range()
            return replace(call, start_ms=start, end_ms=end)
        if self.from_ or self.to:
            raise SamplesError("fn=last takes no from and to: leave them out")
        return call

    def _range(self) -> tuple[int, int]:
        now = time.time_ns() // 1_000_000
        if not self.from_:
            raise SamplesError("from is missing: give a time, such as from=now-1h")
        start = time_ms(self.from_, now, "from")
        end = time_ms(self.to or "now", now, "to")
        if start >= end:
            raise SamplesError("the range ends before it starts, or is empty")
        return start, end


def range_ms(from_: str, to: str) -> tuple[int, int]:
    """Return the ends of a span in Unix milliseconds; raises SamplesError."""
    query = SampleQuery(from_, to).call()
    return query.start_ms, query.end_ms


def asks_for_samples(request: Request) -> bool:
    """Whether a request for telemetry is about samples, not about the node.

    A page of the node has `from` and `to` as well: the range of its charts.
    """
    if request.query_params.get("format") in TABLES:
        return True
    given = request.query_params.keys() & {*PARAMETERS}
    return bool(given) and not (given <= {*_OF_PAGES} and prefers_page(request))
