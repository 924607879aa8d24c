"""The state of the stack, as its supervisor reports it, and the PMCD in use."""

from core.linux import lock
from core.settings import pmcd
from core.settings.settings import Settings
from core.settings.state import StackState, read_state


def status(settings: Settings) -> StackState | None:
    """Return what the running supervisor reports; None if nothing runs."""
    pid = lock.holder(settings.home)
    state = read_state(settings.home)
    return state if state and pid is not None and state.pid == pid else None


def pmcd_address(settings: Settings) -> str | None:
    """Return the address of the PMCD in use; None without one."""
    state = status(settings)
    if state is not None:
        return state.pmcd
    if settings.pmcd in ("auto", "own"):
        return pmcd.running_address()
    return settings.pmcd
