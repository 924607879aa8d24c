"""Charts on the pages of the things that they show."""

from contextlib import suppress

from api.services import Services
from core.errors import ApiError
from dashboards.catalogue import chart_name
from dashboards.spec import Dashboard


async def find_chart(
    services: Services, host: str, kind: str, *values: str
) -> Dashboard | None:
    """Return the dashboard named by ``chart_name``; None if the graph has none."""
    with suppress(ApiError):
        return (await services.specs.get(chart_name(kind, *values), host)).dashboard
    return None
