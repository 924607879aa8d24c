"""What the API writes to the audit trail."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.access.local_api import read_local_api
from api.access.tokens import TokenRole
from api.app import create_app
from core.settings import audit
from core.settings.settings import Settings
from tests.api.servers import Closed, bearer, own_api

WRONG = f"supertwin_{'0' * 12}_{'1' * 64}"


@pytest.fixture
def api(tmp_path: Path, fuseki: str, store: str, base: str) -> Iterator[Closed]:
    """Start an API with its own audit trail, which everyone may read."""
    with own_api(tmp_path, base, fuseki, store) as found:
        yield found


def ask(api: Closed, token: str, method: str, path: str, body: Any = None) -> Any:
    headers = bearer(token) if token else {}
    return api.client.request(method, api.url + path, headers=headers, json=body)


def trail(home: Path, what: str) -> list[tuple[str, ...]]:
    return [
        (event["who"], event["thing"], event["outcome"])
        for event in audit.events(home)
        if event["what"] == what
    ]


def test_changes_name_the_token_that_made_them(api: Closed) -> None:
    boss = api.add("boss", TokenRole.ADMIN)
    new = ask(api, boss, "POST", "/tokens", {"name": "ci", "role": "reader"}).json()
    assert ask(api, boss, "DELETE", "/tokens/ci").status_code == 204
    plan = {"host": "n1", "plan": "audited", "period": "1s"}
    plan |= {"metrics": ["kernel.percpu.cpu.user"]}
    assert ask(api, boss, "POST", "/plans", plan).status_code == 201
    assert ask(api, boss, "DELETE", "/plans/n1/audited").status_code == 204
    assert trail(api.home, "token.added") == [("token boss", "ci (reader)", "done")]
    assert trail(api.home, "token.revoked") == [("token boss", "ci", "done")]
    assert trail(api.home, "plan.added") == [("token boss", "n1 audited", "done")]
    assert trail(api.home, "plan.removed") == [("token boss", "n1 audited", "done")]
    text = (api.home / "log" / "audit.jsonl").read_text()
    for token in (boss, new["token"]):
        assert token.rpartition("_")[2] not in text


def test_launches_name_the_user_that_owns_the_state(api: Closed) -> None:
    owner = read_local_api(api.home)
    assert owner is not None
    body = {"argv": ["true"], "cwd": "/", "env": {"KEY": "hunter2"}, "attended": True}
    run = ask(api, owner.key, "POST", "/observations", body).json()
    assert ask(api, owner.key, "DELETE", f"/observations/{run['id']}").is_success
    entry = (audit.local_user(), f"n1 {run['id']}", "done")
    assert trail(api.home, "run.launched") == [entry]
    assert trail(api.home, "run.cancelled") == [entry]
    assert "hunter2" not in (api.home / "log" / "audit.jsonl").read_text()


def test_local_program_cannot_pose_as_another_client(api: Closed) -> None:
    for number in range(3):
        headers = {"X-Forwarded-For": f"203.0.113.{number}"}
        assert api.client.get(f"{api.url}/tokens", headers=headers).status_code == 401
    assert {who for who, _, _ in trail(api.home, "refused")} == {audit.local_user()}


def test_trusted_proxy_names_the_client_without_its_port(
    tmp_path: Path, fuseki: str, store: str, base: str
) -> None:
    proxies = "10.0.0.0/8, 127.0.0.1"
    with own_api(tmp_path, base, fuseki, store, trusted_proxies=proxies) as api:
        for port in range(3):
            # The first address is the client's own claim.
            headers = {"X-Forwarded-For": f"198.51.100.{port}, 203.0.113.7:{port}"}
            answer = api.client.get(f"{api.url}/tokens", headers=headers)
            assert answer.status_code == 401
        (entry,) = trail(api.home, "refused")
    assert entry[0] == "203.0.113.7"


def test_flood_of_refusals_is_two_lines(
    tmp_path: Path, fuseki: str, store: str, base: str
) -> None:
    """The first is written at once, the count of the others when the API ends."""
    with own_api(tmp_path, base, fuseki, store) as api:
        for _ in range(20):
            assert ask(api, "", "POST", "/plans", {}).status_code == 401
        first = (audit.local_user(), "POST /plans", "token-needed")
        assert trail(tmp_path, "refused") == [first]
    _, rest = [*audit.events(tmp_path)]
    assert (rest["who"], rest["outcome"], rest["count"]) == (
        "127.0.0.1",
        "token-needed",
        19,
    )


def test_refusals_name_token_path_and_reason(api: Closed) -> None:
    reader = api.add("looks-on", TokenRole.READER)
    assert ask(api, reader, "DELETE", "/tokens/a%1bb").status_code == 403
    assert ask(api, WRONG, "GET", "/tokens").status_code == 401
    site = {"Sec-Fetch-Site": "cross-site"}
    assert api.client.get(f"{api.url}/plans", headers=site).status_code == 403
    host = {"Host": "evil.example"}
    assert api.client.get(f"{api.url}/plans", headers=host).status_code == 421
    user = audit.local_user()
    assert trail(api.home, "refused") == [
        ("token looks-on", "DELETE /tokens/a%1Bb", "role-too-small"),
        (user, "GET /tokens", "token-refused"),
        (user, "GET /plans", "cross-site-request"),
        (user, "GET /plans", "foreign-host"),
    ]
    assert "1" * 64 not in (api.home / "log" / "audit.jsonl").read_text()


def test_logins_are_recorded(api: Closed) -> None:
    reader = api.add("person", TokenRole.READER)
    for token, status in ((WRONG, 401), (reader, 303)):
        answer = httpx.post(f"{api.url}/login", data={"token": token})
        assert answer.status_code == status
    user = audit.local_user()
    assert trail(api.home, "login") == [("token person", f"reader from {user}", "done")]
    assert trail(api.home, "refused") == [(user, "POST /login", "token-refused")]


@pytest.mark.parametrize("client", ["::1", "no-address"])
def test_clients_without_an_ipv4_address_are_refused_too(
    tmp_path: Path, client: str
) -> None:
    app = create_app(Settings(**{"home": tmp_path}))

    async def status() -> int:
        transport = httpx.ASGITransport(app, client=(client, 9))
        async with httpx.AsyncClient(transport=transport) as asking:
            return (await asking.post("http://[::1]:8000/plans", json={})).status_code

    assert asyncio.run(status()) == 401
    assert trail(tmp_path, "refused") == [(client, "POST /plans", "token-needed")]
