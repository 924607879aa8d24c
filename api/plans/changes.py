"""Adds and removes plans over HTTP, with the same code as `supertwin sample`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import orjson
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api import formats
from api.access import audit
from api.access.roles import ANSWERS, requires
from api.access.scoped import scoped
from api.access.tokens import TokenRole
from api.body import read_model, schema_of
from api.failures import answered
from api.plans.named_locks import NamedLocks
from api.plans.routes import find_plans
from api.plans.scope import check_addition, check_removal
from api.services import Services, Use
from core.errors import ApiError, api_error
from core.stores.scope import for_changes
from ingest.errors import NoSuchPlanError, PlanExistsError
from queries.hosts import check_host
from sampling.plans.request import PlanRequest, check_plan_name, parse_period

router = APIRouter(tags=["Telemetry"])

if TYPE_CHECKING:
    from sampling.plans.changes import AddedPlan

T = TypeVar("T")

_MOST_BYTES = 256 * 1024
_OPERATOR = requires(TokenRole.OPERATOR)
# A lock for each host, because a name must stay free between check and use. Other
# processes are kept out by a file lock, which does not exist if the state is read-only.
# A login to an unreachable host takes up to a minute, so hosts do not share a lock.
_TURNS = NamedLocks()
# Work that waits for its host uses its own threads, not those of other requests.
_AT_ONCE = CapacityLimiter(64)


# Periods in their usual notation; other notations of the same length are accepted.
_PERIODS = (
    "^([1-9][0-9]{0,5}ms|0\\.[0-9]{0,2}[1-9]s|[1-9][0-9]{0,2}(\\.[0-9]{1,3})?s"
    "|[1-9]min|[1-5][0-9]min|60min|1h)$"
)


class NewPlan(BaseModel):
    """What to sample, and how often; as `supertwin sample add` takes it."""

    model_config = ConfigDict(extra="forbid")

    host: str = Field(min_length=1, max_length=300, description="Name of the host")
    plan: str = Field(
        default="",
        description="Name of the plan; default: plan-1, …",
        json_schema_extra={"pattern": "^[A-Za-z0-9_-]{1,64}$"},
    )
    metrics: list[str] = Field(
        default=[], max_length=10_000, description="Metrics, named as in PCP"
    )
    roles: list[str] = Field(
        default=[], max_length=1_000, description="Roles, such as FLOPs"
    )
    events: list[str] = Field(
        default=[], max_length=1_000, description="PMU events, such as msr::tsc"
    )
    multiplex: bool = Field(
        default=False, description="Let events share counters if there are too few"
    )
    period: str = Field(
        description="1ms to 1h, such as 10ms",
        examples=["10ms"],
        json_schema_extra={"pattern": _PERIODS},
    )
    query: str = Field(
        default="", description="Saved query whose components are sampled"
    )
    parameters: dict[str, str] = Field(
        default={}, description="Parameters of the query"
    )
    instances: list[str] = Field(
        default=[], max_length=10_000, description="Instances to sample"
    )
    accept_cost: bool = Field(
        default=False, description="Add it even if it costs more than the limits"
    )

    def request(self) -> PlanRequest:
        """Convert it to a plan request; raises PlanRequestError."""
        if "plan" in self.model_fields_set:
            check_plan_name(self.plan)
        return PlanRequest(
            self.host,
            self.plan,
            tuple(self.metrics),
            parse_period(self.period),
            self.query,
            self.parameters,
            tuple(self.instances),
            tuple(self.roles),
            tuple(self.events),
            self.multiplex,
        )


_ADDED: dict[int | str, dict[str, Any]] = {
    **ANSWERS,
    201: {
        "description": "The plan as in `GET /plans`; `noticed`: whether a "
        "bridge of this installation was notified; `slower_sources`: for metrics "
        "sampled faster than their source updates them, the seconds between updates",
        "content": {formats.JSON: {}},
    },
    404: {"description": "An unknown host"},
    409: {"description": "The host cannot have this plan, or has one of that name"},
}
_BODY = {
    "required": True,
    "content": {"application/json": {"schema": schema_of(NewPlan)}},
}


@router.post(
    "/plans",
    summary="Add a sampling plan",
    status_code=201,
    response_class=Response,
    responses=_ADDED,
    dependencies=[_OPERATOR],
    openapi_extra={"requestBody": _BODY},
)
@scoped
async def add(request: Request, services: Use) -> Response:
    """Takes effect at the first tick after some tenths of a second if a bridge was
    notified, else after some seconds. Other plans lose no tick. Role: operator.
    """
    new = await read_model(request, _MOST_BYTES, "plan", NewPlan)
    await check_host(services, new.host)
    async with _TURNS.take(new.host):
        await _check_free(services, new.host, new.plan)
        with answered():
            asked = new.request()
        await check_addition(services, asked)
        added = await _write(lambda: _add(services, asked, new.accept_cost))
    audit.record(request, "plan.added", f"{new.host} {added.name}")
    plans = await find_plans(services, new.host)
    found = [plan for plan in plans if plan["plan"] == added.name]
    if not found:
        detail = f"plan {added.name} was removed while it was being added: add it again"
        raise ApiError(409, "plan-removed", "The plan was removed meanwhile", detail)
    about = {"noticed": added.noticed, "slower_sources": dict(added.slower_sources)}
    body = orjson.dumps({**found[0], **about})
    return Response(body, 201, media_type=formats.JSON)


@router.delete(
    "/plans/{host}/{plan}",
    summary="Remove a sampling plan",
    status_code=204,
    responses={
        **ANSWERS,
        404: {"description": "An unknown host or plan"},
        409: {"description": "A plan that comes with every host"},
    },
    dependencies=[_OPERATOR],
)
@scoped
async def remove(
    request: Request,
    services: Use,
    host: Annotated[str, Path(max_length=300)],
    plan: Annotated[str, Path(max_length=300)],
) -> Response:
    """Series that other plans also sample continue at their periods. Role: operator."""
    await check_host(services, host)
    async with _TURNS.take(host):
        await _check_exists(services, host, plan)
        await check_removal(services, host, plan)
        await _write(lambda: _remove(services, host, plan))
    audit.record(request, "plan.removed", f"{host} {plan}")
    return Response(status_code=204)


async def _check_free(services: Services, host: str, plan: str) -> None:
    if plan and plan in await _names(services, host):
        detail = f"{host} has a plan {plan} already: give another name, or "
        raise api_error(PlanExistsError(detail + "remove it first"), 409)


async def _check_exists(services: Services, host: str, plan: str) -> None:
    names = await _names(services, host)
    if plan not in names:
        has = f"it has {', '.join(names[:5])}" if names else "it has none"
        detail = f"{host} has no plan {plan[:80]}; {has}"
        raise api_error(NoSuchPlanError(detail), 404)


async def _names(services: Services, host: str) -> list[str]:
    return [str(found["plan"]) for found in await find_plans(services, host)]


async def _write(work: Callable[[], T]) -> T:
    """Run it in a thread to its end, even if the client disconnects.

    A request that is refused here is well-formed, but the host cannot have it: 409.
    The plan was checked against the scope.
    """
    with for_changes(), answered(conflict=409):
        return await to_thread.run_sync(work, limiter=_AT_ONCE)


def _add(services: Services, request: PlanRequest, accept_cost: bool) -> "AddedPlan":
    # Imports the validation of plans, which would add a second to the API's start.
    from sampling.cost.plan_cost import check_cost, plan_cost
    from sampling.plans import changes

    if not accept_cost:
        check_cost(services.settings, plan_cost(services.settings, request))
    return changes.add(services.settings, request, _without_bridge)


def _remove(services: Services, host: str, plan: str) -> None:
    from sampling.plans import changes

    changes.remove(services.settings, host, plan, _without_bridge)


def _without_bridge(_line: str) -> None:
    """Ignore progress messages, which are meant for a terminal."""
