"""Metrics that do not come from PCP, as facts: bridge, groups, probes, threads."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sampling.sources.cgroup_metrics import DOMAIN as CGROUP_DOMAIN
from sampling.sources.cgroup_metrics import PREFIX as CGROUP
from sampling.sources.cgroup_metrics import cgroup_metrics, monitored_cgroup_metrics
from sampling.sources.own_metrics import DOMAINS, OWN_METRICS, OwnMetric
from sampling.sources.own_metrics import PREFIX as BRIDGE
from sampling.sources.probe_metrics import DOMAINS as PROBE_DOMAINS
from sampling.sources.probe_metrics import PREFIX as PROBE
from sampling.sources.probe_metrics import PROBE_METRICS
from sampling.sources.thread_metrics import DOMAIN as THREADS
from sampling.sources.thread_metrics import PREFIX as THREAD
from sampling.sources.thread_metrics import THREAD_METRICS

if TYPE_CHECKING:
    from ingest.schema.schema import InstanceDomain, Pcp, ProbedMetric

_PREFIXES = (BRIDGE, CGROUP, PROBE, THREAD)
_PMIDS = ((BRIDGE, "512"), (CGROUP, "513"), (PROBE, "514"), (THREAD, "515"))


def is_local(metric: str) -> bool:
    """Whether a metric does not come from a PMCD."""
    return metric.startswith(_PREFIXES)


def monitored_metrics() -> list[str]:
    """The names of those that the plan `monitor` samples."""
    own = [one.name for one in (*OWN_METRICS, *PROBE_METRICS)]
    return [*own, *monitored_cgroup_metrics()]


def with_local(pcp: "Pcp", cgroups: bool) -> "Pcp":
    """The facts of a PMCD, plus those of what the bridge itself can give.

    Control groups, probes and threads are those of the bridge's machine; each fetch
    finds out which.
    """
    of_groups = [one.metric for one in cgroup_metrics().values()] if cgroups else []
    near = (*PROBE_METRICS, *THREAD_METRICS) if cgroups else ()
    metrics = (*OWN_METRICS, *of_groups, *near)
    domains = {name: _domain(instances) for name, instances in DOMAINS.items()}
    if cgroups:
        found_later = (CGROUP_DOMAIN, *PROBE_DOMAINS, THREADS)
        domains |= {name: _domain((), False) for name in found_later}
    added = {
        "metrics": [*pcp.metrics, *map(_fact, metrics)],
        "indoms": {**pcp.indoms, **domains},
    }
    return pcp.model_copy(update=added)


def _domain(instances: Iterable[str], stored: bool = True) -> "InstanceDomain":
    # Imported here because commands that only list plans should start fast.
    from ingest.schema.schema import InstanceDomain

    named = [(one, at) for at, one in enumerate(instances)]
    return InstanceDomain(stored=stored, instances=named)


def _fact(metric: OwnMetric) -> "ProbedMetric":
    from ingest.schema.schema import ProbedMetric

    return ProbedMetric(
        name=metric.name,
        pmid=next(pmid for name, pmid in _PMIDS if metric.name.startswith(name)),
        type=metric.type,
        semantics=metric.semantics,
        units=metric.units,
        indom=metric.domain,
        help=metric.help,
    )
