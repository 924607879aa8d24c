"""What only an admin may do over HTTP."""

import json
from collections.abc import Iterator

import httpx
import pytest

from api.access.tokens import TokenRole
from core.settings import audit
from core.stores.endpoint import Endpoint
from observations.session.repetition import SPEC
from ontology.iris import Iris
from ontology.terms import ST
from tests.api import watched as watching
from tests.api.servers import Closed, bearer, code_of, own_api
from tests.ports import LOOPBACK
from tests.servers import Fuseki

ROUTES = (
    ("GET", "/tokens"),
    ("POST", "/tokens"),
    ("DELETE", "/tokens/any"),
    ("POST", "/twin"),
    ("DELETE", "/twin/small"),
    ("DELETE", "/observation/any"),
    ("DELETE", "/benchmark/any"),
)


@pytest.fixture(scope="module")
def managed(
    tmp_path_factory: pytest.TempPathFactory, emptied_fuseki: Fuseki, store: str
) -> Iterator[Closed]:
    """Start an API with a host that may be removed."""
    watching.publish(emptied_fuseki, watching.small_document())
    home = tmp_path_factory.mktemp("managed")
    # Not that of a stack which may run on this machine.
    pmcd = f"unix://{home}/no-pmcd.socket"
    stores = (emptied_fuseki.url, store)
    with own_api(home, watching.BASE, *stores, pmcd=pmcd) as found:
        yield found


def ask(
    api: Closed, token: str, method: str, path: str, body: object = None
) -> httpx.Response:
    headers = bearer(token) if token else {}
    return api.client.request(method, api.url + path, headers=headers, json=body)


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_only_an_admin_may_administrate(
    managed: Closed, method: str, path: str
) -> None:
    assert ask(managed, "", method, path).status_code == 401
    operator = managed.add("operates", TokenRole.OPERATOR)
    answer = ask(managed, operator, method, path)
    assert answer.status_code == 403
    assert "operates has role operator, and this needs admin" in answer.json()["detail"]


def test_tokens_are_created_listed_and_revoked(managed: Closed) -> None:
    admin = managed.add("boss", TokenRole.ADMIN)
    body = {"name": "new", "role": "reader", "expires": "12h"}
    made = ask(managed, admin, "POST", "/tokens", body)
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    token = made.json()["token"]
    assert ask(managed, token, "GET", "/tokens").status_code == 403
    assert ask(managed, admin, "GET", "/tokens?most=2").status_code == 400
    listed = ask(managed, admin, "GET", "/tokens")
    assert token.rpartition("_")[2] not in listed.text
    assert {"new", "boss"} <= {one["name"] for one in listed.json()}
    again = ask(managed, admin, "POST", "/tokens", body)
    assert again.status_code == 400
    assert "there is a token new already" in again.json()["detail"]
    for bad in ({**body, "role": "king"}, {**body, "colour": "red"}):
        assert ask(managed, admin, "POST", "/tokens", bad).status_code == 422
    assert ask(managed, admin, "DELETE", "/tokens/new").status_code == 204
    assert ask(managed, token, "GET", "/tokens").status_code == 401
    assert ask(managed, admin, "DELETE", "/tokens/new").status_code == 404


def test_tokens_are_created_with_a_scope(managed: Closed) -> None:
    admin = managed.add("boss", TokenRole.ADMIN)
    scope = {"hosts": ["n1"], "metrics": ["mem.*"]}
    body = {"name": "part", "role": "reader", **scope}
    assert ask(managed, admin, "POST", "/tokens", body).status_code == 201
    listed = ask(managed, admin, "GET", "/tokens").json()
    shown = {one["name"]: one["scope"] for one in listed}
    assert (shown["part"], shown["boss"]) == (scope, {})
    assert ask(managed, admin, "DELETE", "/tokens/part").status_code == 204
    for bad in ({"metrics": ["*"]}, {"jobs": ["c/1"]}, {"role": "admin"}):
        answer = ask(managed, admin, "POST", "/tokens", {**body, **bad})
        assert (answer.status_code, code_of(answer)) == (400, "bad-scope")


