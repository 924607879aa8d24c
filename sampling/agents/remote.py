"""An agent of a remote host, over ssh, as in figure 4.4 of the thesis.

The program that is sent there consists of modules of this folder. It runs a PMCD for
the user that logs in, and ssh forwards its Unix socket to this host.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.errors import SuperTwinError
from core.linux.ssh.address import parse_address
from core.linux.ssh.reasons import printable
from core.linux.ssh.sockets import plain_socket
from core.settings.settings import Settings
from core.stores.datasets import Progress
from core.stores.endpoint import Endpoint
from ingest.errors import RemoteError, RemoteSetupError
from ingest.remote.probe import FIND_PYTHON, NO_PYTHON
from ingest.remote.ssh import Command, Connection, connected
from ingest.remote_hosts import address_of
from ontology.iris import encode_id
from sampling.agents import (
    bpftrace_script,
    checks,
    configuration,
    daemon,
    kinds,
    known,
    perfevent,
    private_pmcd,
)
from sampling.agents.local import wait_until_runs
from sampling.agents.setup import AgentSetup
from sampling.errors import AgentRefusedError, PerfeventError

_SECONDS = 60.0
# Bytes of an answer, most of them from the agent's log.
_MOST = 1 << 20
_FUTURE = "from __future__ import annotations\n"
# In the order of their imports.
_SENT = (
    *(known, private_pmcd, perfevent, bpftrace_script, kinds),
    *(configuration, checks, daemon),
)
_NOT_THERE = re.compile(
    rf"^{_FUTURE}|^from sampling\.agents\.\w+ import (?:\([^)]*\)|.*)\n", re.M
)


@contextmanager
def running_remotely(
    settings: Settings,
    host: str,
    agent: str,
    setup: AgentSetup | None,
    twin: Endpoint,
    progress: Progress,
) -> Iterator[tuple[Path, str]]:
    """Run an agent of a host with this setup; None leaves nothing there.

    Yields PMCD's socket, as it is forwarded to this host and as it is there. Inside the
    block, PMCD has every metric; if the block fails, the previous configuration is
    restored. Raises AgentRefusedError, for perfevent PerfeventError, for what the agent
    cannot do there, and RemoteError.
    """
    where = parse_address(address_of(twin, host))
    with connected(where, settings.ssh_config) as connection:
        program = RemoteProgram(connection, folder_there(settings, host, agent), agent)
        before = program.look().before
        try:
            answer = program.ask(setup.text if setup else None)
            if setup is None:
                yield Path(), ""
                return
            local = connection.forward(answer.socket)
            wait_until_runs(setup, local, lambda: program.read_log(local))
            yield local, answer.socket
        except BaseException:
            _undo(program, before, settings.ssh_config, host, progress)
            raise


def _undo(
    program: "RemoteProgram",
    before: str | None,
    config: Path | None,
    host: str,
    progress: Progress,
) -> None:
    """Restore a host's previous configuration, over a new login if needed."""
    try:
        try:
            program.ask(before)
        except RemoteError:
            with connected(program.where, config) as connection:
                RemoteProgram(connection, program.folder, program.agent).ask(before)
    except SuperTwinError as error:
        fix = "perfevent" if program.agent == perfevent.AGENT else "agent"
        progress(
            f"the {program.agent} agent of {host} may still do too much ({error}): run "
            f"`supertwin {fix} resume --host {host}` when it can be reached again"
        )


def folder_there(settings: Settings, host: str, agent: str = perfevent.AGENT) -> str:
    """The folder below ~/.supertwin: several installations may use one host."""
    ours = hashlib.sha256(settings.base.encode()).hexdigest()[:8]
    end = "" if agent == perfevent.AGENT else f"-{agent}"
    return f"{encode_id(host)[: 60 - len(end)]}-{ours}{end}"


@dataclass(frozen=True)
class _Answer:
    """The previous configuration, PMCD's socket, if it listens, the agent's log."""

    before: str | None
    socket: str
    listens: bool
    log: str


