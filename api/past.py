"""``asof``: what Fuseki needs to run a query on the twins as they were."""

import asyncio
from datetime import UTC, datetime

from api.services import Services
from core.errors import BadQueryError, api_error
from ingest.errors import NoSuchStateError
from ingest.history.past import STATES, deltas_since, past_twins
from ingest.history.states import moment
from ingest.triples import quads

Parameters = tuple[tuple[str, str], ...]


async def past_parameters(services: Services, text: str) -> Parameters:
    """Return the parameters for a time; raises ApiError."""
    at = _time(text)
    states, deltas = await asyncio.gather(
        services.history.select(STATES), services.history.select(deltas_since(at))
    )
    try:
        past = past_twins(services.iris, at, states, deltas)
    except NoSuchStateError as error:
        raise api_error(error) from None
    return (
        ("asof", at.isoformat()),
        ("added", quads(past.added).decode()),
        ("removed", quads(past.removed).decode()),
        ("hidden", " ".join(past.hidden)),
    )


def _time(text: str) -> datetime:
    try:
        at = moment(text).astimezone(UTC)
    except (OverflowError, ValueError):
        at = None
    if at and at <= datetime.now(UTC):
        return at
    detail = f"asof={text[:60]!r}: write a past time, such as 2026-11-18T00:00:00Z"
    raise BadQueryError("bad-time", "Not a past time", detail)
