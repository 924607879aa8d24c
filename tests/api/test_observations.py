"""Runs over HTTP: who may launch and follow them, and which requests are refused."""

import base64
import getpass
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from api.access.local_api import read_local_api
from api.access.tokens import TokenRole
from observations.launch import program
from observations.session.repetition import REQUEST, SPEC
from ontology.terms import PREFIXES
from tests.api.servers import Closed, bearer, own_api

COMMAND = {"argv": ["true"]}


@pytest.fixture(scope="module")
def launcher(opened: Closed) -> str:
    return opened.add("launcher", TokenRole.OPERATOR)


def begin(api: Closed, body: Any, **headers: str) -> httpx.Response:
    return api.client.post(f"{api.url}/observations", json=body, headers=headers)


def test_only_the_launcher_of_a_run_sees_values_of_variables(
    opened: Closed, launcher: str
) -> None:
    folder = opened.home / "observations" / "20260101T000000Z-values"
    folder.mkdir(parents=True)
    request = {"argv": ["sh", "-c", "true"], "env": {"MODE": "hidden-mode"}}
    (folder / REQUEST).write_text(json.dumps(request))
    (folder / SPEC).write_text(json.dumps({"by": "token launcher"}))
    path = f"/observations/{folder.name}/program"
    other = opened.add("looks-closely", TokenRole.OPERATOR)
    shown = opened.get(path, other)
    assert shown.status_code == 200 and shown.text.startswith("from __future__")
    assert "MODE" in shown.text and "hidden-mode" not in shown.text
    local = read_local_api(opened.home)
    assert local
    admin = opened.add("boss", TokenRole.ADMIN)
    for token in (launcher, admin, local.key):
        assert opened.get(path, token).content == program(request)
    (folder / REQUEST).unlink()
    answer = opened.get(path, other)
    assert answer.status_code == 404 and "not available" in answer.text


def test_readers_and_anonymous_clients_cannot_launch(opened: Closed) -> None:
    assert begin(opened, COMMAND).status_code == 401
    reader = opened.add("looks-on", TokenRole.READER)
    answer = begin(opened, COMMAND, **bearer(reader))
    assert answer.status_code == 403
    for method, path in (("GET", "events"), ("POST", "events"), ("DELETE", "")):
        url = f"{opened.url}/observations/x/{path}".rstrip("/")
        answer = opened.client.request(method, url, headers=bearer(reader))
        assert answer.status_code == 403, (method, path)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"argv": []}, 422, "argv"),
        ({"argv": ["a\0b"]}, 422, "argv"),
        ({**COMMAND, "tags": [""]}, 422, "tags"),
        ({**COMMAND, "env": {"A=B": "c"}}, 422, "env"),
        *(({**COMMAND, name: 0}, 422, name) for name in ("repeat", "timeout")),
        ({**COMMAND, "colour": "red"}, 422, "colour"),
        *(({**COMMAND, n: ""}, 422, f"{n}: ") for n in ("pin", "threads", "cpus")),
        ({**COMMAND, "cpus": "x"}, 400, "'x' is not a CPU: write 0-3,8"),
        ({**COMMAND, "cpus": ","}, 400, "',' names no CPU: write 0-3,8"),
        ({**COMMAND, "cpus": "3-1"}, 400, "'3-1' ends before it begins"),
        ({**COMMAND, "cpus": "0", "pin": "compact"}, 400, "give one"),
        ({**COMMAND, "every": "0"}, 400, "0"),
        *(({**COMMAND, n: ["no.x"]}, 400, "no.x") for n in ("metrics", "figures")),
        ({**COMMAND, "host": "nowhere"}, 404, "nowhere"),
        ({**COMMAND, "pin": "sideways", "threads": "1"}, 400, "sideways"),
        ({**COMMAND, "pin": "compact", "threads": "999"}, 409, "999"),
        ({**COMMAND, "pin": f"exclude:{'0,' * 900}0", "threads": "999"}, 409, "999"),
        ({**COMMAND, "pin": "compact" * 300, "threads": "1"}, 422, "2000"),
    ],
)
def test_impossible_run_is_refused_with_the_reason(
    opened: Closed, launcher: str, body: Any, status: int, words: str
) -> None:
    answer = begin(opened, body, **bearer(launcher))
    assert answer.status_code == status, answer.text
    assert words in answer.json()["detail"]
    listed = opened.get("/observations/running").json()
    assert [one for one in listed if one["state"] != "over"] == []


def test_unknown_run_is_404(opened: Closed, launcher: str) -> None:
    for path in ("", "/events"):
        url = f"{opened.url}/observations/none{path}"
        answer = opened.client.get(url, headers=bearer(launcher))
        assert answer.status_code == 404
        assert answer.json()["type"].endswith("/no-such-observation")


def test_owner_of_the_state_needs_no_token(opened: Closed) -> None:
    local = read_local_api(opened.home)
    assert local is not None
    path = opened.home / "access" / "local.json"
    assert path.stat().st_mode & 0o077 == 0
    answer = begin(opened, {"argv": []}, **bearer(local.key))
    assert answer.status_code == 422
    assert begin(opened, COMMAND, **bearer(f"{local.key}0")).status_code == 401


