"""What a host elsewhere answers that is to count, where it is not our program."""

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.errors import RemoteError
from queries.endpoint import Endpoint
from remote_login.errors import SocketNameError
from sampler_bridge.perfevent.choice import Choice
from sampler_bridge.perfevent.host import HostPmus
from supertwin.counting.perfevent import Prepared
from supertwin.counting.private_pmcd import ANSWER
from supertwin.counting.there import counting_there, folder_there
from supertwin.errors import MendableError, SuperTwinError
from supertwin.settings import Settings
from tests.servers import Fuseki
from tests.sshd import Sshd

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="a network namespace and accounts of its own need root"
)

HOST = "node9"
NOTHING = Prepared(HostPmus(HOST, {}), Choice(HOST), "[perf]\n")
KNOWN = f"""PREFIX st: <https://w3id.org/supertwin/ns#> INSERT DATA {{ GRAPH <g:n> {{
  <t:n> a st:ComputeNode ; st:hostname "{HOST}" ; st:address "ssh://twin-node" }} }}"""


@pytest.fixture(scope="module")
def there() -> Iterator[Sshd]:
    with Sshd() as server:
        yield server


@pytest.fixture
def twin(fuseki: Fuseki) -> Iterator[Endpoint]:
    """A graph that knows where the host is."""
    fuseki.empty()
    with Endpoint(f"{fuseki.url}/twin") as twin:
        twin.update(KNOWN)
        yield twin


def settings_of(there: Sshd, home: Path) -> Settings:
    return Settings(home=home, host="here", ssh_config=there.config)


def refusal(settings: Settings, twin: Endpoint) -> Exception:
    """Why nothing is counted there: one line that may be shown."""
    with (
        pytest.raises((SuperTwinError, SocketNameError, RemoteError)) as caught,
        counting_there(settings, HOST, NOTHING, twin),
    ):
        pass
    assert str(caught.value).isprintable()
    return caught.value


def says(there: Sshd, text: str) -> None:
    """Let whoever logs in hear this, whatever they ask for."""
    there.set_shell(f"cat >/dev/null; printf '%s\\n' {shlex.quote(text)}")


def test_names_of_other_sockets_are_not_taken(
    there: Sshd, twin: Endpoint, tmp_path: Path
) -> None:
    """In some, ssh would put what our environment holds, and send it there."""
    settings = settings_of(there, tmp_path)
    own = f".supertwin/{folder_there(settings, HOST)}/run/pmcd.socket"
    answer = {"before": None, "log": ""}
    names = {
        f"/x/${{HOME}}/{own}": "is no socket that ssh can lead to",
        f"{own}": "is no socket that ssh can lead to",
        "/run/docker.sock": "gave an answer of another form",
        f"/x/{own}.other": "gave an answer of another form",
    }
    for name, why in names.items():
        says(there, ANSWER + json.dumps({**answer, "socket": name}))
        assert why in str(refusal(settings, twin))


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "7", '{"socket": "/x"}', '{"before": 1, "socket": "", "log": ""}']
    + ["[" * 100_000, '{"refused": null}'],
)
def test_answers_of_another_form(
    there: Sshd, twin: Endpoint, tmp_path: Path, text: str
) -> None:
    says(there, ANSWER + text)
    line = str(refusal(settings_of(there, tmp_path), twin))
    assert "ssh://twin-node gave an answer of another form: see what" in line


def test_an_answer_without_end(there: Sshd, twin: Endpoint, tmp_path: Path) -> None:
    there.set_shell("cat >/dev/null; exec yes")
    assert "of another form" in str(refusal(settings_of(there, tmp_path), twin))


def test_what_it_says_is_shown_without_controls(
    there: Sshd, twin: Endpoint, tmp_path: Path
) -> None:
    settings = settings_of(there, tmp_path)
    says(there, ANSWER + json.dumps({"refused": "\x1b]0;x\x07no\nmore"}))
    refused = refusal(settings, twin)
    assert isinstance(refused, MendableError)
    assert str(refused) == "ssh://twin-node: ]0;x no more"
    there.set_shell("cat >/dev/null; printf 'no \\033[31mway\\n' >&2")
    assert "gave no answer (no [31mway): try again" in str(refusal(settings, twin))
