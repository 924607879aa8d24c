"""Of the requests that a page of another site causes, only links are allowed."""

from collections.abc import Mapping

import httpx
import pytest

LINK = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
IMAGE = {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
FRAME = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
FETCH = {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}


def asked(
    api: httpx.Client, method: str, path: str, sent: Mapping[str, str], site: str
) -> tuple[int, str]:
    """Return the status and the kind of problem."""
    answer = api.request(method, path, headers={**sent, "Sec-Fetch-Site": site})
    is_problem = answer.headers["content-type"].startswith("application/problem")
    kind = answer.json()["type"].rpartition("/")[2] if is_problem else ""
    return answer.status_code, kind


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("sent", [IMAGE, FRAME, FETCH, {}])
@pytest.mark.parametrize("path", ["/queries", "/twin", "/health", "/static/app.css"])
def test_pages_of_other_sites_may_not_query(
    api: httpx.Client, path: str, sent: dict[str, str], site: str
) -> None:
    assert asked(api, "GET", path, sent, site) == (403, "cross-site-request")


@pytest.mark.parametrize("path", ["/queries", "/twin"])
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_links_from_other_sites_are_followed(
    api: httpx.Client, path: str, site: str
) -> None:
    assert asked(api, "GET", path, LINK, site) == (200, "")


@pytest.mark.parametrize("sent", [LINK, FETCH])
def test_forms_of_other_sites_change_nothing(
    api: httpx.Client, sent: dict[str, str]
) -> None:
    refused = (403, "cross-site-request")
    assert asked(api, "POST", "/plans", sent, "cross-site") == refused


def test_link_from_another_site_runs_no_query(api: httpx.Client) -> None:
    path = "/sparql?query=ASK%7B%7D"
    assert asked(api, "GET", path, LINK, "cross-site") == (403, "cross-site-request")


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_own_pages_may_query(api: httpx.Client, site: str) -> None:
    assert asked(api, "GET", "/sparql?query=ASK%7B%7D", FETCH, site)[0] == 200
