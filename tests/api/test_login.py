"""Login in a browser: the page that takes a token, the cookie and the logout."""

import time
from collections.abc import Iterator
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from api.access.tokens import TokenRole
from tests.api.servers import Api, Closed
from tests.api.test_problems import BROWSER

FOREIGN = ("http://evil.example", "http://localhost:3000", "null", "", "*")


@pytest.fixture
def token(closed: Closed) -> str:
    return closed.add("person", TokenRole.READER)


@pytest.fixture
def browser(closed: Closed) -> Iterator[httpx.Client]:
    """Return a client that keeps cookies and requests pages."""
    with httpx.Client(
        base_url=closed.url, headers={"Accept": BROWSER}, timeout=120, trust_env=False
    ) as client:
        yield client


def origin(client: httpx.Client) -> dict[str, str]:
    return {"Origin": str(client.base_url).rstrip("/")}


def log_in(client: httpx.Client, token: str, goal: str = "/plans") -> httpx.Response:
    form = {"token": token, "next": goal}
    return client.post("/login", data=form, headers=origin(client))


def test_page_redirects_to_the_login_and_back(
    browser: httpx.Client, token: str
) -> None:
    asked = "/plans?host=n1&x=a%26b"
    sent = browser.get(asked)
    assert sent.status_code == 303
    where = urlsplit(sent.headers["location"])
    assert (where.path, parse_qs(where.query)) == ("/login", {"next": [asked]})
    page = browser.get(sent.headers["location"])
    assert page.status_code == 200
    assert 'value="/plans?host=n1&amp;x=a%26b"' in page.text
    assert "supertwin token add" in page.text
    done = log_in(browser, token, asked)
    assert (done.status_code, done.headers["location"]) == (303, asked)
    assert browser.get("/plans").status_code == 200


def test_cookie_is_limited_to_this_site_and_holds_no_token(
    closed: Closed, browser: httpx.Client, token: str
) -> None:
    done = log_in(browser, token)
    (cookie,) = SimpleCookie(done.headers["set-cookie"]).values()
    port = urlsplit(closed.url).port
    assert cookie.key == f"supertwin_{port}"
    assert cookie["httponly"] and cookie["samesite"] == "strict"
    assert (cookie["path"], cookie["secure"], cookie["domain"]) == ("/", "", "")
    assert 0 < int(cookie["max-age"]) <= 12 * 3600
    assert token.rpartition("_")[2] not in done.headers["set-cookie"]
    assert done.headers["cache-control"] == "no-store"


def test_cookie_is_secure_over_tls(browser: httpx.Client, token: str) -> None:
    host = urlsplit(str(browser.base_url)).netloc
    done = browser.post(
        "/login", data={"token": token}, headers={"Origin": f"https://{host}"}
    )
    (cookie,) = SimpleCookie(done.headers["set-cookie"]).values()
    assert cookie["secure"]


@pytest.mark.parametrize(
    "text", ["", "x", "supertwin_", f"supertwin_{'1' * 12}_{'1' * 64}", "\0", "ä" * 99]
)
def test_invalid_token_is_reported_on_the_page(
    browser: httpx.Client, text: str
) -> None:
    answer = log_in(browser, text)
    assert answer.status_code == 401
    assert 'role="alert"' in answer.text and "<form" in answer.text
    assert "set-cookie" not in answer.headers


def test_invalid_login_form_is_refused(browser: httpx.Client) -> None:
    for body, status in ((b"token=%ff%fe", 400), (b"a" * 9000, 413), (b"", 401)):
        answer = browser.post("/login", content=body, headers=origin(browser))
        assert answer.status_code == status


@pytest.mark.parametrize(
    "goal",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/x\r\nSet-Cookie: a=b",
        "",
    ],
)
def test_login_redirects_only_within_the_site(
    browser: httpx.Client, token: str, goal: str
) -> None:
    assert log_in(browser, token, goal).headers["location"] == "/"
    assert 'name="next" value="/"' in browser.get("/login", params={"next": goal}).text