def test_host_is_removed(managed: Closed) -> None:
    admin = managed.add("boss", TokenRole.ADMIN)
    answer = ask(managed, admin, "DELETE", "/twin/smal")
    assert answer.status_code == 404
    assert "small" in answer.json()["detail"]
    path = f"/twin/{watching.SMALL}"
    assert managed.client.get(managed.url + path).status_code == 200
    assert ask(managed, admin, "DELETE", f"{path}?history=true").status_code == 204
    assert managed.client.get(managed.url + path).status_code == 404


def test_host_is_added_found_and_removed(managed: Closed) -> None:
    admin = managed.add("boss", TokenRole.ADMIN)
    body = {"address": "local", "host": "added", "alias": "desk", "partition": "p"}
    answer = ask(managed, admin, "POST", "/twin", body)
    assert answer.status_code == 201, answer.text
    added = answer.json()
    assert (added["host"], answer.headers["location"]) == ("added", "/twin/added")
    assert added["node"] == f"{watching.BASE}/twin/added"
    assert "pcp" in added["gaps"]
    assert managed.client.get(f"{managed.url}/twin/added").status_code == 200
    found = managed.client.get(f"{managed.url}/open?name=desk")
    assert found.headers["location"].endswith("/twin/added")
    events = [one for one in audit.events(managed.home) if one["thing"] == "added"]
    assert [(one["who"], one["what"]) for one in events] == [
        ("token boss", "host.added")
    ]
    taken = ask(managed, admin, "POST", "/twin", {**body, "host": "other"})
    assert taken.status_code == 400
    assert "desk is already the alias of added" in taken.json()["detail"]
    path = "/twin/added?history=true"
    assert ask(managed, admin, "DELETE", path).status_code == 204


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 422, "address"),
        ({"address": "local", "colour": "red"}, 422, "colour"),
        ({"address": "ssh://-oProxyCommand=x"}, 400, "is not a host"),
        ({"address": "local", "host": "a b"}, 400, "'a b' is not a valid host name"),
        ({"address": f"ssh://{LOOPBACK}:9", "host": "away"}, 502, LOOPBACK),
    ],
)
def test_failed_add_leaves_nothing(
    managed: Closed, body: dict[str, str], status: int, words: str
) -> None:
    admin = managed.add("boss", TokenRole.ADMIN)
    before = managed.client.get(f"{managed.url}/twin?format=json").content
    answer = ask(managed, admin, "POST", "/twin", body)
    assert answer.status_code == status, answer.text
    assert words in answer.text
    after = managed.client.get(f"{managed.url}/twin?format=json").content
    assert after == before


def test_run_is_forgotten(managed: Closed) -> None:
    admin = managed.add("boss", TokenRole.ADMIN)
    folder = managed.home / "observations" / "20260101T000000Z-abcdef"
    folder.mkdir(parents=True)
    (folder / SPEC).write_text(json.dumps({"group": ""}))
    path = f"/observation/{folder.name}"
    assert ask(managed, admin, "DELETE", path).status_code == 204
    assert not folder.exists()
    answer = ask(managed, admin, "DELETE", path)
    assert answer.status_code == 404
    assert "is recorded" in answer.json()["detail"]


def test_benchmark_is_forgotten(managed: Closed, emptied_fuseki: Fuseki) -> None:
    admin = managed.add("boss", TokenRole.ADMIN)
    iris = Iris(watching.BASE)
    with Endpoint(f"{emptied_fuseki.url}/twin") as twin:
        twin.update(
            f"INSERT DATA {{ GRAPH <{iris.benchmark_graph('b1')}> {{ "
            f"<{iris.benchmark('b1')}> a <{ST.BenchmarkInterface}> }} }}"
        )
    assert ask(managed, admin, "DELETE", "/benchmark/b1").status_code == 204
    answer = ask(managed, admin, "DELETE", "/benchmark/b1")
    assert answer.status_code == 404
