"""Configures the perfevent agent of this machine, which has a PMCD of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from core.errors import NotRunningError
from core.settings.running import status
from core.settings.settings import Settings
from core.settings.state import COUNTING, StackState, counting_home
from core.stores.datasets import Progress
from sampling.agents.local import configure, configured, notify_pmcd, wait_while
from sampling.agents.perfevent import AGENT, check_can_count
from sampling.agents.private_pmcd import AgentError, socket_of
from sampling.counters.perfevent import CountingSetup
from sampling.errors import NoPmcdError, PerfeventError, SourceDownError
from sampling.events.live import has_agent


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

    def notify() -> None:
        notify_pmcd(counting_process(status(settings)))

    with configured(settings, AGENT, home, prepared, progress, notify) as socket:
        if prepared is None:
            _wait_until_gone(socket)
        yield socket


def count(home: Path, prepared: CountingSetup | None, pid: int) -> None:
    """Let the agent of a PMCD, given by its folder and pid, count exactly this.

    Returns when PCP has every metric; with None, the agent ends. Raises PerfeventError,
    with the kernel's reason, for what cannot be counted.
    """
    configure(home, AGENT, prepared, partial(notify_pmcd, pid))
    if prepared is None:
        _wait_until_gone(socket_of(home))


def counting_process(state: StackState | None) -> int:
    """The pid of the PMCD for PMU events.

    Without one, raises NotRunningError, PerfeventError, NoPmcdError or SourceDownError.
    """
    if state is None:
        raise NotRunningError("the stack is not running: start it with `make up`")
    child = state.children.get(COUNTING)
    if child is None:
        try:
            check_can_count()
        except AgentError as error:
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


def _wait_until_gone(socket: Path) -> None:
    """Wait until PMCD has ended its agent.

    If PMCD were notified again before that, it would do neither.
    """
    wait_while(lambda: has_agent(f"unix://{socket}"))
