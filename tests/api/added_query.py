"""An added saved query, and requests that change it."""

from typing import Any

import httpx

from tests.api.servers import Closed, bearer, code_of

PATH = "/queries/mine/threads"
TYPE = "application/sparql-query"
TEXT = """\
#+ title: Threads of mine
#+ description: Some threads
#+ params: {host: {type: string, description: Name of the host}}
#+ panel: {dashboard: mine, picture: table}
#+ returns: [host, thread]
PREFIX st: <https://w3id.org/supertwin/ns#>
SELECT ?host ?thread WHERE {
  VALUES (?host0) { (UNDEF) }
  ?thread a st:HardwareThread ; st:isPartOf+ ?node .
  ?node a st:ComputeNode ; st:hostname ?host , ?host0 .
}
"""


def send(
    api: Closed,
    method: str,
    token: str,
    path: str = PATH,
    content: Any = None,
    **headers: str,
) -> httpx.Response:
    """Send a request with a token, by default about the query at PATH."""
    sent = {"Content-Type": TYPE, **bearer(token), **headers}
    return api.client.request(method, api.url + path, content=content, headers=sent)


def put(api: Closed, token: str, text: Any = TEXT, **headers: str) -> httpx.Response:
    """Send a text for the query at PATH."""
    return send(api, "PUT", token, PATH, text, **headers)


def added(api: Closed) -> list[str]:
    """Return the names of all added queries."""
    return [query["name"] for query in api.get().json() if query["added"]]


def problem(answer: httpx.Response) -> tuple[int, str]:
    """Return the status and the code of a problem document."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, code_of(answer)
