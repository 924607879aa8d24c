"""What is refused before a command would be run."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from supertwin.access.local_api import read_local_api
from supertwin.access.tokens import Role
from tests.api.servers import Closed, bearer, own_api

COMMAND = {"argv": ["true"]}


@pytest.fixture(scope="module")
def launcher(opened: Closed) -> str:
    return opened.add("launcher", Role.OPERATOR)


def begin(api: Closed, wish: Any, **headers: str) -> httpx.Response:
    return api.client.post(f"{api.url}/observations", json=wish, headers=headers)


def test_nobody_and_readers_launch_nothing(opened: Closed) -> None:
    assert begin(opened, COMMAND).status_code == 401
    reader = opened.add("looks-on", Role.READER)
    answer = begin(opened, COMMAND, **bearer(reader))
    assert answer.status_code == 403
    for method, path in (("GET", "events"), ("POST", "events"), ("DELETE", "")):
        url = f"{opened.url}/observations/x/{path}".rstrip("/")
        answer = opened.client.request(method, url, headers=bearer(reader))
        assert answer.status_code == 403, (method, path)


@pytest.mark.parametrize(
    ("wish", "status", "words"),
    [
        ({"argv": []}, 422, "argv"),
        ({"argv": ["a\0b"]}, 422, "argv"),
        ({**COMMAND, "tags": [""]}, 422, "tags"),
        ({**COMMAND, "env": {"A=B": "c"}}, 422, "env"),
        ({**COMMAND, "repeat": 0}, 422, "repeat"),
        ({**COMMAND, "timeout": 0}, 422, "timeout"),
        ({**COMMAND, "colour": "red"}, 422, "colour"),
        ({**COMMAND, "cpus": "x"}, 400, "'x' is no CPU: write 0-3,8"),
        ({**COMMAND, "cpus": "3-1"}, 400, "'3-1' ends before it begins"),
        ({**COMMAND, "cpus": "0", "pin": "compact"}, 400, "give one"),
        ({**COMMAND, "every": "0"}, 400, "0"),
        ({**COMMAND, "metrics": ["no.such"]}, 400, "no.such"),
        ({**COMMAND, "host": "nowhere"}, 404, "nowhere"),
        ({**COMMAND, "pin": "sideways", "threads": "1"}, 400, "sideways"),
        ({**COMMAND, "pin": "compact", "threads": "999"}, 409, "999"),
    ],
)
def test_what_cannot_be_run_is_refused_with_the_reason(
    opened: Closed, launcher: str, wish: Any, status: int, words: str
) -> None:
    answer = begin(opened, wish, **bearer(launcher))
    assert answer.status_code == status, answer.text
    assert words in answer.json()["detail"]
    listed = opened.get("/observations/running").json()
    assert [one for one in listed if one["state"] != "over"] == []


def test_one_that_is_not_known_is_not_found(opened: Closed, launcher: str) -> None:
    for path in ("", "/events"):
        url = f"{opened.url}/observations/none{path}"
        answer = opened.client.get(url, headers=bearer(launcher))
        assert answer.status_code == 404
        assert "no observation none runs" in answer.json()["detail"]


def test_who_owns_the_state_needs_no_token(opened: Closed) -> None:
    local = read_local_api(opened.home)
    assert local is not None
    path = opened.home / "access" / "local.json"
    assert path.stat().st_mode & 0o077 == 0
    answer = begin(opened, {"argv": []}, **bearer(local.key))
    assert answer.status_code == 422
    assert begin(opened, COMMAND, **bearer(f"{local.key}0")).status_code == 401


@pytest.fixture(scope="module")
def listing(
    tmp_path_factory: pytest.TempPathFactory, fuseki: str, store: str, base: str
) -> Iterator[Closed]:
    """An API that launches what a list allows."""
    home = tmp_path_factory.mktemp("listing")
    allowed = home / "commands"
    allowed.write_text("/usr/bin/sleep *\n")
    allowing = {"allowed_commands": str(allowed)}
    with own_api(home, base, fuseki, store, **allowing) as found:
        yield found


def test_a_list_of_commands_is_all_that_may_be_launched(listing: Closed) -> None:
    token = bearer(listing.add("launcher", Role.OPERATOR))
    answer = begin(listing, {"argv": ["/bin/sh", "-c", "id"]}, **token)
    assert answer.status_code == 403
    assert "'/bin/sh' is not allowed as a program" in answer.json()["detail"]
    answer = begin(listing, {"argv": ["/usr/bin/sleep", "--help"]}, **token)
    assert answer.status_code == 403
    # What a list allows is refused for other reasons only.
    allowed = {"argv": ["/usr/bin/sleep", "0"], "cpus": "x"}
    assert begin(listing, allowed, **token).status_code == 400


def test_a_list_that_cannot_be_read_allows_nothing(listing: Closed) -> None:
    token = bearer(listing.add("another", Role.OPERATOR))
    path = listing.home / "commands"
    text = path.read_text()
    path.write_text("'unfinished\n")
    try:
        answer = begin(listing, {"argv": ["/usr/bin/sleep", "0"]}, **token)
    finally:
        path.write_text(text)
    assert answer.status_code == 503
    assert "line 1" in answer.json()["detail"]
