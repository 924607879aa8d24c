"""An operator's token is needed to add and remove plans over HTTP."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from errno import ENOSPC
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from api.access.tokens import TokenRole, add_token
from api.failures import answered
from core.errors import ApiError
from core.linux.lock import turn
from core.linux.ssh.errors import AddressError, SshMissingError
from ingest.errors import RemoteError
from sampling.plan_file.notify import NotificationPipe, PlanName
from tests.api.servers import Closed, bearer

USER = "kernel.percpu.cpu.user"
PLAN = {"host": "n1", "metrics": [USER], "period": "10ms"}


@pytest.fixture(scope="module")
def operator(opened: Closed) -> str:
    return opened.add("operator", TokenRole.OPERATOR)


@pytest.fixture(autouse=True)
def only_the_monitor_plan(opened: Closed, operator: str) -> Iterator[None]:
    yield
    for name in names(opened) - {"monitor"}:
        removed = remove(opened, name, **bearer(operator))
        assert removed.status_code == 204, removed.text


def names(api: Closed) -> set[str]:
    return {plan["plan"] for plan in api.get("/plans?host=n1").json()}


def add(api: Closed, plan: Any = PLAN, **headers: str) -> httpx.Response:
    return api.client.post(f"{api.url}/plans", json=plan, headers=headers)


def remove(api: Closed, name: str, host: str = "n1", **headers: str) -> httpx.Response:
    return api.client.delete(f"{api.url}/plans/{host}/{name}", headers=headers)


def test_plan_is_added_and_removed(opened: Closed, operator: str) -> None:
    fast = PLAN | {"plan": "fast", "instances": ["cpu1"]}
    answer = add(opened, fast, **bearer(operator))
    assert answer.status_code == 201, answer.text
    shown = {plan["plan"]: plan for plan in opened.get("/plans?host=n1").json()}
    more = {"noticed": False, "slower_sources": {}}
    assert answer.json() == shown["fast"] | more
    assert (shown["fast"]["period"], shown["fast"]["instances"]) == (0.01, 1)
    again = add(opened, fast, **bearer(operator))
    assert again.status_code == 409
    assert "n1 has a plan fast already" in again.json()["detail"]
    gone = remove(opened, "fast", **bearer(operator))
    assert (gone.status_code, gone.content) == (204, b"")
    assert names(opened) == {"monitor"}
    assert remove(opened, "fast", **bearer(operator)).status_code == 404


def test_plan_without_a_name_gets_one(opened: Closed, operator: str) -> None:
    made = [add(opened, **bearer(operator)).json()["plan"] for _ in range(2)]
    assert made == ["plan-1", "plan-2"]


def test_running_bridge_is_notified(opened: Closed, operator: str) -> None:
    notifications = NotificationPipe(opened.home / "bridge")
    try:
        answer = add(opened, PLAN | {"plan": "told"}, **bearer(operator))
        assert answer.json()["noticed"] is True
        assert notifications.wait(120) == {PlanName("n1", "told")}
    finally:
        notifications.close()


def test_damaged_calibration_is_a_client_error(opened: Closed, operator: str) -> None:
    path = opened.home / "cost.json"
    path.write_text("{")
    try:
        refused = add(opened, **bearer(operator))
    finally:
        path.unlink()
    assert refused.status_code == 409, refused.text
    assert "`supertwin sample calibrate`" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("error", "status", "code", "title"),
    [
        (AddressError("no ssh"), 400, "bad-address", AddressError.title),
        (SshMissingError("no ssh"), 400, "no-ssh", SshMissingError.title),
        (RemoteError("no ssh"), 502, "remote-failed", RemoteError.title),
        (OSError(ENOSPC, "no ssh", "file"), 502, "disk-full", "A disk is full"),
    ],
)
def test_errors_become_api_errors_with_their_text(
    error: Exception, status: int, code: str, title: str
) -> None:
    with pytest.raises(ApiError, match="no ssh") as caught, answered():
        raise error
    found = caught.value
    assert (found.status, found.code, found.title) == (status, code, title)


def test_concurrent_changes_are_all_kept(opened: Closed, operator: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = [*pool.map(lambda _: add(opened, **bearer(operator)), range(8))]
    assert {answer.status_code for answer in made} == {201}
    found = {answer.json()["plan"] for answer in made}
    assert found == {f"plan-{number}" for number in range(1, 9)}
    assert names(opened) == found | {"monitor"}


def held_up(api: Closed, host: str) -> AbstractContextManager[None]:
    """Hold a host's lock, as another process would."""
    return turn(api.home / "turns", lambda: None, host)


