"""``POST /samples``: the samples of many series in one answer."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api import formats
from api.access.scoped import scoped
from api.body import read_model, schema_of
from api.samples.asked import SampleQuery
from api.samples.media_types import sample_type
from api.samples.options import ANSWERS, CONTENT, SAMPLES_FORMAT
from api.samples.read import sample_response
from api.saved_queries import column_values
from api.services import Services, Use
from core.errors import BadQueryError

router = APIRouter(tags=["Telemetry"])

_MOST_BYTES = 4 * 1024 * 1024
_COLUMN = "telemetry"
_Text = Annotated[str, Field(max_length=200)]


class SamplesRequest(BaseModel):
    """The samples of many series: a list of IRIs, or a saved query that names them."""

    model_config = ConfigDict(extra="forbid")

    telemetry: list[str] | None = Field(
        default=None, description="IRIs of telemetry; or give `query`"
    )
    query: str = Field(
        default="",
        max_length=200,
        description="Saved query, as `group/name`, with a column `telemetry`",
    )
    parameters: dict[str, str] = Field(
        default={}, description="Parameters of the saved query"
    )
    from_: _Text | float = Field(
        default="", alias="from", description="Start of the range (exclusive)"
    )
    to: _Text | float = Field(
        default="", description="End of the range (inclusive); default: now"
    )
    step: _Text | float = Field(default="", description="Length of a window")
    fn: _Text = Field(
        default="", description="Function; default `avg` with `step`, else `raw`"
    )
    q: float | None = Field(default=None, description="Quantile of `fn`=`quantile`")
    coverage: bool = Field(
        default=False, description="Add the columns present, expected and why"
    )

    def asked(self) -> SampleQuery:
        """Return the arguments of the function."""
        ends = str(self.from_), str(self.to)
        q = "" if self.q is None else str(self.q)
        return SampleQuery(*ends, str(self.step), self.fn, q, self.coverage)


_OPTIONS: dict[str, Any] = {
    "responses": {
        **ANSWERS,
        200: {
            "description": "The samples by telemetry and time",
            "content": CONTENT,
        },
    },
    "response_class": Response,
    "openapi_extra": {
        "parameters": [SAMPLES_FORMAT],
        "requestBody": {
            "required": True,
            "content": {formats.JSON: {"schema": schema_of(SamplesRequest)}},
        },
    },
}


@router.post("/samples", summary="The samples of many series", **_OPTIONS)
@scoped
async def samples(request: Request, services: Use) -> Response:
    """Samples of telemetry IRIs, or of the telemetry that a saved query finds.

    The arguments are those of a telemetry IRI. The answer is JSON-LD (a list of
    sosa:Observation), CSV, Parquet or an Arrow stream; tables name the telemetry.
    """
    media_type = sample_type(request)
    asked = await read_model(
        request, _MOST_BYTES, "request for samples", SamplesRequest
    )
    call = asked.asked().call()
    telemetry = await _telemetry(request, services, asked)
    return await sample_response(
        request, services, call, telemetry, media_type, named=True
    )


async def _telemetry(
    request: Request, services: Services, asked: SamplesRequest
) -> list[str]:
    if (asked.telemetry is None) == (not asked.query):
        detail = "give either telemetry, a list of IRIs, or query, a saved query"
        raise BadQueryError("bad-samples-request", "Unclear what to read", detail)
    if asked.telemetry is not None:
        return [*dict.fromkeys(asked.telemetry)]
    given: Mapping[str, str] = asked.parameters
    found = await column_values(request, services, asked.query, given, _COLUMN)
    return [*dict.fromkeys(found)]
