"""What only an admin may do over HTTP."""

import json
from collections.abc import Iterator

import httpx
import pytest

from supertwin.access.tokens import Role
from tests.api import watched as watching
from tests.api.servers import Closed, bearer, own_api
from tests.servers import Fuseki

ROUTES = (
    ("GET", "/tokens"),
    ("POST", "/tokens"),
    ("DELETE", "/tokens/any"),
    ("DELETE", "/twin/small"),
    ("DELETE", "/observation/any"),
)


@pytest.fixture(scope="module")
def managed(
    tmp_path_factory: pytest.TempPathFactory, emptied_fuseki: Fuseki, store: str
) -> Iterator[Closed]:
    """An API before a host that may be removed."""
    watching.publish(emptied_fuseki, watching.small_document())
    home = tmp_path_factory.mktemp("managed")
    with own_api(home, watching.BASE, emptied_fuseki.url, store) as found:
        yield found


def ask(
    api: Closed, token: str, method: str, path: str, body: object = None
) -> httpx.Response:
    headers = bearer(token) if token else {}
    return api.client.request(method, api.url + path, headers=headers, json=body)


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_only_an_admin_may(managed: Closed, method: str, path: str) -> None:
    assert ask(managed, "", method, path).status_code == 401
    operator = managed.add("operates", Role.OPERATOR)
    answer = ask(managed, operator, method, path)
    assert answer.status_code == 403
    assert "operates is operator, and this takes admin" in answer.json()["detail"]


def test_tokens_are_made_listed_and_revoked(managed: Closed) -> None:
    admin = managed.add("boss", Role.ADMIN)
    wish = {"name": "new", "role": "reader", "expires": "12h"}
    made = ask(managed, admin, "POST", "/tokens", wish)
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    token = made.json()["token"]
    assert ask(managed, token, "GET", "/tokens").status_code == 403
    listed = ask(managed, admin, "GET", "/tokens")
    assert token.rpartition("_")[2] not in listed.text
    assert {"new", "boss"} <= {one["name"] for one in listed.json()}
    again = ask(managed, admin, "POST", "/tokens", wish)
    assert again.status_code == 400
    assert "there is a token new already" in again.json()["detail"]
    for bad in ({**wish, "role": "king"}, {**wish, "colour": "red"}):
        assert ask(managed, admin, "POST", "/tokens", bad).status_code == 422
    assert ask(managed, admin, "DELETE", "/tokens/new").status_code == 204
    assert ask(managed, token, "GET", "/tokens").status_code == 401
    assert ask(managed, admin, "DELETE", "/tokens/new").status_code == 404


def test_host_is_removed(managed: Closed) -> None:
    admin = managed.add("boss", Role.ADMIN)
    answer = ask(managed, admin, "DELETE", "/twin/smal")
    assert answer.status_code == 404
    assert "small" in answer.json()["detail"]
    path = f"/twin/{watching.SMALL}"
    assert managed.client.get(managed.url + path).status_code == 200
    assert ask(managed, admin, "DELETE", f"{path}?history=true").status_code == 204
    assert managed.client.get(managed.url + path).status_code == 404


def test_run_is_forgotten(managed: Closed) -> None:
    admin = managed.add("boss", Role.ADMIN)
    folder = managed.home / "observations" / "20260101T000000Z-abcdef"
    folder.mkdir(parents=True)
    (folder / "wish.json").write_text(json.dumps({"group": ""}))
    path = f"/observation/{folder.name}"
    assert ask(managed, admin, "DELETE", path).status_code == 204
    assert not folder.exists()
    answer = ask(managed, admin, "DELETE", path)
    assert answer.status_code == 404
    assert "is recorded" in answer.json()["detail"]
