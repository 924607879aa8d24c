"""The perfevent agent of this machine, in the PMCD of our own, made to count."""

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ingest.sources.perf import read_paranoid
from sampler_bridge.errors import PerfeventError
from sampler_bridge.perfevent.live import absent_metrics
from supertwin import stack
from supertwin.errors import MendableError, SuperTwinError
from supertwin.loading import Progress
from supertwin.lock import turn
from supertwin.perfevent import Prepared
from supertwin.perfevent_agent import (
    check_installed,
    forget_others,
    keep_configuration,
    kept_configuration,
    log_of_agent,
)
from supertwin.pmcd import own_socket, write_config, write_names
from supertwin.settings import Settings
from supertwin.state import StackState

_WITHIN = 20.0
_LOOK = 0.02
_SYSTEM_WIDE = 0
# What the agent says of an event that it cannot count.
_REFUSAL = re.compile(r'failed on cpu(\d+) for "([^"]+)": (.*)')


@contextmanager
def counting_here(
    settings: Settings, prepared: Prepared | None, progress: Progress
) -> Iterator[str]:
    """Let the agent count this and nothing else; None: it ends. Gives PMCD's address.

    In the block PCP has every metric; where the block fails, or something cannot be
    counted after all (MendableError, with the kernel's reason), the agent counts what
    it did before.
    """
    home = settings.home / "pmcd"
    pid = our_pmcd(stack.status(settings))
    if prepared is not None:
        check_installed()
        check_permission(read_paranoid(), os.geteuid())
    wait = "another command configures perfevent: waiting until it is done"
    with turn(settings.home / "turns", lambda: progress(wait), "perfevent"):
        before, after = kept_configuration(home), prepared.text if prepared else None
        changes = before != after or (prepared and _absent(settings, prepared))
        try:
            if changes:
                _reload(home, after, pid)
            if changes and prepared is not None:
                _wait_for(settings, prepared)
            yield f"unix://{own_socket(settings)}"
        except BaseException:
            if changes:
                _reload(home, before, pid)
            raise
        forget_others(home)


def our_pmcd(state: StackState | None) -> int:
    """The process of our own PMCD; MendableError for one that we did not start."""
    if state is None:
        raise MendableError("the stack is not running: `make up`")
    child = state.children.get("pmcd")
    if child is None:
        raise MendableError(
            f"PMCD at {state.pmcd} is not ours to configure: set SUPERTWIN_PMCD=own, "
            "then `make down` and `make up`"
        )
    if child.pid is None or child.state != "healthy":
        raise SuperTwinError(f"our PMCD is {child.state}: {child.reason or 'wait'}")
    return child.pid


def check_permission(level: int, user: int) -> None:
    """Raise MendableError where perf_event_paranoid lets a user not count."""
    if level > _SYSTEM_WIDE and user != 0:
        raise MendableError(
            f"kernel.perf_event_paranoid is {level}, and only root may count whole "
            "CPUs then: `sysctl kernel.perf_event_paranoid=0`, or run the stack as root"
        )


def _reload(home: Path, text: str | None, pid: int) -> None:
    # What an agent before said of an event is not what this one will say.
    log_of_agent(home).unlink(missing_ok=True)
    keep_configuration(home, text)
    write_names(home)
    write_config(home)
    # One that died meanwhile is started again, and reads it then.
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGHUP)


def _wait_for(settings: Settings, prepared: Prepared) -> None:
    """Wait until a new agent gives the metrics to PCP; MendableError says why not."""
    log = log_of_agent(settings.home / "pmcd")
    deadline = time.monotonic() + _WITHIN
    # There is no log before the new agent is.
    while (absent := _absent(settings, prepared)) or not log.exists():
        check_refusals(prepared, absent, _read(log))
        if time.monotonic() > deadline:
            what = absent[0] if absent else "new perfevent agent"
            raise SuperTwinError(
                f"PMCD has no {what} after {_WITHIN:.0f} s: see {log.parent}"
            )
        time.sleep(_LOOK)


def _absent(settings: Settings, prepared: Prepared) -> list[str]:
    try:
        return absent_metrics(f"unix://{own_socket(settings)}", prepared.metrics)
    except PerfeventError as error:
        raise SuperTwinError(str(error)) from error


def check_refusals(prepared: Prepared, absent: list[str], log: str) -> None:
    """Raise MendableError for an absent event of which the agent's log says why."""
    found = _REFUSAL.findall(log)
    refused = {name: f"{why} (cpu{cpu})" for cpu, name, why in found}
    for event in prepared.events:
        if event.value in absent and event.configured in refused:
            raise MendableError(f"{event}: {refused[event.configured]}")


def _read(log: Path) -> str:
    try:
        return log.read_text("utf-8", errors="replace")
    except OSError:
        return ""