def test_logout_ends_the_session(browser: httpx.Client, token: str) -> None:
    log_in(browser, token)
    page = browser.get("/plans")
    assert "Log out" in page.text
    kept = dict(browser.cookies)
    done = browser.post("/logout", headers=origin(browser))
    assert (done.status_code, done.headers["location"]) == (303, "/login")
    assert not browser.cookies
    browser.cookies.update(kept)  # as with a copied cookie
    assert browser.get("/plans").status_code == 303
    assert "Log out" not in browser.get("/login").text


def test_session_ends_with_its_token(
    closed: Closed, browser: httpx.Client, token: str
) -> None:
    log_in(browser, token)
    assert browser.get("/plans").status_code == 200
    closed.add("person", TokenRole.ADMIN)  # replaces the token
    assert browser.get("/plans").status_code == 303
    answer = browser.get("/plans", headers={"Accept": "application/json"})
    assert answer.status_code == 401
    assert "log in again" in answer.json()["detail"]


@pytest.mark.parametrize("cookie", ["", "x", "ä", "a" * 4000])
def test_invalid_session_cookie_is_refused(closed: Closed, cookie: str) -> None:
    name = f"supertwin_{urlsplit(closed.url).port}"
    header = {"Cookie": f"{name}={cookie}".encode()}
    answer = closed.client.get(f"{closed.url}/plans", headers=header)
    assert answer.status_code == 401


@pytest.mark.parametrize("foreign", FOREIGN)
def test_other_sites_cannot_log_in_or_out(
    browser: httpx.Client, token: str, foreign: str
) -> None:
    log_in(browser, token)
    for path in ("/login", "/logout"):
        answer = browser.post(path, data={"token": token}, headers={"Origin": foreign})
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
    assert browser.get("/plans").status_code == 200


def test_program_gets_401_instead_of_the_login_page(closed: Closed) -> None:
    for headers in ({}, {"Accept": "application/json"}, {"Accept": "*/*"}):
        answer = closed.client.get(f"{closed.url}/plans", headers=headers)
        assert answer.status_code == 401
    answer = closed.client.post(f"{closed.url}/sparql", headers={"Accept": BROWSER})
    assert answer.status_code == 401


def test_live_stream_ends_with_the_token(
    closed: Closed, browser: httpx.Client, token: str
) -> None:
    log_in(browser, token)
    path = "/dashboards/monitor/live?host=n1"
    with browser.stream("GET", path, headers={"Accept": "*/*"}) as stream:
        assert stream.status_code == 200
        lines = stream.iter_lines()
        assert next(lines) == "retry: 3000"
        closed.revoke("person")
        # An answer that is cut off would raise here.
        deadline = time.monotonic() + 30
        for _ in lines:
            assert time.monotonic() < deadline


def test_login_works_below_a_path_and_beyond_loopback(
    tmp_path: Path, fuseki: str
) -> None:
    with Api(
        tmp_path / "api",
        bind="0.0.0.0",
        base="https://twin.example/supertwin",
        home=str(tmp_path),
        fuseki_url=fuseki,
    ) as server:
        found = Closed(server.url, tmp_path, httpx.Client(trust_env=False))
        token = found.add("a", TokenRole.READER)
        headers = {"Accept": BROWSER, "Host": "twin.example"}
        nobody = found.get("/sparql?query=ASK%20%7B%7D")
        assert nobody.status_code == 401
        assert nobody.headers["www-authenticate"].startswith("Bearer ")
        sent = found.client.get(f"{server.url}/plans", headers=headers)
        assert sent.headers["location"] == "/supertwin/login?next=%2Fplans"
        done = found.client.post(
            f"{server.url}/login",
            data={"token": token, "next": "/plans"},
            headers=headers | {"Origin": "https://twin.example"},
        )
        assert done.headers["location"] == "/supertwin/plans"
        (cookie,) = SimpleCookie(done.headers["set-cookie"]).values()
        assert (cookie["path"], cookie["secure"]) == ("/supertwin", True)
        found.client.close()
