"""Start, await, stop and inspect the stack from the command line."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from core.errors import StartError, UserError
from core.linux import lock
from core.linux.private_folder import close_home, make_private
from core.settings.home import CHECKOUT
from core.settings.running import status
from core.settings.settings import Settings
from core.settings.state import StackState, read_state
from supertwin.errors import OtherUserError, StackRunsError, StopError
from supertwin.stack.preflight import preflight

Progress = Callable[[str], None]

_LOOK = 0.05
_UP_WITHIN = 180.0
_DOWN_WITHIN = 90.0
# These do not affect a running stack: the next command may have other values.
_FREE = {"SUPERTWIN_MIN_FREE_BYTES"}


@contextmanager
def turn(settings: Settings, progress: Progress) -> Iterator[None]:
    """Let one `up` per home run at a time; one that cannot start leaves nothing."""
    if not settings.home.exists():
        _may_start(settings)
    # If no folder can be created, the start reports the problem.
    with suppress(OSError):
        close_home(settings.home)
    with lock.turn(settings.home, lambda: progress("waiting for another `up`")):
        yield


def _may_start(settings: Settings) -> None:
    try:
        preflight(settings)
    except UserError:
        # The obstacle may be the stack itself, started at the same moment.
        if lock.holder(settings.home) is None:
            raise


@contextmanager
def started(settings: Settings, progress: Progress) -> Iterator[StackState]:
    """Start the stack if needed and yield its state; stop a new one on any failure."""
    own = _start(settings) if lock.holder(settings.home) is None else None
    try:
        if own is None:
            _same_settings(settings)
        yield _wait_until_healthy(settings, own, progress)
    except BaseException:
        if own is not None:
            _end(own)
        raise


def _start(settings: Settings) -> subprocess.Popen[bytes]:
    """Start a supervisor that outlives this process."""
    preflight(settings)
    log = settings.home / "log" / "supervisor.log"
    make_private(log.parent)
    with log.open("wb") as out:
        return subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "supertwin.stack.supervisor"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=CHECKOUT,
            env={**os.environ, **settings.environment()},
            start_new_session=True,
        )


def _end(supervisor: subprocess.Popen[bytes]) -> None:
    """End a supervisor and its children, whether or not it holds the lock yet."""
    supervisor.terminate()
    try:
        supervisor.wait(_DOWN_WITHIN)
    except subprocess.TimeoutExpired:
        supervisor.kill()
        supervisor.wait()


def _same_settings(settings: Settings) -> None:
    """Raise StackRunsError if the stack was started with other settings."""
    state = read_state(settings.home)
    then, now = (state.settings if state else {}), settings.shown()
    changed = [k for k in now if k in then and then[k] != now[k] and k not in _FREE]
    if changed:
        raise StackRunsError(
            f"the stack runs with another {', '.join(changed)}: run `make down` first"
        )


def _wait_until_healthy(
    settings: Settings, own: subprocess.Popen[bytes] | None, progress: Progress
) -> StackState:
    """Wait for every child and report its start time; StartError if one fails."""
    printed: set[str] = set()
    deadline = time.monotonic() + _UP_WITHIN
    while time.monotonic() < deadline:
        over = own is not None and own.poll() is not None
        state = _fresh_state(settings, own)
        if state is not None:
            if own is not None:
                _print_ready(state, printed, progress)
            if state.healthy:
                return state
        if over:
            raise StartError(_why_it_ended(settings, state))
        time.sleep(_LOOK)
    raise StartError(
        f"not all healthy after {_UP_WITHIN:.0f} s: {_ailing(settings)} "
        f"(log: {settings.home / 'log'})"
    )


def _fresh_state(
    settings: Settings, own: subprocess.Popen[bytes] | None
) -> StackState | None:
    """Return the state, unless an earlier supervisor wrote it."""
    if own is None:
        return status(settings)
    state = read_state(settings.home)
    return state if state and state.pid == own.pid else None


def _print_ready(state: StackState, printed: set[str], progress: Progress) -> None:
    for name, child in state.children.items():
        if name not in printed and child.seconds is not None:
            printed.add(name)
            progress(f"{name} ready in {child.seconds:.1f} s")


def _why_it_ended(settings: Settings, state: StackState | None) -> str:
    log = settings.home / "log" / "supervisor.log"
    if state is not None and state.reason:
        return f"{state.reason} (log: {log.parent})"
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "no reason given")
    return f"the supervisor ended: {last.strip()} (log: {log})"


def _ailing(settings: Settings) -> str:
    state = status(settings)
    children = state.children.items() if state else []
    failing = [f"{n} {c.state} {c.reason}" for n, c in children if c.state != "healthy"]
    return "; ".join(failing) or "no supervisor"


def stop(settings: Settings, progress: Progress) -> bool:
    """Stop the stack and wait for its end; return whether it was running."""
    pid = lock.holder(settings.home)
    if pid is None:
        return False
    progress("stopping")
    _signal(pid, signal.SIGTERM)
    if not _gone(settings, pid, _DOWN_WITHIN):
        _signal(pid, signal.SIGKILL)
        if not _gone(settings, pid, _DOWN_WITHIN):
            raise StopError(
                f"the supervisor (pid {pid}) does not end: see log/supervisor.log"
            )
    return True


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
    except PermissionError:
        raise OtherUserError(
            f"the stack (pid {pid}) runs as another user: stop it as that user"
        ) from None


def _gone(settings: Settings, pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while lock.holder(settings.home) == pid:
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK)
    return True
