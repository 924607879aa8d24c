"""The history of a host over HTTP, as a page and as JSON, under any of its names."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from core.stores.endpoint import Endpoint
from tests.api import graph

DATA = Path(__file__).parents[1] / "queries" / "hosts" / "history.trig"
REGISTER = f"{graph.BASE}/graph/register/n1"


@pytest.fixture(scope="module")
def past(fuseki: str) -> Iterator[None]:
    """Add three states and an alias of n1; remove them at the end."""
    text = DATA.read_text().replace("http://localhost:8000", str(graph.BASE))
    with Endpoint(f"{fuseki}/history") as history, Endpoint(f"{fuseki}/twin") as twin:
        headers = {"Content-Type": "application/trig"}
        httpx.post(
            f"{fuseki}/history/data", content=text, headers=headers
        ).raise_for_status()
        twin.update(
            "PREFIX st: <https://w3id.org/supertwin/ns#> INSERT DATA { GRAPH "
            f"<{REGISTER}> {{ <{graph.BASE}/twin/n1> st:alias 'uno' ; "
            "st:address 'ssh://ana@n1.example.org' } }"
        )
        yield
        history.update("DROP ALL")
        twin.update(f"DROP GRAPH <{REGISTER}>")


pytestmark = pytest.mark.usefixtures("past")


def test_last_change_is_served_as_json(api: httpx.Client) -> None:
    found = api.get("/history/n1").json()
    assert [state["number"] for state in found["states"]] == [1, 2, 3]
    assert (found["older"]["number"], found["newer"]["number"]) == (2, 3)
    listed = [
        (change["what"], change["name"], change["before"], change["after"])
        for change in found["changes"]
    ]
    assert listed == [
        ("changed", "disk/sda", ["1"], ["2"]),
        ("appeared", "disk/sdb", [], []),
    ]


def test_two_states_are_compared(api: httpx.Client) -> None:
    found = api.get(
        "/history/n1", params={"from": "1", "to": "2026-11-03T12:00"}
    ).json()
    names = [(change["what"], change["name"]) for change in found["changes"]]
    assert names == [
        ("vanished", "disk/sdb"),
        ("changed", "host"),
        ("vanished", "memory/A1"),
    ]
    # the disk is back in the latest state
    found = api.get("/history/n1", params={"from": "1"}).json()
    assert "disk/sdb" not in [change["name"] for change in found["changes"]]


def test_page_shows_both_states_and_the_changes(api: httpx.Client) -> None:
    page = api.get("/history/n1?from=1&to=2", headers={"Accept": "text/html"}).text
    assert "From state 1 to state 2" in page
    assert "MemoryBank" in page
    assert "kernelRelease" in page
    host = api.get("/twin/n1", headers={"Accept": "text/html"}).text
    assert 'href="/history/n1"' in host
    page = api.get("/history/n2", headers={"Accept": "text/html"}).text
    assert "has not changed since its first probe" in page


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/history/n9", "unknown-host"),
        ("/history/n1?from=7", "no-such-state"),
        ("/history/n1?from=soon", "no-such-state"),
        ("/open?name=uni", "unknown-host"),
        ("/twin/n1/memory/A1", "unknown-component"),
        ("/twin/n1/state/9", "unknown-component"),
    ],
)
def test_unknown_host_or_state_is_404(api: httpx.Client, path: str, kind: str) -> None:
    answer = api.get(path, headers={"Accept": "application/json"})
    assert answer.status_code == 404
    assert answer.json()["type"].endswith(kind)


def test_states_and_probes_have_pages(api: httpx.Client, base: str) -> None:
    text = api.get("/twin/n1/state/2", headers={"Accept": "text/turtle"}).text
    assert "prov:wasRevisionOf" in text
    for path in ("/twin/n1/state/2", "/twin/n1/probe/3"):
        page = api.get(path, headers={"Accept": "text/html"})
        assert (page.status_code, f"{base}{path}" in page.text) == (200, True)


@pytest.mark.parametrize("name", ["n1", "uno", "ssh://ana@n1.example.org:22"])
def test_open_redirects_to_the_host(api: httpx.Client, name: str) -> None:
    answer = api.get("/open", params={"name": name}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/twin/n1")


def test_history_queries_read_the_history_dataset(api: httpx.Client) -> None:
    rows = api.get("/queries/history/vanished.csv").text.splitlines()
    assert len(rows) == 2
    assert rows[1].startswith("n1,")
    listed = {query["name"]: query for query in api.get("/queries").json()}
    assert listed["history/vanished"]["dataset"] == "history"
    page = api.get("/queries/history/states", headers={"Accept": "text/html"}).text
    assert "Open in the editor" not in page


def test_host_without_history_has_no_states(
    fuseki: str, api: httpx.Client, base: str
) -> None:
    graph_ = f"{base}/graph/history/n1"
    with Endpoint(f"{fuseki}/history") as history:
        kept = history.get_graph(graph_)
        history.update(f"DROP GRAPH <{graph_}>")
        try:
            assert api.get("/history/n1").json()["states"] == []
            page = api.get("/history/n1", headers={"Accept": "text/html"})
            assert "Nothing is recorded" in page.text
        finally:
            history.put_graph(graph_, kept)
