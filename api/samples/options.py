"""What OpenAPI says about parameters and answers with samples."""

from collections.abc import Iterable
from typing import Any

from fastapi import Response

from api import formats
from api.parameters import declared
from api.samples.media_types import FORMATS, SAMPLES
from queries.sample_calls import FUNCTIONS

_TEXT = {"type": "string"}
_TIME = (
    "an xsd:dateTime (UTC without a zone), Unix seconds, `now` or `now-1h`. With HTML "
    "it is the range of the page's charts"
)
FROM = declared("from", f"Start of a range (exclusive): {_TIME}", _TEXT)
TO = declared("to", f"End of a range (inclusive); default `now`: {_TIME}", _TEXT)
ARGUMENTS = (
    declared(
        "step",
        "Length of a window: `1m` (`ms`, `s`, `m`, `h`, `d`, `w`, `y`), seconds, or an "
        "xsd:duration; without it, one window over the range",
        _TEXT,
    ),
    declared(
        "fn",
        "Function of samples; default `avg` with `step`, else `raw`",
        {"type": "string", "enum": [*FUNCTIONS]},
    ),
    declared(
        "q",
        "For `fn=quantile`: between 0 and 1",
        {"type": "number", "minimum": 0, "maximum": 1},
    ),
    declared(
        "coverage",
        "Add how many samples a window has, how many it should have, and why samples "
        "are missing",
        {"type": "boolean", "default": False},
    ),
)
LAST = declared("last", "Range of the page: the most recent time, such as 15m", _TEXT)


def _format(names: Iterable[str]) -> dict[str, Any]:
    enum = {"type": "string", "enum": [*dict.fromkeys(names)]}
    return declared("format", "Overrides `Accept`, for links in a browser", enum)


CONTENT: dict[str, Any] = {media_type: {} for media_type in SAMPLES}
ANSWERS: dict[int | str, dict[str, Any]] = {
    400: {"description": "A wrong time, range, step, function or quantile"},
    404: {"description": "Unknown host, metric, instance or query"},
    406: {"description": "No acceptable media type"},
    413: {"description": "More samples than a query may read, or too large an answer"},
    503: {"description": "Too many queries at once, or a store is unreachable"},
    504: {"description": "The query took longer than SUPERTWIN_QUERY_TIMEOUT"},
}
# Of a telemetry IRI, which answers a node or samples.
TELEMETRY: dict[str, Any] = {
    "responses": {
        **ANSWERS,
        200: {
            "description": "Description of the node, or samples",
            "content": {media_type: {} for media_type in formats.NODES} | CONTENT,
        },
    },
    "response_class": Response,
    "openapi_extra": {
        "parameters": [
            _format([*formats.NODE_FORMATS, *FORMATS]),
            LAST,
            FROM,
            TO,
            *ARGUMENTS,
        ]
    },
}
SAMPLES_FORMAT = _format(FORMATS)
