"""What is sampled besides PCP, as facts like PCP's: the bridge and control groups."""

from collections.abc import Iterable
from typing import Any

from sampling.sources.cgroup_metrics import CGROUP_METRICS
from sampling.sources.cgroup_metrics import DOMAIN as CGROUP_DOMAIN
from sampling.sources.cgroup_metrics import PREFIX as CGROUP
from sampling.sources.own_metrics import DOMAINS, OWN_METRICS, OwnMetric
from sampling.sources.own_metrics import PREFIX as BRIDGE

PREFIXES = (BRIDGE, CGROUP)


def is_local(metric: str) -> bool:
    """Whether a metric does not come from a PMCD."""
    return metric.startswith(PREFIXES)


def with_local(pcp: dict[str, Any], cgroups: bool) -> dict[str, Any]:
    """The facts of a PMCD, plus those of what the bridge itself can give.

    Control groups are those of the bridge's machine; each fetch finds out which.
    """
    metrics = (*OWN_METRICS, *(CGROUP_METRICS if cgroups else ()))
    domains = {name: _domain(instances) for name, instances in DOMAINS.items()}
    if cgroups:
        domains[CGROUP_DOMAIN] = _domain((), False)
    return {
        **pcp,
        "metrics": [*pcp["metrics"], *map(_fact, metrics)],
        "indoms": {**pcp["indoms"], **domains},
    }


def _domain(instances: Iterable[str], stored: bool = True) -> dict[str, Any]:
    named = [[one, at] for at, one in enumerate(instances)]
    return {"stored": stored, "instances": named}


def _fact(metric: OwnMetric) -> dict[str, Any]:
    found = metric._asdict()
    number = "512" if metric.name.startswith(BRIDGE) else "513"
    return {**found, "indom": found.pop("domain"), "pmid": number}
