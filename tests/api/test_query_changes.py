"""An operator adds saved queries over HTTP; they are then like the built-in ones."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from api.access.tokens import TokenRole
from core.settings import audit
from queries.catalogue import load_catalogue
from tests.api.added_query import PATH, TEXT, added, problem, put, send
from tests.api.servers import Closed
from tests.command_line import run
from tests.dashboards.saved import save
from tests.servers import ROOT

BROWSER = {"Accept": "text/html"}
pytestmark = pytest.mark.usefixtures("no_added_queries")
OTHER = TEXT.replace("Some threads", "Other threads")


def test_added_query_is_like_a_built_in_one(opened: Closed, operator: str) -> None:
    assert opened.get(PATH).status_code == 404
    answer = put(opened, operator)
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == PATH
    assert answer.json()["version"] == 1
    assert added(opened) == ["mine/threads"]
    assert PATH in opened.get("/openapi.json").json()["paths"]
    rows = opened.get(PATH).json()["results"]["bindings"]
    assert {row["host"]["value"] for row in rows} == {"n1"}
    assert opened.get(f"{PATH}?host=n9").status_code == 404
    assert opened.get(f"{PATH}.csv").text.startswith("host,thread\r\n")
    assert opened.get(f"{PATH}.jsonld").json()["@graph"]
    text = opened.get(f"{PATH}.rq")
    assert (text.text, text.headers["etag"]) == (TEXT, answer.headers["etag"])
    assert '("n1")' in opened.get(f"{PATH}.rq?host=n1").text


def test_added_query_has_pages(opened: Closed, operator: str) -> None:
    put(opened, operator)
    page = opened.client.get(opened.url + PATH, headers=BROWSER).text
    assert "<h1>Threads of mine</h1>" in page and f'href="{PATH}/versions"' in page
    page = opened.client.get(f"{opened.url}{PATH}?version=1", headers=BROWSER).text
    assert '<input type="hidden" name="version" value="1">' in page
    listed = opened.client.get(f"{opened.url}/queries", headers=BROWSER).text
    assert f'href="{PATH}"' in listed
    assert "Threads of mine" in opened.get("/editor").text


def test_added_query_is_drawn_at_once(opened: Closed, operator: str) -> None:
    """The dashboard changes and goes with the query."""
    assert opened.get("/dashboards/mine").status_code == 404
    etag = put(opened, operator).headers["etag"]
    assert "mine" in {each["name"] for each in opened.get("/dashboards").json()}
    (section,) = opened.get("/dashboards/mine").json()["sections"]
    (panel,) = section["panels"]
    assert (panel["title"], panel["problem"]) == ("Threads of mine", "")
    assert panel["table"]["rows"]
    grafana = opened.get("/dashboards/mine/grafana").json()
    assert [one["title"] for one in grafana["panels"] if one["type"] == "table"]
    text = TEXT.replace("picture: table", "picture: table, title: Mine")
    assert put(opened, operator, text, **{"If-Match": etag}).status_code == 200
    (section,) = opened.get("/dashboards/mine").json()["sections"]
    assert section["panels"][0]["title"] == "Mine"
    send(opened, "DELETE", operator)
    assert opened.get("/dashboards/mine").status_code == 404


def test_added_query_is_described_at_once(opened: Closed, operator: str) -> None:
    put(opened, operator)
    get = opened.get("/openapi.json").json()["paths"][PATH]["get"]
    assert (get["summary"], get["operationId"]) == (
        "Threads of mine",
        "query.mine.threads",
    )
    assert [each["name"] for each in get["parameters"]] == ["host"]
    send(opened, "DELETE", operator)
    assert PATH not in opened.get("/openapi.json").json()["paths"]


def test_example_of_the_guide_is_accepted(opened: Closed, operator: str) -> None:
    guide = (ROOT / "docs/queries.md").read_text("utf-8")
    text = re.search(r"```sparql\n(#\+ .*?)```", guide, re.DOTALL)
    assert text
    answer = put(opened, operator, text[1].encode())
    assert answer.status_code == 201, answer.text
    assert opened.get(f"{PATH}?model=").status_code == 200


def test_command_line_runs_an_added_query(
    opened: Closed, operator: str, fuseki: str
) -> None:
    put(opened, operator)
    env = {"SUPERTWIN_HOME": str(opened.home), "SUPERTWIN_FUSEKI_URL": fuseki}
    assert "mine/threads" in run(env, "query", "--help").stdout
    found = run(env, "query", "mine/threads", "--host", "n1", "--format", "csv")
    assert found.stdout.startswith("host,thread\nn1,"), found
    assert "mine/threads" in run(env, "query", "mine/thread").stderr


def test_file_in_the_folder_is_a_query_without_a_restart(opened: Closed) -> None:
    folder = opened.home / "queries"
    save(folder, "by-hand/one", TEXT)
    save(folder, "by-hand/two", "SELECT")
    try:
        assert added(opened) == ["by-hand/one"]
        assert opened.get("/queries/by-hand/one").json()["results"]["bindings"]
        assert opened.get("/queries/by-hand/one/versions").json() == []
        assert problem(opened.get("/queries/by-hand/two")) == (500, "bad-saved-query")
        page = opened.client.get(f"{opened.url}/queries", headers=BROWSER).text
        assert "<code>by-hand/two.rq</code>: has no header" in page
    finally:
        (folder / "by-hand/two.rq").unlink()


def test_versions_are_listed_and_run(opened: Closed, operator: str) -> None:
    first = put(opened, operator)
    other = put(opened, operator, OTHER, **{"If-Match": first.headers["etag"]})
    assert other.status_code == 200
    number = other.json()["version"]
    assert number == first.json()["version"] + 1
    listed = opened.get(f"{PATH}/versions").json()
    assert [v["etag"] for v in listed[-2:]] == [
        first.headers["etag"],
        other.headers["etag"],
    ]
    assert opened.get(f"{PATH}.rq?version={number - 1}").text == TEXT
    assert opened.get(f"{PATH}?version={number - 1}&host=n1").status_code == 200
    assert send(opened, "DELETE", operator).status_code == 204
    assert opened.get(PATH).status_code == 404
    assert opened.get(f"{PATH}.rq?version={number}").text == OTHER
    assert problem(opened.get(f"{PATH}?version={number + 9}")) == (
        404,
        "unknown-version",
    )
    for wrong in ("0", "x", "1&version=2"):
        assert problem(opened.get(f"{PATH}?version={wrong}")) == (400, "bad-parameter")
    built_in = opened.get("/queries/cache/sharing?version=1")
    assert problem(built_in) == (404, "unknown-version")
    assert problem(opened.get("/queries/x/y/versions")) == (404, "unknown-query")


def test_writers_do_not_overwrite_each_other(opened: Closed, operator: str) -> None:
    etag = put(opened, operator).headers["etag"]
    assert problem(put(opened, operator, OTHER)) == (428, "condition-needed")

    def write(number: int) -> int:
        text = TEXT.replace("Some threads", f"Text {number}")
        return put(opened, operator, text, **{"If-Match": etag}).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(write, range(4))) == [200, 412, 412, 412]
    stale = send(opened, "DELETE", operator, **{"If-Match": etag})
    assert problem(stale) == (412, "query-changed")
    create = put(opened, operator, TEXT, **{"If-None-Match": "*"})
    assert problem(create) == (412, "query-changed")
    assert put(opened, operator, TEXT, **{"If-Match": "*"}).status_code == 200


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_text_has_the_tag_that_replaces_it(
    opened: Closed, operator: str, encoding: str
) -> None:
    """Also a long text with other line ends, which is sent compressed."""
    text = (TEXT + "# A comment.\n" * 100).replace("\n", "\r\n")
    assert put(opened, operator, text).status_code == 201
    headers = {"Accept-Encoding": encoding}
    read = opened.client.get(f"{opened.url}{PATH}.rq", headers=headers)
    assert read.content.decode() == text
    match = {"If-Match": read.headers["etag"]}
    assert put(opened, operator, OTHER, **match).status_code == 200
    assert problem(put(opened, operator, TEXT, **match)) == (412, "query-changed")


@pytest.mark.parametrize("role", [None, TokenRole.READER])
def test_changes_need_an_operator(opened: Closed, role: TokenRole | None) -> None:
    token = opened.add("r", role) if role else "wrong"
    expected = (403, "role-too-small") if role else (401, "invalid-token")
    for method in ("PUT", "DELETE"):
        answer = send(opened, method, token, PATH, TEXT)
        assert answer.status_code == expected[0]
        assert role is None or problem(answer) == expected
    assert added(opened) == []


def test_changes_are_in_the_audit_trail(opened: Closed, operator: str) -> None:
    etag = put(opened, operator).headers["etag"]
    put(opened, operator, OTHER, **{"If-Match": etag})
    send(opened, "DELETE", operator)
    found = [
        (event["who"], event["what"], event["thing"])
        for event in audit.events(opened.home)
        if event["what"].startswith("query.")
    ]
    assert found[-3:] == [
        ("token author", f"query.{what}", "mine/threads")
        for what in ("added", "changed", "removed")
    ]


def test_list_is_sorted_by_name(opened: Closed, operator: str) -> None:
    put(opened, operator)
    names = [query["name"] for query in opened.get().json()]
    assert names == sorted([*load_catalogue(), "mine/threads"])
