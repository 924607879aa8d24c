"""The process that starts, watches and restarts the parts of the stack.

``python -m supertwin.stack.supervisor`` runs in the foreground until SIGTERM or SIGINT,
or until its owner ends; `supertwin up` starts it detached. Its state is in
``{home}/stack.json``.
"""

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from core.errors import StartError, SuperTwinError
from core.linux import lock
from core.linux.private_folder import keep_files_private
from core.settings import audit, pmcd
from core.settings.settings import Settings
from core.settings.state import StackState, write_state
from supertwin.stack import children
from supertwin.stack.agents import follow_agents
from supertwin.stack.background_calibration import keep_calibrated
from supertwin.stack.child import Child
from supertwin.stack.childlog import ChildLog
from supertwin.stack.children import ChildSpec
from supertwin.stack.compaction import keep_small

Chore = Callable[[], Coroutine[Any, Any, None]]

_log = logging.getLogger(__name__)

_CANCEL_AGAIN = 1.0
_CHORES_END = 60.0
_PUBLISH_AGAIN = 2.0  # seconds after a state that could not be written


class Supervisor:
    """Runs children in groups: a group starts when all of the one before are ready."""

    def __init__(self, settings: Settings, pmcd_address: str = "") -> None:
        self._settings = settings
        self._state = StackState(
            pid=os.getpid(),
            started=time.time(),
            pmcd=pmcd_address,
            settings=settings.shown(),
            cpus=sorted(os.sched_getaffinity(0)),
        )
        self._running: list[tuple[Child, asyncio.Task[None]]] = []
        self._again: asyncio.TimerHandle | None = None

    async def run(
        self,
        groups: Sequence[Sequence[ChildSpec]],
        chores: Sequence[Chore] = (),
    ) -> None:
        """Run until a signal asks to stop; StartError if a child does not come up.

        ``chores`` run once all children are up.
        """
        stop = _stop_signal()
        self._publish()
        try:
            if self._settings.owner_pid is not None:
                _stop_with(self._settings.owner_pid, stop)
            starting = asyncio.ensure_future(self._start(groups))
            await asyncio.wait({starting, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not stop.done():
                await starting
                self._enter("running")
                await self._until(stop, chores)
            starting.cancel()
        except SuperTwinError as error:
            await self._stop("failed", str(error))
            raise
        await self._stop("stopped", "")

    async def _until(self, stop: asyncio.Future[None], chores: Sequence[Chore]) -> None:
        tasks = [asyncio.create_task(chore()) for chore in chores]
        await stop
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CHORES_END)

    def say_calibration(self, line: str) -> None:
        """Publish the progress of the calibration of the sampling cost."""
        if line != self._state.calibration:
            self._state.calibration = line
            self._publish()

    def start_child(self, spec: ChildSpec) -> None:
        """Start a child in addition, while the stack runs."""
        # Its errors are in its state: the stack is up without it.
        self._add(spec).ready.add_done_callback(_ignore_outcome)

    async def end_child(self, name: str) -> None:
        """End a child for good."""
        for child, task in [one for one in self._running if one[0].spec.name == name]:
            await _end(task)
            await child.stop()
            self._running.remove((child, task))
        self._state.children.pop(name, None)
        self._publish()

    async def _start(self, groups: Sequence[Sequence[ChildSpec]]) -> None:
        for group in groups:
            ready = [self._add(spec).ready for spec in group]
            await asyncio.gather(*ready)

    def _add(self, spec: ChildSpec) -> Child:
        log = ChildLog(self._settings.home / "log", spec.name)
        note = partial(
            audit.record,
            self._settings.home,
            "supervisor",
            "child.restarted",
            spec.name,
        )
        child = Child(spec, log, self._publish, note)
        self._state.children[spec.name] = child.state
        self._running.append((child, asyncio.create_task(child.run())))
        return child

    async def _stop(self, phase: str, reason: str) -> None:
        """Stop the children, the last started first."""
        self._enter("stopping")
        for child, task in reversed(self._running):
            await _end(task)
            await child.stop()
            if child.ready.done() and not child.ready.cancelled():
                child.ready.exception()
        self._enter(phase, reason)

    def _enter(self, phase: str, reason: str = "") -> None:
        _log.info("%s %s", phase, reason)
        self._state.phase = phase
        self._state.reason = reason
        self._publish()

    def _publish(self) -> None:
        """Write the state; a full disk must not stop the stack."""
        if self._again:
            self._again.cancel()
            self._again = None
        try:
            write_state(self._settings.home, self._state)
        except OSError as error:
            _log.error("state not written: %s", error)
            loop = asyncio.get_running_loop()
            self._again = loop.call_later(_PUBLISH_AGAIN, self._publish)


def _ignore_outcome(ready: asyncio.Future[None]) -> None:
    if not ready.cancelled():
        ready.exception()


async def _end(task: asyncio.Task[None]) -> None:
    """Cancel a task until it ends, since an await may lose a cancellation."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=_CANCEL_AGAIN)


def _stop_signal() -> asyncio.Future[None]:
    """Return a future that the first SIGTERM or SIGINT completes."""
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[None] = loop.create_future()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _complete, stop)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return stop


def _stop_with(owner: int, stop: asyncio.Future[None]) -> None:
    """Complete a future when a process ends; StartError if it cannot be watched."""
    try:
        descriptor = os.pidfd_open(owner)
    except OSError as error:
        raise StartError(f"SUPERTWIN_OWNER_PID={owner}: {error.strerror}") from None
    loop = asyncio.get_running_loop()

    def ended() -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)
        _complete(stop)

    loop.add_reader(descriptor, ended)


def _complete(stop: asyncio.Future[None]) -> None:
    if not stop.done():
        stop.set_result(None)


def supervise(settings: Settings) -> None:
    """Run the whole stack in this process; SuperTwinError if it does not come up."""
    address, own = pmcd.choose(settings)
    groups = [children.servers(settings, own), children.clients(settings, address)]
    asyncio.run(_supervised(settings, address, groups))


async def _supervised(
    settings: Settings, address: str, groups: Sequence[Sequence[ChildSpec]]
) -> None:
    supervisor = Supervisor(settings, address)
    chores: list[Chore] = [partial(follow_agents, settings, supervisor)]
    if not settings.fuseki_url:
        chores.append(partial(keep_small, settings))
    if settings.calibrate == "when-idle":
        say = supervisor.say_calibration
        chores.append(partial(keep_calibrated, settings, say))
    await supervisor.run(groups, chores)


def main() -> int:
    """Take the lock and supervise; return the exit status."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    keep_files_private()
    settings = Settings()
    held = lock.acquire(settings.home)
    if held is None:
        print("another supervisor holds this home", file=sys.stderr)
        return StartError.exit_code
    with held:
        try:
            supervise(settings)
        except SuperTwinError as error:
            print(error, file=sys.stderr)
            return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
