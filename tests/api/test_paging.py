"""Lists in pages: all pages together are the whole list, in its order."""

import re
from typing import Any

import httpx
import pytest
from rdflib import Graph

from tests.api.servers import Closed, TokenRole, bearer

NAMES = {"/queries": "name", "/plans": "plan", "/dashboards": "name"}
PARTS = "/explorer/parts?iri={base}/twin/n1"
NEXT = re.compile(r'<([^>]*)>; rel="next"')


def pages(api: httpx.Client, path: str) -> list[httpx.Response]:
    """Return all pages, each found by the link of the one before."""
    found = [api.get(path)]
    while following := NEXT.search(found[-1].headers.get("link", "")):
        found.append(api.get(following[1]))
    assert {answer.status_code for answer in found} == {200}
    return found


@pytest.mark.parametrize("path", [*NAMES, "/observations", "/observations/running"])
@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_pages_make_up_the_list(api: httpx.Client, path: str, limit: int) -> None:
    whole: list[Any] = api.get(path).json()
    answers = pages(api, f"{path}?limit={limit}")
    assert [each for one in answers for each in one.json()] == whole
    assert all(len(one.json()) <= limit for one in answers)
    assert len(answers) == max(1, -(-len(whole) // limit))


def test_links_keep_other_parameters(api: httpx.Client) -> None:
    first = api.get("/plans?host=n1&limit=2&offset=1").headers["link"]
    assert '</plans?host=n1&limit=2&offset=0>; rel="first"' in first
    assert '</plans?host=n1&limit=2&offset=0>; rel="prev"' in first
    middle = api.get("/queries?offset=1&limit=2").headers["link"]
    assert '</queries?limit=2&offset=3>; rel="next"' in middle
    assert "link" not in api.get("/plans?host=n1").headers


def test_hosts_come_in_the_order_of_their_iris(api: httpx.Client) -> None:
    accept = {"Accept": "text/turtle"}

    def hosts(text: str) -> list[str]:
        return sorted({str(one) for one in Graph().parse(data=text).subjects()})

    whole = hosts(api.get("/twin", headers=accept).text)
    assert len(whole) > 1
    found, path = list[str](), "/twin?limit=1"
    while path:
        answer = api.get(path, headers=accept)
        found += hosts(answer.text)
        following = NEXT.search(answer.headers["link"])
        path = following[1] if following else ""
    assert found == whole
    page = api.get("/twin?limit=1", headers={"Accept": "text/html"}).text
    assert "/twin/n1" in page and "/twin/n2" not in page


def test_parts_and_states_come_in_pages(sampled: httpx.Client, base: str) -> None:
    path = PARTS.format(base=base)
    whole = sampled.get(path).json()["parts"]
    found = pages(sampled, f"{path}&limit=1")
    assert [each for one in found for each in one.json()["parts"]] == whole
    assert len(found) == len(whole) > 1
    states = sampled.get("/history/n1").json()["states"]
    answers = pages(sampled, "/history/n1?limit=1")
    assert [each for one in answers for each in one.json()["states"]] == states


def test_tokens_come_in_pages(closed: Closed) -> None:
    admin = closed.add("paging", TokenRole.ADMIN)
    closed.add("paged", TokenRole.READER)
    url = f"{closed.url}/tokens"
    whole = closed.client.get(url, headers=bearer(admin)).json()
    second = closed.client.get(
        url, params={"limit": 1, "offset": 1}, headers=bearer(admin)
    )
    assert second.json() == whole[1:2]
    assert 'rel="prev"' in second.headers["link"]


@pytest.mark.parametrize("given", ["limit=0", "limit=-1", "limit=x", "offset=-1"])
@pytest.mark.parametrize("path", ["/twin", "/plans", "/observations"])
def test_bad_numbers_are_refused(api: httpx.Client, path: str, given: str) -> None:
    answer = api.get(f"{path}?{given}")
    assert answer.status_code == 422
    problem = answer.json()
    assert problem["type"].endswith("/invalid-request")
    assert problem["detail"].startswith(f"{given.partition('=')[0]}: ")
    assert "\n" not in problem["detail"]


def test_page_after_the_end_is_empty(api: httpx.Client) -> None:
    answer = api.get("/queries?limit=10&offset=100000")
    assert answer.json() == [] and 'rel="next"' not in answer.headers["link"]
