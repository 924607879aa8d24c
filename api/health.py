"""``/health``: which services work, and why others do not."""

import asyncio
import time
from collections.abc import Awaitable

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from api.access.scoped import scoped
from api.services import Services, Use
from api.threads import of_health
from api.version import supertwin_version
from core.errors import ApiError
from core.stores.sparql_dataset import JSON_RESULTS
from sampling.account.bridge_status import BridgeStatus, read_bridge

router = APIRouter(tags=["Health"])

# The answer must arrive before the client times out, even while a service hangs.
_PATIENCE_S = 3.0
# At most this many hosts that lose points are named.
_SHOWN = 5


class ServiceHealth(BaseModel):
    """One service."""

    ok: bool
    ms: float | None = Field(default=None, description="How long it took to answer")
    age_s: float | None = Field(
        default=None, description="Seconds since its last status"
    )
    reason: str | None = Field(default=None, description="Why it is not ok")


class Health(BaseModel):
    """All services."""

    status: str = Field(description="ok or degraded")
    host: str = Field(description="The host that this instance runs on")
    version: str
    services: dict[str, ServiceHealth]


@router.get(
    "/health",
    summary="What runs",
    responses={503: {"description": "A service does not work", "model": Health}},
)
@scoped
async def health(response: Response, services: Use) -> Health:
    """State of each service; 503 if one is not ok."""
    found = await find_health(services)
    response.status_code = 200 if found.status == "ok" else 503
    response.headers["Cache-Control"] = "no-store"
    return found


async def find_health(services: Services) -> Health:
    """Return the state of each service, with the reason if it does not work."""
    bridge, graph, store = await asyncio.gather(
        of_health(read_bridge, services.bridge_state, services.settings.host),
        _timed(services.graph.query("ASK {}", JSON_RESULTS)),
        _timed(services.store.healthy()),
    )
    found = {
        "fuseki": graph,
        "store": store,
        "bridge": _bridge(bridge),
        "pmcd": _pmcd(bridge),
    }
    well = all(service.ok for service in found.values())
    return Health(
        status="ok" if well else "degraded",
        host=services.settings.host,
        version=supertwin_version(),
        services=found,
    )


async def _timed(work: Awaitable[object]) -> ServiceHealth:
    start = time.monotonic()
    try:
        await asyncio.wait_for(work, _PATIENCE_S)
    except TimeoutError:
        return ServiceHealth(ok=False, reason=f"no answer in {_PATIENCE_S:g} s")
    except ApiError as error:
        return ServiceHealth(ok=False, reason=error.detail)
    return ServiceHealth(ok=True, ms=round((time.monotonic() - start) * 1000, 1))


def _bridge(bridge: BridgeStatus) -> ServiceHealth:
    if not bridge.up:
        return ServiceHealth(ok=False, age_s=bridge.age, reason=bridge.reason)
    here = bridge.not_sampled or bridge.log_reason or bridge.losing_reason
    reasons = [here] * bool(here) + [*bridge.elsewhere]
    more = f"; {len(reasons) - _SHOWN} more hosts" if len(reasons) > _SHOWN else ""
    reason = "; ".join(reasons[:_SHOWN]) + more
    return ServiceHealth(ok=not reason, age_s=bridge.age, reason=reason or None)


def _pmcd(bridge: BridgeStatus) -> ServiceHealth:
    """The state of PMCD as seen by the bridge, which depends on it."""
    if not bridge.up:
        return ServiceHealth(
            ok=False, reason="unknown, because the bridge does not run"
        )
    if bridge.not_sampled:
        return ServiceHealth(ok=False, reason="the bridge does not use it")
    reason = bridge.pcp_reason
    return ServiceHealth(
        ok=not reason, age_s=bridge.last_tick_age, reason=reason or None
    )
