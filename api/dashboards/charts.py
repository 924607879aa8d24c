"""Charts that stand on the pages of what they show."""

from contextlib import suppress

from api.services import Services
from core.errors import ApiError
from dashboards.catalogue import chart_name
from dashboards.spec import Dashboard


async def find_chart(
    services: Services, host: str, kind: str, *values: str
) -> Dashboard | None:
    """The dashboard that ``chart_name`` names; None where the graph has none."""
    with suppress(ApiError):
        return (await services.specs.get(chart_name(kind, *values), host)).dashboard
    return None