def test_slow_host_delays_no_changes_of_other_hosts(
    opened: Closed, operator: str
) -> None:
    with ThreadPoolExecutor(2) as pool:
        with held_up(opened, "n1"):
            waits = pool.submit(add, opened, PLAN, **bearer(operator))
            time.sleep(0.5)
            other = pool.submit(add, opened, PLAN | {"host": "n2"}, **bearer(operator))
            assert other.result(120).status_code in (201, 409)
            assert not waits.done()
        assert waits.result(120).status_code == 201
    remove(opened, other.result().json().get("plan", ""), "n2", **bearer(operator))


def test_second_of_two_concurrent_plans_with_one_name_is_refused(
    opened: Closed, operator: str
) -> None:
    one = PLAN | {"plan": "one"}
    with ThreadPoolExecutor(4) as pool:
        with held_up(opened, "n1"):
            made = [pool.submit(add, opened, one, **bearer(operator)) for _ in "12"]
            time.sleep(1)
        assert sorted(answer.result(120).status_code for answer in made) == [201, 409]
        with held_up(opened, "n1"):
            gone = [
                pool.submit(remove, opened, "one", **bearer(operator)) for _ in "12"
            ]
            time.sleep(1)
        assert sorted(answer.result(120).status_code for answer in gone) == [204, 404]


@pytest.mark.parametrize("send", [add, lambda api, **h: remove(api, "monitor", **h)])
def test_only_an_operator_changes_plans(
    opened: Closed, tmp_path: Path, send: Any
) -> None:
    """This includes loopback, where everyone may read."""
    nobody = send(opened)
    assert nobody.status_code == 401
    assert nobody.headers["www-authenticate"] == 'Bearer realm="SuperTwin"'
    assert "`supertwin token add NAME --role operator`" in nobody.json()["detail"]
    reader = send(opened, **bearer(opened.add("reader", TokenRole.READER)))
    assert reader.status_code == 403
    assert (
        "token reader has role reader, and this needs operator"
        in reader.json()["detail"]
    )
    other = send(opened, **bearer(add_token(tmp_path, "x", TokenRole.ADMIN, None)))
    assert other.status_code == 401
    assert names(opened) == {"monitor"}


def test_admin_may_change_plans(opened: Closed) -> None:
    assert (
        add(opened, **bearer(opened.add("admin", TokenRole.ADMIN))).status_code == 201
    )


def test_revoked_token_changes_nothing(opened: Closed) -> None:
    token = opened.add("gone", TokenRole.OPERATOR)
    assert add(opened, **bearer(token)).status_code == 201
    opened.revoke("gone")
    assert add(opened, **bearer(token)).status_code == 401
    assert remove(opened, "plan-1", **bearer(token)).status_code == 401
    assert names(opened) == {"monitor", "plan-1"}


def test_other_sites_cannot_use_the_session_of_a_browser(
    opened: Closed, operator: str
) -> None:
    """Browsers send cookies and Basic accounts with requests of any page."""
    origin = {"Origin": opened.url}
    with httpx.Client(trust_env=False, timeout=120) as browser:
        form = {"token": operator}
        browser.post(f"{opened.url}/login", data=form, headers=origin)
        api = Closed(opened.url, opened.home, browser)
        port = urlsplit(opened.url).port
        for foreign in ("http://evil.example", f"http://localhost:{port}", "null"):
            answer = add(api, Origin=foreign)
            assert answer.status_code == 403
            assert answer.json()["type"].endswith("/foreign-origin")
        assert add(api).status_code == 403
        assert add(api, **origin).status_code == 201
    for foreign, status in (({"Origin": "http://evil.example"}, 403), ({}, 201)):
        answer = opened.client.post(
            f"{opened.url}/plans", json=PLAN, headers=foreign, auth=("any", operator)
        )
        assert answer.status_code == status


