"""Counting on a remote host: foreign answers, and leftovers if the client leaves."""

import fcntl
import json
import os
import shlex
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from core.errors import SuperTwinError
from core.linux.signals import signals_as_interrupt
from core.linux.ssh.errors import SocketNameError
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ingest.errors import RemoteError, RemoteSetupError
from sampling.agents.daemon import ANSWER
from sampling.agents.remote import folder_there, running_remotely
from sampling.counters.counters import resume
from sampling.counters.perfevent import CountingSetup
from sampling.errors import PerfeventError
from sampling.events.choice import EventSelection
from sampling.events.host import HostPmus
from tests.servers import Fuseki, wait_until
from tests.sshd import Sshd

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="a network namespace and accounts of its own need root"
)

HOST = "node9"
NOTHING = CountingSetup(HostPmus(HOST, {}), EventSelection(HOST), "[perf]\n")
PREFIX = "PREFIX st: <https://w3id.org/supertwin/ns#>"


@pytest.fixture(scope="module")
def there() -> Iterator[Sshd]:
    with Sshd("SetEnv PATH=/usr/bin:/bin") as server:
        yield server


def known(twin: Endpoint, address: str) -> None:
    """Record in the graph where the host is."""
    triples = f'a st:ComputeNode ; st:hostname "{HOST}" ; st:address "{address}"'
    twin.update(f"{PREFIX} INSERT DATA {{ GRAPH <g:n> {{ <t:n> {triples} }} }}")


@pytest.fixture
def twin(fuseki: Fuseki) -> Iterator[Endpoint]:
    """A graph in which the host's ssh user has no rights."""
    fuseki.empty()
    with Endpoint(f"{fuseki.url}/twin") as twin:
        known(twin, "ssh://twin-node")
        yield twin


@pytest.fixture
def roots(fuseki: Fuseki, there: Sshd) -> Iterator[Endpoint]:
    """A graph in which the host is reached as root, who may count."""
    fuseki.empty()
    with Endpoint(f"{fuseki.url}/twin") as twin:
        known(twin, there.url())
        yield twin


def settings_of(there: Sshd, home: Path) -> Settings:
    return Settings(home=home, host="here", ssh_config=there.config)


def refusal(settings: Settings, twin: Endpoint) -> Exception:
    """The error that prevents counting there: one line, safe to print."""
    with (
        pytest.raises((SuperTwinError, SocketNameError, RemoteError)) as caught,
        running_remotely(settings, HOST, "perfevent", NOTHING, twin, print),
    ):
        pass
    assert str(caught.value).isprintable()
    return caught.value


def says(there: Sshd, text: str) -> None:
    """Make every login there print this text, whatever its command is."""
    there.set_shell(f"cat >/dev/null; printf '%s\\n' {shlex.quote(text)}")


def test_other_socket_names_are_refused(
    there: Sshd, twin: Endpoint, tmp_path: Path
) -> None:
    """With some names, ssh would insert and send our environment variables."""
    settings = settings_of(there, tmp_path)
    own = f".supertwin/{folder_there(settings, HOST)}/run/pmcd.socket"
    answer = {"before": None, "listens": False, "log": ""}
    names = {
        f"/x/${{HOME}}/{own}": "is not a socket that ssh can lead to",
        f"{own}": "is not a socket that ssh can lead to",
        "/run/docker.sock": "gave an unexpected answer",
        f"/x/{own}.other": "gave an unexpected answer",
    }
    for name, why in names.items():
        says(there, ANSWER + json.dumps({**answer, "socket": name}))
        assert why in str(refusal(settings, twin))


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "7", '{"socket": "/x"}', "[" * 100_000, '{"refused": null}']
    + ['{"before": 1, "socket": "", "listens": false, "log": ""}'],
)
def test_malformed_answers_are_refused(
    there: Sshd, twin: Endpoint, tmp_path: Path, text: str
) -> None:
    says(there, ANSWER + text)
    line = str(refusal(settings_of(there, tmp_path), twin))
    assert "ssh://twin-node gave an unexpected answer: see what" in line


def test_endless_answer_is_refused(there: Sshd, twin: Endpoint, tmp_path: Path) -> None:
    there.set_shell("cat >/dev/null; exec yes")
    assert "unexpected answer" in str(refusal(settings_of(there, tmp_path), twin))


def test_remote_text_is_shown_without_control_characters(
    there: Sshd, twin: Endpoint, tmp_path: Path
) -> None:
    settings = settings_of(there, tmp_path)
    says(there, ANSWER + json.dumps({"refused": "\x1b]0;x\x07no\nmore"}))
    refused = refusal(settings, twin)
    assert isinstance(refused, PerfeventError)
    assert str(refused) == "ssh://twin-node: ]0;x no more"
    there.set_shell("cat >/dev/null; printf 'no \\033[31mway\\n' >&2")
    assert "gave no answer (no [31mway): try again" in str(refusal(settings, twin))