def test_events_that_no_runner_sends_are_refused(opened: Closed, launcher: str) -> None:
    token = bearer(launcher)
    one = begin(opened, {**COMMAND, "attended": True}, **token).json()
    events = f"{opened.url}/observations/{one['id']}/events"
    kept = {"bytes": 1, "head": "eA==", "tail": "", "cut": 0}
    outside = {"stdout": kept, "stderr": kept, "/tmp/outside": kept}
    for message in (
        {"event": "ended", "output": outside},
        {"event": "started\ndata: x"},
        {"event": "started", "start_ns": "now"},
    ):
        answer = opened.client.post(events, json=message, headers=token)
        assert answer.status_code == 400, message
        assert "a line is not an event of a runner" in answer.json()["detail"]
    late = {"event": "alive", "ns": 1}
    answer = opened.client.post(events, json=late, headers=token)
    assert (answer.status_code, "has started" in answer.text) == (400, True)
    assert not list((opened.home / "observations" / one["id"]).glob("events*"))
    last = {"event": "refused", "reason": "enough"}
    answer = opened.client.post(events, json=last, headers=token)
    assert (answer.json()["state"], answer.json()["events"]) == ("over", 1)


def test_followers_of_a_run_are_disconnected_when_their_token_ends(
    opened: Closed,
) -> None:
    owner = read_local_api(opened.home)
    assert owner is not None
    one = begin(opened, {**COMMAND, "attended": True}, **bearer(owner.key)).json()
    events = f"{opened.url}/observations/{one['id']}/events"
    follower = bearer(opened.add("follower", TokenRole.OPERATOR))
    with opened.client.stream("GET", events, headers=follower) as stream:
        assert stream.status_code == 200
        opened.revoke("follower")
        last = {"event": "refused", "reason": "told to those who may hear it"}
        found = opened.client.post(events, json=last, headers=bearer(owner.key))
        assert found.json()["state"] == "over"
        assert "may hear" not in "".join(stream.iter_text())
    heard = opened.client.get(events, headers=bearer(owner.key)).text
    assert "told to those who may hear it" in heard


@pytest.fixture
def gone(fuseki: str, base: str) -> Iterator[str]:
    """Add a run on a host that was removed; return its id."""
    graph, node = f"<{base}/graph/observation/gone>", f"<{base}/observation/gone>"
    script = json.dumps("./solver\n    --steps " + "9" * 90)
    triples = f"""{node} a st:ObservationInterface ; st:ofHost <{base}/twin/n9> ;
        st:ranOn "n9" ; st:command {script} ; st:outcome "completed" ;
        prov:startedAtTime "2026-11-01T09:00:00Z"^^xsd:dateTime ;
        prov:endedAtTime "2026-11-01T09:00:01Z"^^xsd:dateTime ; st:duration 1.0"""
    prefixes = "".join(f"PREFIX {name}: <{iri}> " for name, iri in PREFIXES.items())
    insert = f"{prefixes} INSERT DATA {{ GRAPH {graph} {{ {triples} }} }}"
    update = f"{fuseki}/twin/update"
    httpx.post(update, data={"update": insert}).raise_for_status()
    yield "gone"
    httpx.post(update, data={"update": f"DROP GRAPH {graph}"}).raise_for_status()