REFUSED: list[tuple[Any, int, str]] = [
    ({"metrics": ["no.such.metric"]}, 409, "unknown-metric"),
    ({"period": "0ms"}, 400, "plan-refused"),
    # This machine is not calibrated.
    ({"period": "1ms"}, 409, "plan-too-costly"),
    ({"period": "often"}, 400, "plan-refused"),
    ({"plan": "monitor"}, 409, "plan-exists"),
    ({"plan": ""}, 400, "plan-refused"),
    ({"plan": "a b"}, 400, "plan-refused"),
    ({"instances": ["cpu9"]}, 409, "unknown-instance"),
    ({"instances": ["cpu0\ncpu1"]}, 409, "plan-refused"),
    ({"metrics": ["a\0b"]}, 409, "unknown-metric"),
    ({"query": "no/such"}, 409, "unknown-query"),
    ({"parameters": {"socket": "0"}}, 409, "plan-refused"),
    ({"host": "n9"}, 404, "unknown-host"),
    ({"host": "../n1"}, 404, "unknown-host"),
    ({"host": ""}, 422, "invalid-request"),
    ({"metrics": []}, 409, "plan-refused"),
    ({"roles": ["FLOPs"]}, 409, "not-countable"),
    ({"events": ["msr::tsc"]}, 409, "not-countable"),
    ({"multiplex": True}, 409, "plan-refused"),
    ({"metrics": USER}, 422, "invalid-request"),
    ({"period": 10}, 422, "invalid-request"),
    ({"perod": "10ms"}, 422, "invalid-request"),
]


def test_refused_plan_has_the_code_of_the_reason(opened: Closed, operator: str) -> None:
    for more, status, code in REFUSED:
        answer = add(opened, PLAN | more, **bearer(operator))
        assert answer.status_code == status, (more, answer.text)
        assert answer.json()["type"].rpartition("/")[2] == code, (more, answer.text)
        assert "\n" not in answer.json()["detail"]
    assert names(opened) == {"monitor"}


def test_costly_plan_is_refused_with_figures_and_fix(
    opened: Closed, operator: str
) -> None:
    detail = add(opened, PLAN | {"period": "1ms"}, **bearer(operator)).json()["detail"]
    assert "by the default model, SUPERTWIN_SAMPLE_MAX_CPU is 25" in detail
    assert "`supertwin sample calibrate` measures this machine" in detail


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"[]", 422),
        (b"{", 422),
        (b"\xff\xfe", 422),
        (b'{"host": "\\ud800", "metrics": ["a"], "period": "1s"}', 422),
        (b"[" * 50_000, 422),
        (b" " * 300_000, 413),
    ],
)
def test_body_that_is_not_a_plan_is_refused(
    opened: Closed, operator: str, body: bytes, status: int
) -> None:
    url = f"{opened.url}/plans"
    answer = opened.client.post(url, content=body, headers=bearer(operator))
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


def test_body_without_authentication_is_not_read(opened: Closed) -> None:
    answer = opened.client.post(f"{opened.url}/plans", content=b" " * 300_000)
    assert answer.status_code == 401


def test_impossible_removals_are_refused(opened: Closed, operator: str) -> None:
    for name, host, status in (
        ("monitor", "n1", 409),
        ("none", "n1", 404),
        ("plan-1", "n9", 404),
        ("a%00b", "n1", 404),
        ("x", "..%2f..", 404),
    ):
        answer = remove(opened, name, host, **bearer(operator))
        assert answer.status_code == status, answer.text


def test_openapi_names_role_and_scheme(opened: Closed) -> None:
    document = opened.get("/openapi.json").json()
    for path, method in (("/plans", "post"), ("/plans/{host}/{plan}", "delete")):
        found = document["paths"][path][method]
        assert found["security"] == [{"token": []}]
        assert "Role: operator" in found["description"]
        assert {"401", "403"} <= found["responses"].keys()
    assert "security" not in document["paths"]["/plans"]["get"]