@contextmanager
def meanwhile(work: Callable[[], None]) -> Iterator[None]:
    """Do some work in a thread while the block runs."""
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def begin(
    settings: Settings,
    roots: Endpoint,
    interrupt: Callable[[], None],
    ended: type[BaseException],
) -> None:
    """Begin to count there, interrupt that, and expect this exception."""
    with (
        meanwhile(interrupt),
        pytest.raises(ended),
        signals_as_interrupt(),
        running_remotely(settings, HOST, "perfevent", NOTHING, roots, print),
    ):
        raise AssertionError


# Counting has begun by then, but the program's answer never arrives.
SILENT = """answer=$(/bin/sh "$@")
case $answer in *'"before": null, "socket": "/'*) sleep 50 ;; esac
printf '%s\\n' "$answer"
"""


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize("end", ["a signal", "a login that is lost"])
def test_interrupted_setup_is_undone(
    there: Sshd, roots: Endpoint, tmp_path: Path, end: str
) -> None:
    settings, above = settings_of(there, tmp_path), there.folder / "root/.supertwin"
    there.set_shell(SILENT, home="root")
    found = []

    def interrupt() -> None:
        wait_until(lambda: list(above.glob("*/keeper")), what="what keeps PMCD")
        found.extend(above.glob("*/keeper"))
        time.sleep(0.5)
        if end == "a signal":
            os.kill(os.getpid(), signal.SIGTERM)
            return
        for pid in there.sessions():
            os.kill(pid, signal.SIGKILL)

    ended = KeyboardInterrupt if end == "a signal" else RemoteError
    begin(settings, roots, interrupt, ended)
    assert found and not above.exists()


@pytest.mark.usefixtures("handlers")
@pytest.mark.serial
def test_disconnected_client_is_not_served_later(
    there: Sshd, roots: Endpoint, tmp_path: Path
) -> None:
    """The remote program waits for the lock while this side cleans up."""
    settings, above = settings_of(there, tmp_path), there.folder / "root/.supertwin"
    there.set_shell('exec /bin/sh "$@"', home="root")
    above.mkdir(exist_ok=True)

    def interrupt() -> None:
        wait_until(lambda: holds(there, above / "lock"), what="who waits for the lock")
        os.kill(os.getpid(), signal.SIGHUP)

    with (above / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        begin(settings, roots, interrupt, KeyboardInterrupt)
        wait_until(lambda: not holds(there, above / "lock"), what="its end")
    assert [path.name for path in above.iterdir()] == ["lock"]
    shutil.rmtree(above)


def holds(there: Sshd, path: Path) -> bool:
    """Whether a process there has a file open."""
    for pid in there.processes():
        with suppress(OSError):
            # Its paths may differ from ours, so compare the files.
            if any(fd.samefile(path) for fd in Path(f"/proc/{pid}/fd").iterdir()):
                return True
    return False


def test_refused_events_leave_nothing(
    there: Sshd, roots: Endpoint, tmp_path: Path
) -> None:
    """For example after booting a kernel that counts less than the one before."""
    there.set_shell('exec /bin/sh "$@"', home="root")
    plan = "a st:SamplingPlan ; st:ofHost <t:n> ; st:planName 'p'"
    pmu = "a st:Pmu ; st:isPartOf <t:n> ; st:pmuName 'skx' ; st:pmuModel <m:skx>"
    triples = f"<t:p> {plan} ; st:samplesEvent 'skx::NOTHING' . <t:u> {pmu}"
    roots.update(f"{PREFIX} INSERT DATA {{ GRAPH <g:p> {{ {triples} }} }}")
    assert resume(settings_of(there, tmp_path), HOST, roots, print) == 0
    assert not (there.folder / "root/.supertwin").exists()


def test_sshd_without_socket_forwarding_is_reported(
    fuseki: Fuseki, tmp_path: Path
) -> None:
    """It gives the same answer for sockets that do not exist."""
    fuseki.empty()
    with (
        Sshd("AllowStreamLocalForwarding no", "SetEnv PATH=/usr/bin:/bin") as there,
        Endpoint(f"{fuseki.url}/twin") as twin,
    ):
        known(twin, there.url())
        refused = refusal(settings_of(there, tmp_path), twin)
        assert not (there.folder / "root/.supertwin").exists()
    assert isinstance(refused, RemoteSetupError)
    assert "`AllowStreamLocalForwarding yes`" in str(refused)
