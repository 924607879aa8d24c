"""Which plans a token with a scope may add and remove."""

from collections.abc import Sequence
from typing import Any

from api.access.visible_groups import visible_groups
from api.plans.routes import find_plans
from api.services import Services
from core.stores.errors import OutOfScopeError
from core.stores.scope import Scope, current_scope, for_changes
from queries.terms import iri_term
from sampling.plans.request import PlanRequest
from sampling.sources.cgroup_metrics import PREFIX as CGROUP_METRICS

_OF_JOB = "cgroups/of-job"


async def check_addition(services: Services, plan: PlanRequest) -> None:
    """Raise OutOfScopeError unless all that a plan samples is in the scope.

    The host has been found within the scope.
    """
    scope = current_scope()
    if scope.metrics and (plan.roles or plan.events):
        raise _refused(scope, "roles and events, which use other metrics")
    outside = [name for name in plan.metrics if not scope.allows_metric(name)]
    if outside:
        raise _refused(scope, f"metric {outside[0][:80]}")
    if scope.is_owned:
        await _check_owned(services, scope, plan)


async def _check_owned(services: Services, scope: Scope, plan: PlanRequest) -> None:
    others = [one for one in plan.metrics if not one.startswith(CGROUP_METRICS)]
    if others or plan.roles or plan.events:
        what = others[0][:80] if others else "roles and events"
        raise _refused(scope, f"{what}: only {CGROUP_METRICS}* are those of a job")
    if plan.query:
        job = plan.parameters.get("job", "")
        if plan.query != _OF_JOB or job not in scope.jobs or scope.users:
            raise _refused(scope, f"control groups other than those of {_OF_JOB}")
        return
    known = (await visible_groups(services.graph)).get(plan.host, ())
    other = [path for path in plan.instances if path not in known]
    if other or not plan.instances:
        what = f"control group {other[0][:80]}" if other else "all control groups"
        raise _refused(scope, what)


async def check_removal(services: Services, host: str, name: str) -> None:
    """Raise OutOfScopeError if a plan also samples what the scope hides."""
    scope, shown = current_scope(), await find_plans(services, host)
    with for_changes():
        every = await find_plans(services, host)
    is_own = not scope.is_owned or await _is_owned(services, host, name)
    if not is_own or _named(shown, name) != _named(every, name):
        raise _refused(scope, f"more than that: plan {name[:80]}")


async def _is_owned(services: Services, host: str, name: str) -> bool:
    """Whether the graph of the plan is visible: plans that hosts come with have none.

    Our extension of Fuseki shows the graphs of plans for the scope's jobs only.
    """
    graph = iri_term(services.iris.plan_graph(host, name))
    return bool(
        await services.graph.rows(
            f"SELECT ?plan {{ GRAPH {graph} {{ ?plan ?property ?value }} }} LIMIT 1"
        )
    )


def _named(plans: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [plan for plan in plans if plan["plan"] == name]


def _refused(scope: Scope, what: str) -> OutOfScopeError:
    return OutOfScopeError(
        f"the token is limited ({scope}), and this would change the sampling of {what}"
    )
