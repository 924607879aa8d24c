"""The clock of one group of metrics: fetch on each tick, put the lines into the log.

One thread, source and period; another period or host is another sampler, which
neither delays nor breaks this one.
"""

import logging
import time
from collections.abc import Mapping
from threading import Condition

from sampler_bridge.account import LATE, SLOW_SOURCE
from sampler_bridge.errors import SourceDownError
from sampler_bridge.lines import Lines
from sampler_bridge.recorder import Recorder
from sampler_bridge.source import Gap, Sample, Source
from sampler_bridge.ticks import first_tick, next_tick
from sampler_bridge.worker import Worker

_LOG = logging.getLogger(__name__)

_NOT_YET = "the source was not reached yet"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 1.0
_LONGEST_WAIT = 5.0  # seconds after which to look whether the clock was set


class Sampler(Worker):
    """Samples metrics of one host at one period (ms) from one source.

    ``gaps`` says which metrics gave nothing at the last tick, ``reason`` why the
    source does not answer (None: it does).
    """

    def __init__(
        self, host: str, period_ms: int, source: Source, recorder: Recorder
    ) -> None:
        super().__init__(f"sampler-{period_ms}")
        self.reason: str | None = _NOT_YET
        self.gaps: Mapping[str, Gap] = {}
        self._host = host
        self._period_ms = period_ms
        self._source = source
        self._recorder = recorder
        self._changed = Condition()
        self._stopping = False
        self._wanted: Mapping[str, str] = {}
        self._names: Mapping[str, str] = {}
        self._lines = Lines(host, {})
        self._expected = 0
        self._pause, self._connect_at = _FIRST_PAUSE, 0.0

    def plan(self, names: Mapping[str, str]) -> None:
        """Sample these metrics from the next tick on: series names by metric."""
        with self._changed:
            self._wanted = dict(names)
            self._changed.notify()

    def stop(self, seconds: float) -> None:
        """Finish the tick that runs, within ``seconds``, and end."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join(seconds)

    def _work(self) -> None:
        tick_ms = first_tick(_now_ms(), self._period_ms)
        while self._wait_for(tick_ms):
            if _now_ms() - tick_ms <= self._period_ms // 2:
                self._tick(tick_ms)
            else:
                self._recorder.skip(self._expected, self.reason or LATE)
            tick_ms, skipped = next_tick(tick_ms, _now_ms(), self._period_ms)
            self._recorder.skip(skipped * self._expected, self.reason or LATE)
        self._source.close()

    def _wait_for(self, tick_ms: int) -> bool:
        """Wait for a tick, ready for it; False when there is to be none."""
        while True:
            self._prepare()
            with self._changed:
                if self._stopping:
                    return False
                seconds = (tick_ms * 1_000_000 - time.time_ns()) / 1e9
                if seconds <= 0:
                    return True
                if self._wanted is self._names:
                    self._changed.wait(min(seconds, self._patience()))

    def _patience(self) -> float:
        if self._source.connected:
            return _LONGEST_WAIT
        return max(self._connect_at - time.monotonic(), 0.001)

    def _prepare(self) -> None:
        """Take up a changed plan, and a source that is back."""
        wanted = self._wanted
        if wanted is not self._names:
            self._names = wanted
            self._lines = Lines(self._host, wanted)
            self._expected = len(wanted)
            self._source.select(list(wanted))
        if not self._source.connected and time.monotonic() >= self._connect_at:
            self._connect()

    def _connect(self) -> None:
        try:
            self._source.connect()
        except SourceDownError as error:
            self._away(error)
            self._connect_at = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        else:
            _LOG.info("the source of %s answers", self._host)
            self.reason, self._pause = None, _FIRST_PAUSE

    def _tick(self, tick_ms: int) -> None:
        try:
            sample = self._fetch()
        except SourceDownError as error:
            self._away(error)
            self.gaps = {name: Gap(str(error), 1) for name in self._names}
            self._recorder.skip(self._expected, str(error))
            return
        self.reason = None
        late_ms = _now_ms() - tick_ms
        if late_ms > self._period_ms:  # these are values of another time
            reason = SLOW_SOURCE
            self.gaps = {name: Gap(reason, 1) for name in self._names}
            self._recorder.skip(sample.expected, reason)
            return
        text = self._lines.text(sample, tick_ms)
        self._expected = sample.expected
        self.gaps = {**text.left_out, **sample.missing}
        gaps = [*text.left_out.values(), *sample.missing.values()]
        self._recorder.record(tick_ms, text, gaps)

    def _fetch(self) -> Sample:
        """The values of now; a source that was restarted since is met again."""
        if not self._source.connected:
            raise SourceDownError(self.reason or _NOT_YET)
        try:
            return self._source.fetch()
        except SourceDownError:
            self._source.connect()
            return self._source.fetch()

    def _away(self, error: SourceDownError) -> None:
        if self.reason is None:
            _LOG.warning("%s", error)
        self.reason = str(error)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