def test_run_outlives_its_host(opened: Closed, gone: str) -> None:
    def page(path: str) -> str:
        headers = {"Accept": "text/html"}
        answer = opened.client.get(f"{opened.url}{path}", headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.text

    for path in (f"/observation/{gone}", f"/observations/new?again={gone}"):
        assert "n9" in (shown := page(path)) and "./solver" in shown
    for path in ("/observations?host=n9", "/queries/observations/runs?host=n9"):
        assert f">./solver --steps {'9' * 62}…</" in page(path)
    points = opened.get(f"/observations/{gone}/series?metric=mem.util.free")
    assert points.json()["type"].endswith("/not-measured")


def test_page_offers_a_stored_program(opened: Closed, launcher: str, gone: str) -> None:
    (folder := opened.home / "observations" / gone).mkdir(parents=True)
    path = f"/observations/{gone}/program"
    headers = {**bearer(launcher), "Accept": "text/html"}
    for status in 404, 200:
        page = opened.client.get(f"{opened.url}/observation/{gone}", headers=headers)
        assert opened.get(path, launcher).status_code == status
        assert (f'href="{path}"' in page.text) == (status == 200)
        (folder / REQUEST).write_text(json.dumps(COMMAND))


def test_without_list_or_user_only_the_owner_launches(closed: Closed) -> None:
    owner = read_local_api(closed.home)
    assert owner is not None
    for role in (TokenRole.OPERATOR, TokenRole.ADMIN):
        token = closed.add("wants-to-launch", role)
        answer = begin(closed, COMMAND, **bearer(token))
        assert answer.status_code == 403
        assert "SUPERTWIN_ALLOWED_COMMANDS" in answer.json()["detail"]
        form = closed.client.get(
            f"{closed.url}/observations/new",
            headers={**bearer(token), "Accept": "text/html"},
        )
        assert "only the owner of the state folder launches them" in form.text
        # Commands that tokens' owners run themselves may be sampled.
        unknown = {**COMMAND, "attended": True, "cpus": "x"}
        assert begin(closed, unknown, **bearer(token)).status_code == 400
    bad = {**COMMAND, "cpus": "x"}
    assert begin(closed, bad, **bearer(owner.key)).status_code == 400


def test_owner_logs_in_with_the_key_of_the_state_folder(closed: Closed) -> None:
    owner = read_local_api(closed.home)
    assert owner is not None
    with httpx.Client(base_url=closed.url, trust_env=False) as browser:
        sent = {"token": owner.key, "next": "/queries"}
        assert browser.post("/login", data=sent).status_code == 303
        page = browser.get("/observations/new", headers={"Accept": "text/html"})
        assert "only the owner" not in page.text
        assert page.status_code == 200
        origin = {"Origin": closed.url}
        assert browser.post("/logout", headers=origin).status_code == 303
        assert browser.get("/queries").status_code == 401


@pytest.fixture(scope="module")
def as_nobody(
    tmp_path_factory: pytest.TempPathFactory, fuseki: str, store: str, base: str
) -> Iterator[Closed]:
    """Start an API that launches the commands of tokens as another user."""
    home = tmp_path_factory.mktemp("as-nobody")
    with own_api(home, base, fuseki, store, run_as="nobody") as found:
        yield found


def printed(api: Closed, token: str, *argv: str) -> str:
    """Return what a launched command prints, on both streams."""
    one = begin(api, {"argv": argv}, **bearer(token))
    assert one.status_code == 201, one.text
    events = f"{api.url}/observations/{one.json()['id']}/events"
    lines = api.client.get(events, headers=bearer(token)).text.splitlines()
    document = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    return "".join(
        base64.b64decode(event["data"]).decode()
        for event in document
        if event["event"] == "output"
    )


def test_command_of_a_token_cannot_read_the_key_of_the_owner(as_nobody: Closed) -> None:
    token = as_nobody.add("launcher", TokenRole.OPERATOR)
    key = str(as_nobody.home / "access" / "local.json")
    assert "Permission denied" in printed(as_nobody, token, "cat", key)
    assert printed(as_nobody, token, "id", "-un") == "nobody\n"
    owner = read_local_api(as_nobody.home)
    assert owner is not None
    assert printed(as_nobody, owner.key, "id", "-un") == f"{getpass.getuser()}\n"
    # Commands run as the other user on n1 only.
    other = begin(as_nobody, {**COMMAND, "host": "n2"}, **bearer(token))
    assert other.status_code == 403
    assert "nobody runs commands on n1 only" in other.json()["detail"]


@pytest.fixture(scope="module")
def listing(
    tmp_path_factory: pytest.TempPathFactory, fuseki: str, store: str, base: str
) -> Iterator[Closed]:
    """Start an API that launches only the commands of a list."""
    home = tmp_path_factory.mktemp("listing")
    allowed = home / "commands"
    allowed.write_text("/usr/bin/sleep *\nenv: OMP_NUM_THREADS\ncwd: /scratch\n")
    allowing = {"allowed_commands": str(allowed)}
    with own_api(home, base, fuseki, store, **allowing) as found:
        yield found


def test_only_listed_commands_may_be_launched(listing: Closed) -> None:
    token = bearer(listing.add("launcher", TokenRole.OPERATOR))
    answer = begin(listing, {"argv": ["/bin/sh", "-c", "id"]}, **token)
    assert answer.status_code == 403
    assert "'/bin/sh' is not allowed as a program" in answer.json()["detail"]
    answer = begin(listing, {"argv": ["/usr/bin/sleep", "--help"]}, **token)
    assert answer.status_code == 403
    preload = {"argv": ["/usr/bin/sleep", "0"], "env": {"LD_PRELOAD": "/tmp/x.so"}}
    answer = begin(listing, preload, **token)
    assert answer.status_code == 403
    assert "the variable 'LD_PRELOAD' is not allowed" in answer.json()["detail"]
    answer = begin(listing, {"argv": ["/usr/bin/sleep", "0"], "cwd": "/tmp"}, **token)
    assert answer.status_code == 403
    assert "the folder '/tmp' is not allowed" in answer.json()["detail"]
    # The list allows this command, so it is refused for another reason.
    allowed = {
        "argv": ["/usr/bin/sleep", "0"],
        "cpus": "x",
        "env": {"OMP_NUM_THREADS": "2"},
        "cwd": "/scratch/ana",
    }
    assert begin(listing, allowed, **token).status_code == 400


def test_unreadable_command_list_allows_nothing(listing: Closed) -> None:
    token = bearer(listing.add("another", TokenRole.OPERATOR))
    path = listing.home / "commands"
    text = path.read_text()
    path.write_text("'unfinished\n")
    try:
        answer = begin(listing, {"argv": ["/usr/bin/sleep", "0"]}, **token)
    finally:
        path.write_text(text)
    assert answer.status_code == 503
    assert "line 1" in answer.json()["detail"]
