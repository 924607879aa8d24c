"""Configures an agent of this machine, which has a private PMCD.

The supervisor runs that PMCD: it follows the folders of agents. The PMCD of perfevent
always runs; that of any other agent runs as long as the agent has a configuration.
"""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from core.errors import NotRunningError, SuperTwinError
from core.linux.lock import turn
from core.linux.ssh.reasons import printable
from core.settings.running import status
from core.settings.settings import Settings
from core.settings.state import agent_home, child_of_agent
from core.stores.datasets import Progress
from sampling.agents.configuration import (
    keep_configuration,
    kept_configuration,
    log_of_agent,
)
from sampling.agents.kinds import KINDS
from sampling.agents.private_pmcd import AgentError, socket_of
from sampling.agents.setup import AgentSetup
from sampling.errors import AgentRefusedError, PerfeventError, SourceDownError

_WITHIN = 20.0
_LOOK = 0.02
Notify = Callable[[], None]


@contextmanager
def running_locally(
    settings: Settings, agent: str, setup: AgentSetup | None, progress: Progress
) -> Iterator[Path]:
    """Run an agent with this setup; None ends it. Yields the socket of its PMCD.

    Inside the block, PCP has every metric. If the block fails, or if the agent refuses
    something after all (AgentRefusedError), it has its previous configuration.
    """
    home = agent_home(settings, agent)
    if status(settings) is None:
        raise NotRunningError("the stack is not running: start it with `make up`")
    if setup is not None:
        try:
            KINDS[agent].check()
        except AgentError as error:
            raise AgentRefusedError(str(error)) from error

    def notify() -> None:
        notify_pmcd(_process(settings, agent))

    def clean() -> None:
        _wait_for_end(settings, agent)
        shutil.rmtree(home, ignore_errors=True)

    with configured(settings, agent, home, setup, progress, notify, clean) as socket:
        yield socket


@contextmanager
def configured(
    settings: Settings,
    agent: str,
    home: Path,
    setup: AgentSetup | None,
    progress: Progress,
    notify: Notify,
    clean: Notify = lambda: None,
) -> Iterator[Path]:
    """Give the agent in a folder a configuration; the previous one if the block fails.

    ``notify`` lets its PMCD read the configuration again; ``clean`` removes what an
    agent without configuration leaves.
    """
    try:
        socket = socket_of(home)
    except AgentError as error:
        raise AgentRefusedError(str(error)) from error
    text = setup.text if setup else None
    wait = f"another command configures {agent}: waiting until it is done"
    with turn(settings.home / "turns", lambda: progress(wait), agent):
        before = kept_configuration(home, agent)
        changes = before != text or (setup and absent(socket, setup))
        try:
            if changes:
                configure(home, agent, setup, notify)
            if setup is None:
                clean()
            yield socket
        except BaseException:
            if changes:
                keep_configuration(home, agent, before)
                # It may be another process by now, or one that has not read anything
                # yet.
                with suppress(SuperTwinError):
                    notify()
                if before is None:
                    clean()
            raise


def configure(home: Path, agent: str, setup: AgentSetup | None, notify: Notify) -> None:
    """Configure the agent of a folder; return when PCP has every metric.

    Raises the error of the setup for what the agent refuses.
    """
    keep_configuration(home, agent, setup.text if setup else None)
    notify()
    if setup is not None:
        log = log_of_agent(home, agent)
        wait_until_runs(setup, socket_of(home), lambda: _read(log))


def notify_pmcd(pid: int | None) -> None:
    """Make a PMCD read its configuration again, if it runs."""
    # If it died meanwhile, it is restarted and reads the configuration then.
    with suppress(ProcessLookupError):
        if pid is not None:
            os.kill(pid, signal.SIGHUP)


def _process(settings: Settings, agent: str) -> int | None:
    """The pid of an agent's PMCD, if it runs and has read its configuration."""
    state = status(settings)
    child = state.children.get(child_of_agent(agent)) if state else None
    return child.pid if child and child.state == "healthy" else None


def _wait_for_end(settings: Settings, agent: str) -> None:
    def runs() -> bool:
        state = status(settings)
        return state is not None and child_of_agent(agent) in state.children

    wait_while(runs)


def wait_while(holds: Callable[[], bool]) -> None:
    """Wait for a limited time while a condition holds of a PMCD that answers."""
    deadline = time.monotonic() + _WITHIN
    with suppress(PerfeventError):
        while holds() and time.monotonic() < deadline:
            time.sleep(_LOOK)


def wait_until_runs(
    setup: AgentSetup, socket: Path, read_log: Callable[[], str]
) -> None:
    """Wait until a new agent runs and PCP has its metrics.

    Raises the error of the setup for what the agent refuses. The log does not exist
    before the new agent runs.
    """
    deadline = time.monotonic() + _WITHIN
    while True:
        lacks, log = absent(socket, setup), read_log()
        if log and not lacks:
            wait_while(lambda: not setup.works(f"unix://{socket}"))
            return
        setup.check(lacks, log)
        if time.monotonic() > deadline:
            what = lacks[0] if lacks else f"new {setup.agent} agent"
            why = _last_line(log)
            raise SourceDownError(
                f"PMCD has no {what} after {_WITHIN:.0f} s ({why}): see its log"
            )
        time.sleep(_LOOK)


def absent(socket: Path, setup: AgentSetup) -> list[str]:
    """The metrics that PMCD does not have; all of them while it does not answer."""
    try:
        return setup.absent(f"unix://{socket}")
    except PerfeventError:
        return list(setup.metrics)


def _last_line(log: str) -> str:
    lines = [line for line in log.splitlines() if line.strip()]
    # PCP's last line does not say why the agent has ended.
    said = [line for line in lines if not line.startswith("Log finished")]
    return printable(said[-1]) if said else "its log is empty"


def _read(log: Path) -> str:
    try:
        return log.read_text("utf-8", errors="replace")
    except OSError:
        return ""
