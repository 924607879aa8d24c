"""Read access with a token: which tokens are accepted, and until when."""

import os
import socket
import time
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from api.access.known_tokens import KnownTokens
from api.access.tokens import (
    TokenRole,
    add_token,
    all_tokens,
    file_of,
    last_used,
)
from tests.api.servers import Closed, bearer

UNKNOWN = f"supertwin_{'0' * 12}_{'0' * 64}"
PATHS = ("/", "/sparql?query=ASK%20%7B%7D", "/twin", "/plans", "/nothing", "/state")


@pytest.fixture
def token(closed: Closed) -> str:
    return closed.add("reads", TokenRole.READER)


@pytest.mark.parametrize("path", PATHS)
def test_read_without_a_token_is_refused(closed: Closed, path: str) -> None:
    answer = closed.get(path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="SuperTwin"'
    assert answer.headers["content-type"] == "application/problem+json"
    assert "`supertwin token add NAME --role reader`" in answer.json()["detail"]
    assert answer.json()["type"].endswith("/token-needed")


@pytest.mark.parametrize("role", TokenRole)
def test_token_of_any_role_reads_everything(closed: Closed, role: TokenRole) -> None:
    token = closed.add(role, role)
    assert closed.get("/queries", token).status_code == 200
    asked = closed.client.post(
        f"{closed.url}/sparql", data={"query": "ASK {}"}, headers=bearer(token)
    )
    assert asked.json()["boolean"] is True


def test_token_is_the_password_of_any_user(closed: Closed, token: str) -> None:
    """Some clients know Basic only, such as Grafana's SPARQL plugin."""
    for auth, status in ((("any", token), 200), ((token, ""), 401), (("", token), 200)):
        assert (
            closed.client.get(f"{closed.url}/queries", auth=auth).status_code == status
        )


@pytest.mark.parametrize(
    "path",
    [
        *("/health", "/context.jsonld", "/static/theme.css"),
        *("/ontology", "/ontology/telemetry"),
    ],
)
def test_pages_without_twin_data_need_no_token(closed: Closed, path: str) -> None:
    assert closed.get(path).status_code in (200, 503)


ODD = [
    "Bearer",
    "Bearer x",
    "Bearer supertwin_",
    f"Bearer {UNKNOWN}",
    f"Bearer {UNKNOWN} x",
    "Bearer \xff\xfe",
    "Bearer " + "0" * 60_000,
    "Basic",
    "Basic ###",
    "Basic " + b64encode(b"\xff:\xff").decode(),
    "Basic " + b64encode(b"no colon").decode(),
    "Basic " + b64encode(f"a:{UNKNOWN}".encode()).decode(),
    "Digest username=a",
    "supertwin",
]


@pytest.mark.parametrize("header", ODD, ids=range(len(ODD)))
def test_malformed_authorization_headers_are_refused(
    closed: Closed, header: str
) -> None:
    sent = {"Authorization": header.encode("latin-1")}
    answer = closed.client.get(f"{closed.url}/queries", headers=sent)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith('Bearer realm="SuperTwin"')


def test_two_authorization_headers_are_refused(closed: Closed, token: str) -> None:
    sent = [("Authorization", f"Bearer {token}")] * 2
    answer = closed.client.get(f"{closed.url}/queries", headers=sent)
    assert answer.status_code == 401


def test_invalid_header_bytes_are_handled(closed: Closed, token: str) -> None:
    place = urlsplit(closed.url)
    for value in (
        b"",
        b"Bearer ",
        b"Bearer \0\0",
        b"Bearer \x01\x7f",
        b"Bearer " + b"a" * 70_000,
    ):
        with socket.create_connection((place.hostname, place.port), 20) as connection:
            connection.sendall(
                b"GET /queries HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                b"Authorization: " + value + b"\r\n\r\n"
            )
            assert connection.recv(12).split()[1:2] in ([b"400"], [b"401"], [b"431"])
    assert closed.get("/queries", token).status_code == 200


def test_token_of_another_installation_is_refused(
    closed: Closed, token: str, tmp_path: Path
) -> None:
    other = add_token(tmp_path, "reads", TokenRole.ADMIN, None)
    mixed = token[:23] + other[23:]
    for text in (other, mixed, token[:-1], token + "0", token.upper()):
        answer = closed.get("/queries", text)
        assert answer.status_code == 401
        assert 'error="invalid_token"' in answer.headers["www-authenticate"]
        assert text not in answer.text


def test_revoked_token_is_refused_immediately(closed: Closed) -> None:
    for _ in range(3):
        token = closed.add("short", TokenRole.READER)
        assert closed.get("/queries", token).status_code == 200
        closed.revoke("short")
        answer = closed.get("/queries", token)
        assert answer.status_code == 401
        assert "was revoked" in answer.json()["detail"]


def test_token_is_revoked_during_many_requests(closed: Closed) -> None:
    """No request that starts after the command has ended is accepted."""
    token, done = closed.add("busy", TokenRole.READER), []

    def ask(_: int) -> None:
        began = time.monotonic()
        done.append((began, closed.get("/queries", token).status_code))

    with ThreadPoolExecutor(8) as pool:
        asked = pool.map(ask, range(60))
        while sum(status == 200 for _, status in [*done]) < 5:
            time.sleep(0.01)
        closed.revoke("busy")
        revoked = time.monotonic()
        list(asked)
    ask(0)
    assert {status for _, status in done} == {200, 401}
    assert {status for began, status in done if began > revoked} == {401}


def test_expired_token_is_named_as_expired(closed: Closed) -> None:
    # Try a longer time if the machine was held up until the token had expired.
    for seconds in (2, 20, 60):
        token = closed.add("ends", TokenRole.READER, int(time.time()) + seconds)
        if closed.get("/queries", token).status_code == 200:
            break
        closed.revoke("ends")
    else:
        pytest.fail("a token of a minute was never accepted")
    deadline = time.monotonic() + 120
    while (answer := closed.get("/queries", token)).status_code == 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert answer.status_code == 401
    assert "token ends expired at 20" in answer.json()["detail"]


def test_without_a_token_nothing_about_other_tokens_is_revealed(closed: Closed) -> None:
    """Neither that the id exists nor that the token has expired."""
    token = closed.add("ended", TokenRole.READER, int(time.time()) - 1)
    wrong = token[:-64] + "0" * 64
    answers = [closed.get("/queries", text) for text in (wrong, UNKNOWN)]
    assert answers[0].json() == answers[1].json()
    assert (
        answers[0].headers["www-authenticate"]
        == (answers[1].headers["www-authenticate"])
    )
    assert "ended" not in answers[0].text


def test_token_stays_expired_when_the_clock_goes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = KnownTokens(tmp_path)
    for clock, seen in ((1000.0, 1000.0), (900.0, 1000.0), (1001.0, 1001.0)):
        monkeypatch.setattr("api.access.known_tokens.time.time", lambda c=clock: c)
        assert known.now() == seen


def test_last_use_of_a_token_is_recorded(closed: Closed, token: str) -> None:
    (found,) = [t for t in all_tokens(closed.home) if t.name == "reads"]
    assert last_used(closed.home, found) is None
    closed.get("/queries", token)
    used = last_used(closed.home, found)
    assert used and used > time.time() - 60


def test_authenticated_answers_are_not_cached_by_proxies(
    closed: Closed, token: str
) -> None:
    assert closed.get("/queries", token).headers["cache-control"] == "private, no-cache"


def test_many_requests_with_one_new_token_are_not_a_flood(
    closed: Closed, token: str
) -> None:
    with ThreadPoolExecutor(30) as pool:
        found = [*pool.map(lambda _: closed.get("/queries", token), range(30))]
    assert {answer.status_code for answer in found} == {200}


@pytest.mark.parametrize("harm", ["damaged", "open", "pipe"])
def test_unreadable_token_file_closes_the_api(
    closed: Closed, token: str, harm: str
) -> None:
    file = file_of(closed.home)
    kept = file.read_text()
    assert closed.get("/queries", token).status_code == 200
    try:
        if harm == "damaged":
            file.write_text(kept[:-40])
        elif harm == "open":
            file.chmod(0o644)
        else:
            file.unlink()
            os.mkfifo(file, 0o600)
        answer = closed.get("/queries", token)
        assert answer.status_code == 503
        assert str(file) in answer.json()["detail"]
        assert "\n" not in answer.json()["detail"]
        assert closed.get("/queries").status_code == 401
    finally:
        file.unlink()
        file.touch(mode=0o600)
        file.write_text(kept)
    assert closed.get("/queries", token).status_code == 200


def test_missing_token_file_closes_the_api(closed: Closed, token: str) -> None:
    file = file_of(closed.home)
    moved = file.rename(file.with_suffix(".away"))
    try:
        assert closed.get("/queries", token).status_code == 401
    finally:
        moved.rename(file)
    assert closed.get("/queries", token).status_code == 200


def test_openapi_describes_the_token_scheme(closed: Closed, token: str) -> None:
    document = closed.get("/openapi.json", token).json()
    scheme = document["components"]["securitySchemes"]["token"]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    assert document["paths"]["/sparql"]["get"]["security"] == [{"token": []}]
