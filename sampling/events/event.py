"""A PMU event: as requested, as configured, as a PCP metric and as a series."""

import re
from dataclasses import dataclass

from ontology.selectors import series_name
from sampling.errors import PerfeventError

_EVENT = re.compile(
    r"(?:(?P<pmu>[A-Za-z]\w*)::)?(?P<name>[A-Za-z][\w.-]*(?::\w+(?:=\w+)?)*)"
)
# The characters that the agent replaces (normalize_metric_name in its pmda.c).
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.]")
_METRICS = "perfevent.hwcounters"


@dataclass(frozen=True, order=True)
class PmuEvent:
    """An event of a PMU; `kernel` if the kernel names both, as in ``msr::tsc``.

    All others are named as in libpfm4: ``skx::INST_RETIRED:ANY_P``.
    """

    pmu: str
    name: str
    kernel: bool = False

    def __str__(self) -> str:
        return f"{self.pmu}::{self.name}"

    @property
    def configured(self) -> str:
        """The event in perfevent.conf."""
        return f"{self.pmu}.{self.name}" if self.kernel else str(self)

    @property
    def value(self) -> str:
        """PCP's metric of the count, scaled up if it was multiplexed."""
        return f"{self._metric}.value"

    @property
    def dutycycle(self) -> str:
        """PCP's metric of the share of time that the event had a counter, 0 to 1."""
        return f"{self._metric}.dutycycle"

    @property
    def value_series(self) -> str:
        """The series of `value` in the store."""
        return series_name(self.value)

    @property
    def dutycycle_series(self) -> str:
        """The series of `dutycycle` in the store."""
        return series_name(self.dutycycle)

    @property
    def _metric(self) -> str:
        return f"{_METRICS}.{_NOT_IN_NAMES.sub('_', self.configured)}"


def is_counter(metric: str) -> bool:
    """Whether a metric belongs to PCP's perfevent agent."""
    return metric.startswith("perfevent.")


def is_dutycycle(metric: str) -> bool:
    """Whether a metric is the share of time that an event had a counter."""
    return is_counter(metric) and metric.endswith(".dutycycle")


def split_event(text: str) -> tuple[str | None, str]:
    """The PMU, if one is named, and the event of ``PMU::EVENT:UMASK``.

    Raises PerfeventError for a text that is not the name of an event.
    """
    found = _EVENT.fullmatch(text)
    if found is None:
        raise PerfeventError(
            f"{text[:80]!r} is not an event: write PMU::EVENT:UMASK, as in "
            "skx::INST_RETIRED:ANY_P or software::page-faults"
        )
    return found["pmu"], found["name"]
