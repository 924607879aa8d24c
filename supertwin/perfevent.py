"""From roles and events to counters that count: graph, configuration, running agent."""

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ingest.errors import SourceError
from ingest.pmu.pfm import read_events
from ingest.sources.perf import read_kernel_events, read_paranoid, read_watchdog
from sampler_bridge.errors import PerfeventError
from sampler_bridge.perfevent.choice import Choice, choose
from sampler_bridge.perfevent.conf import configuration
from sampler_bridge.perfevent.counters import check_counters
from sampler_bridge.perfevent.host import HostPmus, read_host, read_role
from sampler_bridge.perfevent.live import absent_metrics
from supertwin import stack
from supertwin.errors import MendableError, SuperTwinError
from supertwin.loading import dataset
from supertwin.lock import turn
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
_LOOK = 0.1
_SYSTEM_WIDE = 0
# What the agent says of an event that it cannot count.
_REFUSAL = re.compile(r'failed on cpu(\d+) for "([^"]+)": (.*)')


@dataclass(frozen=True)
class Prepared:
    """What is to be counted on a host, the agent's configuration of it, and remarks."""

    host: HostPmus
    choice: Choice
    text: str
    remarks: Sequence[str] = ()

    @property
    def metrics(self) -> list[str]:
        """PCP's metrics of all events: what was counted, and dutycycles."""
        events = [one.event for one in self.choice.counted]
        return [name for event in events for name in (event.value, event.dutycycle)]


def prepare(
    settings: Settings,
    host: str,
    roles: Collection[str],
    events: Collection[str],
    multiplex: bool = False,
) -> Prepared:
    """Choose what measures roles and events on a host; nothing is changed.

    What cannot be counted is in ``choice.refused``, each with its reason. Raises
    MendableError where counters do not suffice, and QueriesError.
    """
    known, choice = _choose(settings, host, roles, events)
    try:
        remarks = check_counters(known, choice, multiplex)
    except PerfeventError as error:
        raise MendableError(str(error)) from error
    return Prepared(known, choice, configuration(known, choice), remarks)


def _choose(
    settings: Settings, host: str, roles: Collection[str], events: Collection[str]
) -> tuple[HostPmus, Choice]:
    try:
        with dataset(settings, "twin") as twin:
            here = host == settings.host
            devices, watched = _kernel() if here else ({}, False)
            known = read_host(twin, host, devices, watched)
            terms = {role: read_role(twin, host, role) for role in dict.fromkeys(roles)}
        return known, choose(known, terms, dict.fromkeys(events), _encode)
    except PerfeventError as error:
        raise MendableError(str(error)) from error


def _kernel() -> tuple[dict[str, list[str]], bool]:
    """What this machine's kernel names, and whether it holds a counter itself."""
    try:
        return read_kernel_events(), read_watchdog()
    except SourceError:
        return {}, False


def _encode(pmu: str, event: str) -> list[str]:
    found = read_events({pmu: [event]}).get(pmu) or [{"encoding": []}]
    return list(found[0]["encoding"])


def apply(
    settings: Settings, prepared: Prepared | None, progress: Callable[[str], None]
) -> None:
    """Let the agent count this and nothing else; None: it ends.

    Returns when PCP has every metric. What cannot be counted after all raises
    MendableError with the kernel's reason, and the agent counts what it did before.
    """
    home = settings.home / "pmcd"
    pid = our_pmcd(stack.status(settings))
    if prepared is not None:
        _may_count(prepared, settings)
    wait = "another command configures perfevent: waiting until it is done"
    with turn(settings.home / "turns", lambda: progress(wait), "perfevent"):
        before, after = kept_configuration(home), prepared.text if prepared else None
        if before == after and not (prepared and _absent(settings, prepared)):
            return
        _reload(home, after, pid)
        try:
            if prepared is not None:
                _wait_for(settings, prepared)
        except BaseException:
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


def _may_count(prepared: Prepared, settings: Settings) -> None:
    if prepared.choice.host != settings.host:
        raise MendableError(
            f"{prepared.choice.host} is another machine: perfevent is configured on "
            "this one alone"
        )
    if not prepared.choice.counted:
        raise MendableError("nothing is to be counted: name a role or an event")
    check_installed()
    check_permission(read_paranoid(), os.geteuid())


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
        refused = _refusals(log)
        for one in prepared.choice.counted:
            if one.event.value in absent and one.event.configured in refused:
                raise MendableError(f"{one.event}: {refused[one.event.configured]}")
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


def _refusals(log: Path) -> dict[str, str]:
    """The reason by event, as the agent wrote it."""
    try:
        text = log.read_text("utf-8", errors="replace")
    except OSError:
        return {}
    return {name: f"{why} (cpu{cpu})" for cpu, name, why in _REFUSAL.findall(text)}
