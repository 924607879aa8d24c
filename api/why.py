"""``/why``: the saved query of that name, joined with the bridge and the store."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from api.connection import while_connected
from api.services import Use
from sampling.why.why import Why, explain

router = APIRouter(tags=["Telemetry"])


@router.get(
    "/why",
    summary="Why a series has no data",
)
async def why(
    request: Request,
    services: Use,
    host: Annotated[str, Query(description="Host name", min_length=1)],
    metric: Annotated[
        str, Query(description="Name in PCP, a role or a PMU event", min_length=1)
    ],
    instance: Annotated[
        str | None, Query(description="Instance, such as cpu0; default: all")
    ] = None,
) -> Why:
    """The first reason found, on the way from the catalogue to the store."""
    return await while_connected(
        request, explain(services, host, metric, instance or None)
    )
