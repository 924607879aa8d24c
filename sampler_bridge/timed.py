"""A source and a store that note how long they took."""

import time
from collections.abc import Sequence

from sampler_bridge.cost import Cost
from sampler_bridge.source import Sample, Source
from sampler_bridge.store import Refusal, Store


class TimedSource:
    """A source whose fetches are timed, those that fail too."""

    def __init__(self, source: Source, cost: Cost) -> None:
        self._source = source
        self._latency = cost.fetch

    @property
    def connected(self) -> bool:
        """Whether the last call reached what is behind the source."""
        return self._source.connected

    def connect(self) -> None:
        """Reach what is behind the source; raises SourceDownError."""
        self._source.connect()

    def select(self, metrics: Sequence[str]) -> None:
        """Fetch these metrics from now on."""
        self._source.select(metrics)

    def fetch(self) -> Sample:
        """The values of now; raises SourceDownError."""
        began = time.monotonic()
        try:
            return self._source.fetch()
        finally:
            self._latency.add(time.monotonic() - began)

    def close(self) -> None:
        """Let go of what is behind the source."""
        self._source.close()


class TimedStore(Store):
    """A store whose answered writes are timed, and whose bytes are counted."""

    def __init__(self, url: str, account: tuple[str, str] | None, cost: Cost) -> None:
        super().__init__(url, account)
        self._cost = cost

    def write(self, lines: bytes) -> Refusal | None:
        """Hand lines over, as Store does; an empty write is only a question."""
        began = time.monotonic()
        refusal = super().write(lines)
        if lines:
            self._cost.write.add(time.monotonic() - began)
            self._cost.sent_bytes += 0 if refusal else len(lines)
        return refusal