def program() -> bytes:
    """The modules as one file, without imports that only work in a checkout."""
    sources = [Path(str(module.__file__)).read_text() for module in _SENT]
    *parts, main = (_NOT_THERE.sub("", text) for text in sources)
    # These are files on the remote host, not part of the program.
    names = (*kinds.READER, *kinds.BPFTRACE)
    files = {name: kinds.source_of(name) for name in names}
    programs = f"PROGRAM_SOURCES.update({files!r})\n"
    return "".join([_FUTURE, *parts, programs, main]).encode()


class RemoteProgram:
    """The program on the remote host."""

    def __init__(self, connection: Connection, folder: str, agent: str) -> None:
        self.where = connection.address
        self.folder = folder
        self.agent = agent
        self._connection = connection
        self._leads = False

    def ask(self, text: str | None, change: bool = True) -> _Answer:
        """Set the agent's configuration; raises AgentRefusedError and RemoteError."""
        place = {"name": self.folder, "agent": self.agent}
        return self._parsed(self.answer({**place, "text": text, "change": change}))

    def answer(self, request: dict[str, object]) -> str:
        """The line that answers a request; raises RemoteError."""
        sent = program()
        # The request follows the program on standard input: no part of it is in a
        # command.
        run = f"import sys; exec(sys.stdin.buffer.read({len(sent)}))"
        script = f'{FIND_PYTHON}exec "$p" -ISB -c "{run}"'
        given = sent + json.dumps(request).encode()
        with self._connection.run(f"exec sh -c '{script}'", given, _SECONDS) as command:
            printed = self._printed(command)
            return self._answer(printed, command.status(), command.last_lines())

    def read_log(self, local: Path) -> str:
        """The agent's log, which says what it cannot count.

        Raises RemoteSetupError if PMCD listens but the local socket leads elsewhere.
        """
        answer = self.look()
        if answer.listens and not self._leads:
            # Imported late: it needs numpy, which only remote counting uses.
            from core.linux.pmcd_socket import greets

            self._leads = greets(local)
            # PMCD may have ended just then.
            if not self._leads and self.look().listens:
                raise RemoteSetupError(
                    f"sshd of {self.where} forwards no sockets: set "
                    "`AllowStreamLocalForwarding yes` in its sshd_config"
                )
        return answer.log

    def look(self) -> _Answer:
        """The present state; nothing is changed."""
        return self.ask("", change=False)

    def _printed(self, command: Command) -> str:
        printed = b""
        while piece := command.output.read():
            printed += piece
            if len(printed) > _MOST:
                raise self._unexpected()
        return printed.decode(errors="replace")

    def _answer(self, printed: str, status: int, complaints: list[str]) -> str:
        if status == NO_PYTHON:
            raise RemoteSetupError(
                f"{self.where} has no complete Python 3.8 or newer: apt-get install "
                "python3 there"
            )
        lines = [
            line.removeprefix(daemon.ANSWER)
            for line in printed.splitlines()
            if line.startswith(daemon.ANSWER)
        ]
        if not lines:
            why = f" ({printable(complaints[-1])})" if complaints else ""
            raise RemoteError(f"{self.where} gave no answer{why}: try again")
        return lines[-1]

    def _parsed(self, line: str) -> _Answer:
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            raise self._unexpected() from None
        match answer:
            case {"refused": str(why)}:
                raise self._refused(f"{self.where}: {printable(why)}")
            case {
                "before": str() | None as before,
                "socket": str(name),
                "listens": bool() as listens,
                "log": str(log),
            }:
                # The remote host could name any other socket.
                own = f"/.supertwin/{self.folder}/run/pmcd.socket"
                if not name or plain_socket(name).endswith(own):
                    return _Answer(before, name, listens, log)
        raise self._unexpected()

    def _refused(self, text: str) -> SuperTwinError:
        is_counter = self.agent == perfevent.AGENT
        return PerfeventError(text) if is_counter else AgentRefusedError(text)

    def _unexpected(self) -> RemoteError:
        return RemoteError(
            f"{self.where} gave an unexpected answer: see what "
            f"`ssh {self.where} true` prints"
        )
