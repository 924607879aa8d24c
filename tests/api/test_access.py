"""Access to the API: allowed host names, origins, accounts and tokens."""

import sys
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from api.access.tokens import TokenRole, add_token
from api.app import create_app
from core.errors import UserError, error_lines
from core.settings.settings import Settings
from tests.api.servers import Api, Closed, bearer
from tests.servers import Server

GRAFANA = "http://localhost:3000"
READER = ("grafana", "pass: word")
ASK = {"query": "ASK {}"}


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def guarded(
    tmp_path_factory: pytest.TempPathFactory, fuseki: str, state: Path
) -> Iterator[str]:
    secret = tmp_path_factory.mktemp("secrets") / "reader"
    secret.write_text(READER[1] + "\n")
    with Api(
        tmp_path_factory.mktemp("guarded"),
        base="https://twin.example/supertwin",
        home=str(state),
        allowed_hosts="proxy.internal, Other.Internal",
        fuseki_url=fuseki,
        reader_user=READER[0],
        reader_password_file=str(secret),
        cors_origins=f"{GRAFANA}, https://Grafana.example",
    ) as server:
        yield server.url


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8000",
        "localhost.:80",
        "127.0.0.1",
        "127.0.0.1:1",
        "[::1]:8000",
        "twin.example",
        "twin.example:8000",
    ],
)
def test_own_host_name_is_served(api: httpx.Client, host: str) -> None:
    assert api.get("/sparql", params=ASK, headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "twin.example.evil.example",
        "192.0.2.1",
        "[2001:db8::1]",
        "localhost:8000@evil.example",
        "evil.example:localhost",
    ],
)
def test_foreign_host_name_is_refused(api: httpx.Client, host: str) -> None:
    for path in ("/", "/sparql?query=ASK%20%7B%7D", "/health", "/nothing"):
        answer = api.get(path, headers={"Host": host})
        assert answer.status_code == 421
        assert answer.headers["content-type"] == "application/problem+json"
        assert host in answer.json()["detail"]
        assert "SUPERTWIN_ALLOWED_HOSTS" in answer.json()["detail"]
        assert "SUPERTWIN_BASE" in answer.json()["detail"]


@pytest.mark.parametrize("host", ["proxy.internal:80", "other.internal"])
def test_setting_adds_host_names(guarded: str, host: str) -> None:
    answer = httpx.get(f"{guarded}/health", headers={"Host": host})
    assert answer.status_code in (200, 503)


def test_any_ip_address_is_served_beyond_loopback(tmp_path: Path, fuseki: str) -> None:
    with Api(tmp_path, bind="0.0.0.0", read_access="open", fuseki_url=fuseki) as server:
        for host, status in (("192.0.2.7:8000", 200), ("evil.example", 421)):
            answer = httpx.get(
                f"{server.url}/sparql", params=ASK, headers={"Host": host}
            )
            assert answer.status_code == status


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Basic"},
        {"Authorization": "Basic ###"},
        {"Authorization": "Bearer " + READER[1]},
        {"Authorization": "Basic " + b64encode(b"grafana:").decode()},
        {"Authorization": "Basic " + b64encode(b"grafana:wrong").decode()},
        {"Authorization": "Basic " + b64encode(READER[1].encode()).decode()},
    ],
)
@pytest.mark.parametrize(
    "path", ["/", "/sparql?query=ASK%20%7B%7D", "/twin", "/queries", "/nothing"]
)
def test_read_without_the_account_is_refused(
    guarded: str, path: str, headers: dict[str, str]
) -> None:
    for url in (guarded + path, f"{guarded}/supertwin{path}"):
        answer = httpx.get(url, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Basic realm=")
        assert answer.headers["content-type"] == "application/problem+json"
        assert "SUPERTWIN_READER_USER" in answer.json()["detail"]
        assert READER[1] not in answer.text


def test_account_reads_everything(guarded: str) -> None:
    answer = httpx.post(f"{guarded}/sparql", data=ASK, auth=READER)
    assert answer.json()["boolean"] is True
    assert httpx.get(f"{guarded}/queries", auth=READER).status_code == 200


def test_account_cannot_write(guarded: str) -> None:
    update = {"update": "INSERT DATA { <urn:a> <urn:b> 1 }"}
    answer = httpx.post(f"{guarded}/sparql", data=update, auth=READER)
    assert answer.status_code == 400
    assert answer.json()["type"].endswith("/update-refused")


def test_health_needs_no_account(guarded: str) -> None:
    answer = httpx.get(f"{guarded}/health")
    assert answer.json()["services"]["fuseki"]["ok"] is True


def preflight(url: str, origin: str, path: str = "/sparql") -> httpx.Response:
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    return httpx.options(f"{url}{path}", headers=headers)


@pytest.mark.parametrize("origin", [GRAFANA, "https://grafana.example"])
def test_allowed_origin_may_query(guarded: str, origin: str) -> None:
    answer = preflight(guarded, origin)
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == origin
    assert "POST" in answer.headers["access-control-allow-methods"]
    allowed = answer.headers["access-control-allow-headers"].lower()
    assert "authorization" in allowed and "content-type" in allowed
    for auth, status in ((READER, 200), (None, 401)):
        answer = httpx.post(
            f"{guarded}/sparql", data=ASK, auth=auth, headers={"Origin": origin}
        )
        # The page must also be able to read why it was refused.
        assert answer.status_code == status
        assert answer.headers["access-control-allow-origin"] == origin
        assert "origin" in answer.headers["vary"].lower()
        assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:3001",
        "https://localhost:3000",
        "http://localhost:30000",
        "http://grafana.example",
        "https://grafana.example.evil.example",
        "null",
        "*",
        "",
    ],
)
def test_other_origin_may_not_query(guarded: str, origin: str) -> None:
    answer = preflight(guarded, origin)
    assert answer.status_code == 403
    assert "SUPERTWIN_CORS_ORIGINS" in answer.json()["detail"]
    asked = httpx.post(
        f"{guarded}/sparql", data=ASK, auth=READER, headers={"Origin": origin}
    )
    for found in (answer, asked):
        assert "access-control-allow-origin" not in found.headers
    assert "origin" in asked.headers["vary"].lower()


