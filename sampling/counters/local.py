"""Configures the perfevent agent of this machine, which has a PMCD of its own."""

import os
import re
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
from core.settings.state import COUNTING, StackState, counting_home
from core.stores.datasets import Progress
from sampling.counters import private_pmcd
from sampling.counters.perfevent import CountingSetup
from sampling.errors import NoPmcdError, PerfeventError, SourceDownError
from sampling.events.live import absent_metrics, has_agent, is_counting

_WITHIN = 20.0
_LOOK = 0.02
# The agent's message about an event that it cannot count.
_REFUSAL = re.compile(r'failed on cpu(\d+) for "([^"]+)": (.*)')


@contextmanager
def counting_locally(
    settings: Settings, prepared: CountingSetup | None, progress: Progress
) -> Iterator[Path]:
    """Let the agent count exactly this; None ends it. Yields PMCD's socket.

    Inside the block, PCP has every metric. If the block fails, or if something cannot
    be counted after all (PerfeventError, with the kernel's reason), the agent counts
    what it did before.
    """
    home = counting_home(settings)
    counting_process(status(settings))  # fail before waiting
    socket, text = private_pmcd.socket_of(home), prepared.text if prepared else None
    wait = "another command configures perfevent: waiting until it is done"
    with turn(settings.home / "turns", lambda: progress(wait), "perfevent"):
        before = private_pmcd.kept_configuration(home)
        changes = before != text or (prepared and absent(socket, prepared))
        try:
            if changes:
                count(home, prepared, counting_process(status(settings)))
            yield socket
        except BaseException:
            if changes:
                private_pmcd.keep_configuration(home, before)
                # It may be another process by now, or one that has not read anything
                # yet.
                with suppress(SuperTwinError):
                    _notify_pmcd(counting_process(status(settings)))
            raise


def count(home: Path, prepared: CountingSetup | None, pid: int) -> None:
    """Let the agent of a PMCD, given by its folder and pid, count exactly this.

    Returns when PCP has every metric; with None, the agent ends. Raises PerfeventError,
    with the kernel's reason, for what cannot be counted.
    """
    socket = private_pmcd.socket_of(home)
    private_pmcd.keep_configuration(home, prepared.text if prepared else None)
    _notify_pmcd(pid)
    if prepared is None:
        _wait_until_gone(socket)
        return
    log = private_pmcd.log_of_agent(home)
    wait_until_counted(prepared, socket, lambda: _read(log))


def counting_process(state: StackState | None) -> int:
    """The pid of the PMCD for PMU events.

    Without one, raises NotRunningError, PerfeventError, NoPmcdError or SourceDownError.
    """
    if state is None:
        raise NotRunningError("the stack is not running: start it with `make up`")
    child = state.children.get(COUNTING)
    if child is None:
        try:
            private_pmcd.check_can_count()
        except private_pmcd.CountingError as error:
            fix = "then run `make down` and `make up`"
            raise PerfeventError(f"{error}; {fix}") from error
        raise NoPmcdError(
            "no PMCD for PMU events was started: run `make down`, then `make up`"
        )
    if child.pid is None or child.state != "healthy":
        raise SourceDownError(
            f"the PMCD for PMU events is {child.state} ({child.reason or 'starting'}): "
            "wait, or see `make status`"
        )
    return child.pid


def _notify_pmcd(pid: int) -> None:
    """Make PMCD read its configuration again."""
    # If it died meanwhile, it is restarted and reads the configuration then.
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGHUP)


def _wait_until_gone(socket: Path) -> None:
    """Wait until PMCD has ended its agent.

    If PMCD were notified again before that, it would do neither.
    """
    _wait_while(lambda: has_agent(f"unix://{socket}"))


def _wait_while(holds: Callable[[], bool]) -> None:
    """Wait for a limited time while a condition holds of a PMCD that answers."""
    deadline = time.monotonic() + _WITHIN
    with suppress(PerfeventError):
        while holds() and time.monotonic() < deadline:
            time.sleep(_LOOK)


def wait_until_counted(
    prepared: CountingSetup, socket: Path, read_log: Callable[[], str]
) -> None:
    """Wait until a new agent counts and PCP has its metrics.

    Raises PerfeventError with the reason of an event that the agent refuses. The log
    does not exist before the new agent runs.
    """
    deadline = time.monotonic() + _WITHIN
    while True:
        lacks, log = absent(socket, prepared), read_log()
        if log and not lacks:
            # If it never counts, duty cycles of 0 show that.
            _wait_while(lambda: not is_counting(f"unix://{socket}"))
            return
        _check_refusals(prepared, lacks, log)
        if time.monotonic() > deadline:
            what = lacks[0] if lacks else "new perfevent agent"
            last_line = printable(log.strip().rpartition("\n")[2])
            raise SourceDownError(
                f"PMCD has no {what} after {_WITHIN:.0f} s ({last_line}): see its log"
            )
        time.sleep(_LOOK)


def absent(socket: Path, prepared: CountingSetup) -> list[str]:
    """The metrics that PMCD does not have; all of them while it does not answer."""
    try:
        return absent_metrics(f"unix://{socket}", prepared.metrics)
    except PerfeventError:
        return prepared.metrics


def _check_refusals(prepared: CountingSetup, lacks: list[str], log: str) -> None:
    """Raise PerfeventError for an absent event if the agent's log has the reason."""
    found = _REFUSAL.findall(log)
    refused = {name: f"{why} (cpu{cpu})" for cpu, name, why in found}
    for event in prepared.events:
        if event.value in lacks and event.configured in refused:
            raise PerfeventError(f"{event}: {printable(refused[event.configured])}")


def _read(log: Path) -> str:
    try:
        return log.read_text("utf-8", errors="replace")
    except OSError:
        return ""
