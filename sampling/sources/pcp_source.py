"""PCP as a source: one PMCD, queried through PMAPI."""

import logging
import time
from collections.abc import Sequence
from functools import partial

from core.linux import pmapi
from sampling.account.reasons import GapCause, GapReason
from sampling.errors import SourceDownError
from sampling.sources.pcp_layout import KINDS, FetchedMetric, InstanceNames
from sampling.sources.pcp_names import NamesConnection
from sampling.sources.pcp_reasons import cause_of
from sampling.sources.pcp_texts import SeenTexts
from sampling.sources.pcp_values import Values
from sampling.sources.source import Gap, LateSample, Sample

_LOG = logging.getLogger(__name__)

_NOT_NUMBERS = {
    -1: "values that this PCP does not support",
    7: "aggregates",
    8: "aggregates",
    9: "events",
    10: "events",
}

_ASK_AGAIN = 10.0  # seconds until an unknown name is looked up again
_ASK_SOON = 1.0  # the same after another failure, as while an agent starts
_NAMES_HOLD = 60.0  # seconds after which an instance may have been renamed


class PcpSource:
    """The metrics of one PMCD, at an address such as ``unix:///run/pcp/pmcd.socket``.

    Numbers of all six PCP types are given exactly, texts as separate series; aggregates
    and events are gaps with that reason.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.changes = 0  # how often agents came, went or restarted between fetches
        self._context: pmapi.Context | None = None
        self._names_connection = NamesConnection(address)
        self._names = InstanceNames(self._names_connection.ask)
        self._metrics: tuple[str, ...] = ()
        self._known: dict[str, pmapi.MetricDescriptor] = {}
        self._unknown: dict[str, Gap] = {}
        self._sizes: dict[str, int] = {}
        self._ask_at = self._names_until = 0.0
        self._seen = SeenTexts()
        self._pmids = pmapi.pmid_array([])
        self._values = self._new_values([])

    @property
    def connected(self) -> bool:
        """Whether PMCD answered the last call."""
        return self._context is not None

    def connect(self) -> None:
        """Open a new connection and look up all metrics; raises SourceDownError."""
        self.close()
        self._names_connection = NamesConnection(self.address)
        self._names = InstanceNames(self._names_connection.ask)
        self._known.clear()
        self._values = self._new_values([])
        try:
            self._context = pmapi.Context(self.address)
            self._resolve(self._context)
        except pmapi.BindingMissingError as error:
            raise SourceDownError(str(error)) from error
        except pmapi.PmError as error:
            self.close()
            raise self._down(error) from error

    def close(self) -> None:
        """Close the connections; `connect` opens new ones."""
        self._names_connection.close()
        if self._context is not None:
            self._context.close()
            self._context = None

    def select(self, metrics: Sequence[str]) -> None:
        """Fetch these metrics from now on; only new names are looked up."""
        self._metrics = tuple(dict.fromkeys(metrics))
        wanted = set(metrics)
        self._known = {n: desc for n, desc in self._known.items() if n in wanted}
        if self._context is not None:
            try:
                self._resolve(self._context)
            except pmapi.PmError:
                self.close()

    def fetch(self) -> Sample:
        """The current values; raises SourceDownError, after which connect is due."""
        try:
            self._refresh()
            return self._fetch()
        except pmapi.PmError as error:
            self.close()
            raise self._down(error) from error

    def _fetch(self) -> Sample:
        unknown = self._unknown
        if not self._values.chosen:
            return Sample((), unknown)
        result = self._open().fetch(self._pmids)
        if result.changed:
            self.changes += 1
            _LOG.info("PMCD at %s changed its agents", self.address)
            # A new agent may renumber its metrics: these values may belong to others.
            self._look_up_again(self._open())
            return self._fetch()
        read = partial(self._values.read, result, time.monotonic(), unknown)
        return LateSample(read, result.seconds)

    def _look_up_again(self, context: pmapi.Context) -> None:
        """Look up all metrics, and all names of instances."""
        self._known = {}
        self._names_until = 0.0
        self._resolve(context)
        self._refresh()

    def _refresh(self) -> None:
        now = time.monotonic()
        if now >= self._ask_at and len(self._known) < len(self._metrics):
            self._resolve(self._open())
        if now >= self._names_until:
            self._names_until = now + _NAMES_HOLD
            self._values.is_stale = True

    def _resolve(self, context: pmapi.Context) -> None:
        """Look up unknown metrics, and arrange the fetch."""
        self._unknown = {}
        names = [name for name in self._metrics if name not in self._known]
        answers = context.describe_all(names)
        for name, answer in zip(names, answers, strict=True):
            self._note(name, answer)
        soon = any(map(_may_pass, answers))
        self._ask_at = time.monotonic() + (_ASK_SOON if soon else _ASK_AGAIN)
        self._arrange()

    def _note(self, name: str, answer: pmapi.MetricDescriptor | pmapi.PmError) -> None:
        """Save the description of a metric, or why it is not fetched."""
        if isinstance(answer, pmapi.PmError):
            self._unknown[name] = Gap(cause_of(answer.number), self._sizes.get(name, 1))
        elif answer.type in KINDS or answer.type == pmapi.TYPE_STRING:
            self._known[name] = answer
        else:
            what = _NOT_NUMBERS.get(answer.type, "values of an unknown type")
            cause = GapCause(GapReason.NOT_STORED, f"{what} are not stored")
            self._unknown[name] = Gap(cause, 1)

    def _arrange(self) -> None:
        found = [
            FetchedMetric(name, self._known[name])
            for name in self._metrics
            if name in self._known
        ]
        chosen = sorted(found, key=lambda metric: metric.desc.type)
        if chosen != self._values.chosen:
            self._pmids = pmapi.pmid_array([metric.desc.pmid for metric in chosen])
            self._values = self._new_values(chosen)

    def _new_values(self, chosen: Sequence[FetchedMetric]) -> Values:
        return Values(chosen, self._names, self._sizes, self._seen)

    def _open(self) -> pmapi.Context:
        if self._context is None:
            raise SourceDownError(f"no connection to PMCD at {self.address} yet")
        return self._context

    def _down(self, error: pmapi.PmError) -> SourceDownError:
        return SourceDownError(
            f"PMCD at {self.address} does not answer ({error}): check that it runs"
        )


def _may_pass(answer: pmapi.MetricDescriptor | pmapi.PmError) -> bool:
    """Whether a look-up failed for a reason other than the name."""
    unknown = pmapi.PmStatus.UNKNOWN_NAME
    return isinstance(answer, pmapi.PmError) and answer.number != unknown
