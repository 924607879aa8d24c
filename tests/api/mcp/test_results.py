"""Answers of queries become structured content within bounds."""

import orjson
import pytest

from api.mcp.api_client import ApiResponse, ApiResponseError
from api.mcp.results import MOST_BYTES, result

JSON = "application/sparql-results+json"


def test_rows_end_before_they_are_too_long() -> None:
    cell = {"x": {"type": "literal", "value": "x" * 100_000}}
    document = {"head": {"vars": ["x"]}, "results": {"bindings": [cell] * 4}}
    found = result(ApiResponse(JSON, orjson.dumps(document)), 100)
    content = found.structured_content
    assert (len(content["rows"]), content["total"], content["truncated"]) == (
        2,
        4,
        True,
    )


@pytest.mark.parametrize(
    ("media_type", "size"), [(JSON, 9_000_000), ("text/turtle", MOST_BYTES + 1)]
)
def test_long_answer_is_refused(media_type: str, size: int) -> None:
    with pytest.raises(ApiResponseError) as caught:
        result(ApiResponse(media_type, b" " * size), 100)
    assert (caught.value.code, caught.value.status) == ("answer-too-large", 413)
    assert str(size) in str(caught.value)
