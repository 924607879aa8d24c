"""What is sampled other than by PCP, as one source: the bridge and control groups."""

from collections.abc import Sequence

from sampler_bridge.sources.cgroup.source import CgroupSource
from sampler_bridge.sources.own_source import OwnSource
from sampling.sources.cgroup_metrics import PREFIX as CGROUP
from sampling.sources.source import Sample


class LocalSource:
    """The metrics of the bridge and of control groups; always connected."""

    connected = True

    def __init__(self, own: OwnSource, cgroups: CgroupSource) -> None:
        self._own, self._cgroups = own, cgroups

    def connect(self) -> None:
        """Do nothing: both are local."""

    def close(self) -> None:
        """End the counters of control groups."""
        self._cgroups.close()

    def select(self, metrics: Sequence[str]) -> None:
        """Fetch these metrics from now on, each from its own source."""
        cgroups = [name for name in metrics if name.startswith(CGROUP)]
        self._cgroups.select(cgroups)
        self._own.select([name for name in metrics if not name.startswith(CGROUP)])

    def fetch(self) -> Sample:
        """The current values of both."""
        own, cgroups = self._own.fetch(), self._cgroups.fetch()
        missing = {**own.missing, **cgroups.missing}
        return Sample((*own.columns, *cgroups.columns), missing)
