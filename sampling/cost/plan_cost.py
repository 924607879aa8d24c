"""What a plan or a fleet will cost: the plans of the graph, and a calibration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from core.settings.running import pmcd_address
from core.settings.settings import Settings
from core.stores.datasets import dataset
from core.stores.endpoint import Endpoint
from ingest.errors import NoSuchPlanError
from ontology.figures import figures
from ontology.iris import Iris
from queries.run import saved_rows
from sampling.agents.running import foreseen
from sampling.cgroup_list import read_groups
from sampling.cost.errors import CostlyPlanError
from sampling.cost.estimate import CostEstimate, estimate_added, estimate_all
from sampling.cost.graph import Count, loads, loads_with, nobody_counts
from sampling.cost.live import value_counts
from sampling.cost.load import SamplingLoad
from sampling.cost.model import CostModel
from sampling.cost.saved_model import current_model
from sampling.cost.wording import FIX
from sampling.counters.counters import PlannedCounters, planned, sampled_of
from sampling.errors import BridgeError
from sampling.plans.instances import GraphMetric, PlanMetric, sampled
from sampling.plans.request import PlanRequest
from sampling.plans.store import check_host, check_new, free_name, plan_names
from sampling.sources.local_metrics import is_local
from sampling.sources.thread_metrics import PREFIX as THREADS
from sampling.sources.thread_metrics import thread_count


@dataclass(frozen=True)
class PlanCost:
    """What a plan adds, and what all plans of its host then cost."""

    host: str
    added: SamplingLoad
    whole: SamplingLoad
    model: CostModel
    cost: CostEstimate
    total: CostEstimate


@dataclass(frozen=True)
class FleetCost:
    """What the plans of hosts cost; CPU of PMCD and agents is the average of a host."""

    hosts: Mapping[str, int]
    load: SamplingLoad
    model: CostModel
    cost: CostEstimate


def plan_cost(settings: Settings, request: PlanRequest) -> PlanCost:
    """What a plan would cost; raises the same errors as adding it."""
    iris = Iris(settings.base)
    with dataset(settings, "twin") as twin:
        check_host(request.host, twin, iris)
        if not request.name:
            name = free_name(plan_names(request.host, twin))
            request = replace(request, name=name)
        check_new(request, twin, iris)
        later = foreseen(request.metrics, request.host, twin, iris)
        metrics, counters = _metrics_and_counters(request, later, twin, iris)
        count = _counter(settings, request.host)
        before, after = loads_with(twin, request, metrics, counters, count)
    model = current_model(settings)
    return PlanCost(
        request.host,
        after.plus(before, -1),
        after,
        model,
        estimate_added(model, before, after),
        estimate_all(model, after),
    )


def _metrics_and_counters(
    request: PlanRequest,
    later: Mapping[str, int | None],
    twin: Endpoint,
    iris: Iris,
) -> tuple[list[PlanMetric], Mapping[str, int | None]]:
    """What a plan samples, and the number of values of each metric of PMU events.

    So for the metrics of agents that give them ``later``, when the plan is added.
    """
    known = tuple(name for name in request.metrics if name not in later)
    request = replace(request, metrics=known)
    new = [_foreseen(name, iris) for name in later]
    if not (request.roles or request.events):
        return sampled(request, iris.host(request.host), twin, foreseen=new), later
    found = planned(request, twin)
    metrics = sampled_of(request, found, twin, iris, new)
    return metrics, {**_counters(request, found, twin), **later}


def _foreseen(name: str, iris: Iris) -> GraphMetric:
    return GraphMetric(name, iris.metric(name), True, True, {})


def _counters(
    request: PlanRequest, found: PlannedCounters, twin: Endpoint
) -> dict[str, int]:
    """The number of values that each metric of a plan's PMU events will have.

    A device that is counted on few CPUs, such as RAPL, will have fewer: the graph does
    not know which devices these are.
    """
    rows = saved_rows(twin, "topology/threads", {"host": request.host})
    threads, domains = ({row[name] for row in rows} for name in ("cpu", "numa"))
    return {
        name: len(domains if one.on_nodes else threads)
        for one in found.together.choice.counted
        for name in (one.event.value, one.event.dutycycle)
        if name in found.counts
    }


def check_cost(settings: Settings, found: PlanCost) -> None:
    """Raise CostlyPlanError if a plan costs more than may be added without consent."""
    if beyond := beyond_limit(settings, found):
        calibrate = f"{FIX}; or " if found.model.is_default else ""
        raise CostlyPlanError(
            f"the plan costs more than may be added without confirmation: {beyond}; "
            f"{calibrate}sample less often or fewer instances, raise the limit, "
            "or accept it (`--yes`, `accept_cost`)"
        )


def beyond_limit(settings: Settings, found: PlanCost) -> str:
    """The first limit that the estimate of a plan exceeds; empty if none."""
    cpu, disk = found.cost.cpu_total, found.cost.disk
    basis = " by the default model" if found.model.is_default else ""
    return _beyond(settings, cpu.value, disk.value, basis)


def beyond_limit_warning(settings: Settings, found: PlanCost) -> str:
    """The first limit that a plan may exceed, given the error of the default model.

    Empty for a calibrated machine: its estimates are accurate enough to be used as
    such.
    """
    if not found.model.is_default:
        return ""
    cpu, disk = found.cost.cpu_total, found.cost.disk
    return _beyond(settings, cpu.high, disk.high, " at most, by the default model")


def _beyond(settings: Settings, cpu: float, disk: float, basis: str) -> str:
    if cpu > settings.sample_max_cpu:
        return (
            f"{figures(cpu)} % of one CPU core{basis}, SUPERTWIN_SAMPLE_MAX_CPU is "
            f"{figures(settings.sample_max_cpu)}"
        )
    if disk > settings.sample_max_bytes:
        return (
            f"{figures(round(disk))} bytes a day on disk{basis}, "
            f"SUPERTWIN_SAMPLE_MAX_BYTES is {settings.sample_max_bytes}"
        )
    return ""


def fleet_cost(settings: Settings, host: str | None, like: int | None) -> FleetCost:
    """The cost of the plans of all hosts, of one host, or of ``like`` hosts like it.

    With ``like``, the host is this one if none is named.
    """
    iris, wanted = Iris(settings.base), host or (settings.host if like else None)
    with dataset(settings, "twin") as twin:
        if wanted is not None:
            check_host(wanted, twin, iris)
        found = loads(twin, wanted, partial(_counter, settings))
    if not found:
        raise NoSuchPlanError(_nothing(wanted))
    hosts = dict.fromkeys(found, 1 if like is None else like)
    load = SamplingLoad()
    for name, of in found.items():
        load = load.plus(of, hosts[name])
    model = current_model(settings)
    cost = estimate_all(model, load, sum(hosts.values()))
    return FleetCost(hosts, load, model, cost)


def _counter(settings: Settings, host: str) -> Count:
    """The function that counts instances that come and go, on this machine only."""
    if host != settings.host:
        return nobody_counts
    return lambda metrics: {
        **_of_pmcd(settings, [name for name in metrics if not is_local(name)]),
        **_of_local(settings, [name for name in metrics if is_local(name)]),
    }


def _of_pmcd(settings: Settings, metrics: Sequence[str]) -> dict[str, int]:
    address = pmcd_address(settings)
    try:
        return value_counts(address, metrics) if address and metrics else {}
    except BridgeError:  # metrics that are not counted are reported as left out
        return {}


def _of_local(settings: Settings, metrics: Sequence[str]) -> dict[str, int]:
    """How many control groups have each metric, or how many threads run."""
    lives = read_groups(settings).running.values()
    return {
        name: thread_count()
        if name.startswith(THREADS)
        else sum(name in life.metrics for life in lives)
        for name in metrics
    }


def _nothing(host: str | None) -> str:
    if host is None:
        return "no host has a plan: load a host with `supertwin up` or `supertwin add`"
    return f"{host} has no plan: `supertwin sample add` adds one"
