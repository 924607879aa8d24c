"""Metrics that do not come from PCP, as facts: bridge, control groups, probes."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sampling.sources.cgroup_metrics import CGROUP_METRICS
from sampling.sources.cgroup_metrics import DOMAIN as CGROUP_DOMAIN
from sampling.sources.cgroup_metrics import PREFIX as CGROUP
from sampling.sources.own_metrics import DOMAINS, OWN_METRICS, OwnMetric
from sampling.sources.own_metrics import PREFIX as BRIDGE
from sampling.sources.probe_metrics import BUCKETS, PROBE_METRICS, PROBES
from sampling.sources.probe_metrics import PREFIX as PROBE

if TYPE_CHECKING:
    from ingest.schema.schema import InstanceDomain, Pcp, ProbedMetric

PREFIXES = (BRIDGE, CGROUP, PROBE)

_PMIDS = ((BRIDGE, "512"), (CGROUP, "513"), (PROBE, "514"))


def is_local(metric: str) -> bool:
    """Whether a metric does not come from a PMCD."""
    return metric.startswith(PREFIXES)


def with_local(pcp: "Pcp", cgroups: bool) -> "Pcp":
    """The facts of a PMCD, plus those of what the bridge itself can give.

    Control groups and probes are those of the bridge's machine; each fetch finds out
    which.
    """
    metrics = (*OWN_METRICS, *((*CGROUP_METRICS, *PROBE_METRICS) if cgroups else ()))
    domains = {name: _domain(instances) for name, instances in DOMAINS.items()}
    if cgroups:
        found_later = (CGROUP_DOMAIN, PROBES, BUCKETS)
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
