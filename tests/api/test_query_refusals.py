"""Saved queries that break a rule are refused, and nothing changes."""

from typing import Any

import pytest

from queries.added import MOST_BYTES
from tests.api.added_query import TEXT, added, problem, put, send
from tests.api.servers import Closed
from tests.dashboards.saved import SERIES, query_text

pytestmark = pytest.mark.usefixtures("no_added_queries")
WHERE = "?thread a st:HardwareThread"
HEADLESS = "".join(line for line in TEXT.splitlines(True) if line[0] != "#")


@pytest.mark.parametrize(
    ("text", "status", "code_", "says"),
    [
        (HEADLESS, 400, "bad-saved-query", "mine/threads: has no header"),
        ("", 400, "bad-saved-query", "has no header"),
        (TEXT.replace(WHERE, f"{WHERE} ; ; ,"), 400, "bad-saved-query", "not SPARQL"),
        (
            TEXT.replace(WHERE, f"SERVICE <urn:x> {{ }} {WHERE}"),
            400,
            "service-refused",
            "SERVICE",
        ),
        (
            HEADLESS.join(["#+ title: x\n", "; INSERT DATA { <a:a> <a:b> 1 }"]),
            400,
            "bad-saved-query",
            "header lacks",
        ),
        (
            TEXT.split("SELECT")[0] + "INSERT { } WHERE { }",
            400,
            "bad-saved-query",
            "is not a query",
        ),
        (TEXT + "; DELETE WHERE { ?s ?p ?o }", 400, "bad-saved-query", "not SPARQL"),
        (
            TEXT.replace(" , ?host0", "") + "ORDER BY ?host0",
            400,
            "endless-parameter",
            "?host0",
        ),
        (TEXT.replace("[host, thread]", "[host]"), 400, "bad-saved-query", "projects"),
        (TEXT.replace("st:isPartOf", "st:isPart"), 400, "bad-saved-query", "st:isPart"),
        (
            TEXT.replace("picture: table", "picture: pie"),
            400,
            "bad-saved-query",
            "panel: picture must be one of",
        ),
        (TEXT.encode() + b"# \xff", 400, "not-utf-8", "UTF-8"),
        (TEXT + "#" * MOST_BYTES, 413, "body-too-large", "may have"),
        (b"#" * 10_000_000, 413, "body-too-large", "may have"),
    ],
    ids=lambda value: value[:10] if isinstance(value, str) else None,
)
def test_bad_text_is_refused_and_changes_nothing(
    opened: Closed, operator: str, text: Any, status: int, code_: str, says: str
) -> None:
    before = sorted((opened.home / "queries").rglob("*"))
    answer = put(opened, operator, text)
    assert problem(answer) == (status, code_), answer.text
    detail = answer.json()["detail"]
    assert says in detail and "\n" not in detail
    assert sorted((opened.home / "queries").rglob("*")) == before


@pytest.mark.parametrize(
    ("path", "status", "code_"),
    [
        ("/queries/cache/sharing", 409, "built-in-query"),
        ("/queries/mine/%2e%2e", 400, "bad-query-name"),
        ("/queries/%2e%2e/threads", 400, "bad-query-name"),
        ("/queries/mine/.threads", 400, "bad-query-name"),
        ("/queries/mine/Threads", 400, "bad-query-name"),
        (f"/queries/mine/{'x' * 32}", 400, "bad-query-name"),
        ("/queries/mine/a%2Fb", 404, "unknown-path"),
        ("/queries/mine/a%00b", 400, "bad-query-name"),
    ],
)
def test_bad_name_is_refused(
    opened: Closed, operator: str, path: str, status: int, code_: str
) -> None:
    for method in ("PUT", "DELETE"):
        content = TEXT if method == "PUT" else None
        answer = send(opened, method, operator, path, content)
        assert problem(answer) == (status, code_), answer.text
    assert added(opened) == []
    assert opened.get("/queries/cache/sharing").status_code == 200


@pytest.mark.parametrize("sent", ["text/plain", "application/json", ""])
def test_other_media_type_is_refused(opened: Closed, operator: str, sent: str) -> None:
    answer = put(opened, operator, **{"Content-Type": sent})
    assert problem(answer) == (415, "unsupported-media-type")


def test_wrong_panel_of_series_is_refused(opened: Closed, operator: str) -> None:
    params = "{host: {type: string, description: Name of the host}}"
    text = query_text({**SERIES, "unit": "FURLONG"}, params=params)
    answer = put(opened, operator, text)
    assert problem(answer) == (400, "bad-saved-query")
    assert "mine/threads: panel: " in answer.json()["detail"]
    assert "FURLONG" in answer.json()["detail"]
