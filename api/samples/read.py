"""Reads samples through the queue and the bounds of ``/sparql``."""

from collections.abc import Sequence

from fastapi import Request, Response

from api import formats
from api.samples.answer import SampleRows, json_ld, read_rows, written
from api.samples.links import telemetry_links
from api.samples.media_types import CSV
from api.services import Services
from api.sparql import answer_of, response
from api.sparql_request import SparqlRequest
from api.threads import computed
from core.errors import api_error
from core.stores.sparql_dataset import WARNING, Answer
from queries.errors import ParameterError
from queries.sample_calls import SampleCall

_JSON_LD = (formats.JSON_LD, formats.JSON)


async def sample_response(
    request: Request,
    services: Services,
    call: SampleCall,
    telemetry: Sequence[str],
    media_type: str,
    *,
    named: bool,
) -> Response:
    """Answer the samples of telemetry; raises ApiError.

    ``named``: tables have a column with the telemetry.
    """
    answer = await _rows(request, services, call, telemetry)
    table = await computed(read_rows, answer.content, call)
    most = services.settings.query_max_bytes
    rows = SampleRows(call, telemetry, table, named, most)
    if media_type in _JSON_LD:
        links = await telemetry_links(request, services, telemetry, call)
        body = await computed(json_ld, rows, services.settings.base, links)
    else:
        body = await computed(written, rows, media_type)
    made = response(body, media_type)
    if answer.warning:
        made.headers[WARNING] = answer.warning
    return made


async def _rows(
    request: Request, services: Services, call: SampleCall, telemetry: Sequence[str]
) -> Answer:
    """Return the rows as CSV; without telemetry, its header."""
    if not telemetry:
        return Answer(200, CSV, ",".join(call.columns).encode() + b"\r\n")
    try:
        text = call.sparql(telemetry)
    except ParameterError as error:
        raise api_error(error) from None
    return await answer_of(request, services, SparqlRequest(text), CSV)