def test_only_sparql_allows_other_origins(guarded: str) -> None:
    assert preflight(guarded, GRAFANA, "/twin").status_code in (401, 405)
    answer = httpx.get(f"{guarded}/twin", auth=READER, headers={"Origin": GRAFANA})
    assert "access-control-allow-origin" not in answer.headers


def test_allowed_origin_asks_sparql_only(guarded: str) -> None:
    sent = {"Sec-Fetch-Site": "cross-site", "Origin": GRAFANA}
    ask = httpx.post(f"{guarded}/sparql", data=ASK, auth=READER, headers=sent)
    assert ask.headers["access-control-allow-origin"] == GRAFANA
    refused = httpx.get(f"{guarded}/twin", auth=READER, headers=sent)
    assert refused.json()["type"].endswith("/cross-site-request")


def test_no_other_origin_may_query_by_default(api: httpx.Client) -> None:
    assert preflight(str(api.base_url).rstrip("/"), GRAFANA).status_code == 403
    answer = api.get("/sparql", params=ASK, headers={"Origin": GRAFANA})
    assert "access-control-allow-origin" not in answer.headers


def test_contradicting_settings_are_refused(tmp_path: Path) -> None:
    given = {"SUPERTWIN_READ_ACCESS": "open", "SUPERTWIN_READER_PASSWORD": "s3cret"}
    output = Refused(tmp_path).refusal(**given)
    assert len(output.splitlines()) == 1
    assert "leave SUPERTWIN_READER_PASSWORD out" in output
    assert "s3cret" not in output


def test_any_origin_is_refused_with_an_account(tmp_path: Path, fuseki: str) -> None:
    with Api(
        tmp_path, fuseki_url=fuseki, cors_origins="*", reader_password="x"
    ) as server:
        answer = preflight(server.url, "https://any.example")
        assert answer.headers["access-control-allow-origin"] == "*"


class Refused(Server):
    """``python -m api`` with invalid settings."""

    def start(self) -> None:
        """Do nothing: the test starts the process."""

    def refusal(self, **env: str) -> str:
        self.launch([sys.executable, "-m", "api"], **env)
        assert self._process
        assert self._process.wait(120) == 2
        return self.output()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("CORS_ORIGINS", "*", "SUPERTWIN_READER_PASSWORD"),
        ("READ_ACCESS", "closed", "not one of auto, open, token"),
        ("CORS_ORIGINS", "http://x:3000/path", "not an origin such as"),
        ("ALLOWED_HOSTS", "name:80", "not a host name"),
        ("TRUSTED_PROXIES", "10.0.0.1, proxy", "'proxy' is not an address or network"),
        ("READER_PASSWORD_FILE", "/no/such/file", "cannot be read"),
        ("READER_PASSWORD", "zwölf", "printable ASCII"),
        ("READER_USER", "a:b", "READER_USER"),
    ],
)
def test_invalid_settings_give_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    """The test above shows that the process prints this message."""
    monkeypatch.setenv(f"SUPERTWIN_{name}", value)
    with pytest.raises(UserError) as raised:
        create_app(Settings())
    (line,) = "\n".join(error_lines(raised.value)).splitlines()
    assert f"SUPERTWIN_{name}" in line
    assert words in line
    assert "zwölf" not in line


def test_api_is_served_below_the_path_of_the_base(guarded: str) -> None:
    """A proxy may strip the path or keep it."""
    pages = {
        httpx.get(
            url, auth=READER, headers={"Accept": "text/html"}, follow_redirects=True
        ).text
        for url in (f"{guarded}/queries", f"{guarded}/supertwin/queries")
    }
    assert len(pages) == 1
    assert 'href="/supertwin/' in pages.pop()


def test_token_and_account_both_read(guarded: str, state: Path) -> None:
    token = add_token(state, "both", TokenRole.READER, None)
    for sent in (bearer(token), basic("any", token), basic(*READER)):
        assert httpx.get(f"{guarded}/queries", headers=sent).status_code == 200
    challenge = httpx.get(f"{guarded}/queries").headers["www-authenticate"]
    assert challenge.endswith(', Bearer realm="SuperTwin"')


def basic(user: str, password: str) -> dict[str, str]:
    encoded = b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {encoded}"}


def test_flood_of_wrong_tokens_blocks_no_valid_token(guarded: str, state: Path) -> None:
    with httpx.Client(timeout=120, trust_env=False) as client:
        flood(Closed(guarded, state, client))


def flood(closed: Closed) -> None:
    def wrong(number: int) -> httpx.Response:
        return closed.get("/queries", f"supertwin_{number:012x}_{'0' * 64}")

    token = closed.add("good", TokenRole.READER)
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(wrong, range(60))]
    assert {answer.status_code for answer in found} == {401}
    assert closed.get("/queries", token).status_code == 200
