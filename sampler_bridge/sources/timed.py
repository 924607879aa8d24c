"""A source and a store that measure how long their calls take."""

import time
from collections.abc import Collection, Sequence
from pathlib import Path

from sampler_bridge.sending.store import Refusal, StoreConnection
from sampling.account.cost import Cost, Latency
from sampling.sources.source import NarrowableSource, Sample, Source


class TimedSource:
    """A source that times its fetches, including those that fail.

    Fetches are at multiples of a period (ms), except a sampler's first one, which only
    looks up instances.
    """

    def __init__(self, source: Source, cost: Cost, period_ms: int) -> None:
        self._source = source
        self._cost = cost
        self._period = period_ms / 1000
        self._is_tick = False

    @property
    def connected(self) -> bool:
        """Whether the last call reached the source."""
        return self._source.connected

    def connect(self) -> None:
        """Connect to the source; raises SourceDownError."""
        self._source.connect()

    def select(self, metrics: Sequence[str]) -> None:
        """Fetch these metrics from now on."""
        self._source.select(metrics)

    def narrow(self, only: Collection[str] | None) -> None:
        """Leave out other instances from now on, if the source can."""
        if isinstance(self._source, NarrowableSource):
            self._source.narrow(only)

    def fetch(self) -> Sample:
        """The current values; raises SourceDownError."""
        at, began = time.time(), time.monotonic()
        if self._is_tick:
            self._cost.offset.add(at, self._period)
        self._is_tick = True
        try:
            sample = self._source.fetch()
        finally:
            took = time.monotonic() - began
            self._cost.fetch.add(took)
        if sample.taken is not None:
            self._cost.clock.add(sample.taken, at, took)
        return sample

    def close(self) -> None:
        """Close the connection to the source."""
        self._source.close()


class TimedStore(StoreConnection):
    """A store that times its answered writes."""

    def __init__(
        self,
        url: str,
        account: tuple[str, str] | None,
        lock_folder: Path,
        latency: Latency,
    ) -> None:
        super().__init__(url, account, lock_folder)
        self._latency = latency

    def write(self, request: bytes) -> Refusal | None:
        """Send a request, as Store does; an empty one is not timed."""
        began = time.monotonic()
        refusal = super().write(request)
        if request:
            self._latency.add(time.monotonic() - began)
        return refusal
