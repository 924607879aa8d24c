"""Records the results of a sampler's ticks in the log and in the account."""

import logging
from collections.abc import Mapping

from sampler_bridge.sampling.labelled import Labeller
from sampler_bridge.sampling.recorder import Recorder
from sampler_bridge.sampling.restarting import fault
from sampler_bridge.sampling.subset import Subset
from sampling.account.reasons import GapCause
from sampling.plan_file.plan import FetchGroup
from sampling.sources.source import Gap, Sample

_LOG = logging.getLogger(__name__)


class Journal:
    """Records what a sampler of one host reports, in order; one thread at a time.

    ``gaps`` holds the metrics that had no value, or not all values, at the last tick.
    """

    def __init__(self, host: str, recorder: Recorder) -> None:
        self.gaps: Mapping[str, Gap] = {}
        self.host = host
        self._recorder = recorder
        self._group = FetchGroup()
        self._labeller = Labeller(host, {})
        self._subset = Subset({})
        self._expected = 0
        self._is_unreadable = False

    def planned(self, group: FetchGroup) -> None:
        """Set what is sampled from the next tick on."""
        self._group = group
        self._labeller = Labeller(self.host, group.names)
        self._subset = Subset(group.choices)
        self._expected = self._subset.expected(group.names)

    def fetched(self, tick_ms: int, sample: Sample) -> None:
        """Record the values of a tick."""
        try:
            chosen = self._subset.of(sample)
            labelled = self._labeller.of(chosen)
        except Exception as error:  # a sample is decoded on first access
            self._unreadable(fault(error))
            return
        self._is_unreadable = False
        self._expected = chosen.expected
        self.gaps = {**labelled.left_out, **chosen.missing}
        gaps = [*labelled.left_out.values(), *chosen.missing.values()]
        self._recorder.record(tick_ms, labelled, gaps)

    def _unreadable(self, cause: GapCause) -> None:
        if not self._is_unreadable:
            _LOG.exception("%s: %s", self.host, cause.detail)
        self._is_unreadable = True
        self.silent(cause)

    def skipped(self, ticks: int, cause: GapCause) -> None:
        """Count ticks that gave no values at all."""
        self._recorder.skip(ticks * self._expected, cause)

    def silent(self, cause: GapCause) -> None:
        """Count a tick for which the source gave nothing usable."""
        self.gaps = {name: Gap(cause, 1) for name in self._group.names}
        self.skipped(1, cause)
