"""Start, watch and restart one child process."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable

from core.errors import StartError, SuperTwinError
from core.linux.signals import ends_with_us
from core.settings.state import ChildState
from supertwin.stack.childlog import ChildLog
from supertwin.stack.children import ChildSpec

_SHORTEST_WAIT = 0.5
_LONGEST_WAIT = 10.0
_STEADY_AFTER = 60.0
_ATTEMPTS = 2
_LOOK_AT_START = 0.1
_LOOK = 2.0


class Child:
    """Keeps one process running until it is stopped.

    ``changed`` is called after every change of ``state``. ``ready`` is done when the
    process is healthy for the first time, or holds a StartError if it died twice before
    that. ``restarted`` is called with the reason before each restart.
    """

    def __init__(
        self,
        spec: ChildSpec,
        log: ChildLog,
        changed: Callable[[], None],
        restarted: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        self.spec = spec
        self.state = ChildState(since=time.time())
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._log = log
        self._changed, self._restarted = changed, restarted
        self._process: asyncio.subprocess.Process | None = None
        self._wait = _SHORTEST_WAIT

    async def run(self) -> None:
        """Run the process forever; after a cancellation, ``stop`` must end it."""
        while True:
            try:
                await self._spawn()
                reason = await self._watch()
            except (OSError, SuperTwinError) as error:
                reason = f"does not start: {error}"
            self._leave_nothing()
            self._judge(reason)
            await asyncio.sleep(self._wait)
            self._wait = min(2 * self._wait, _LONGEST_WAIT)
            self.state.restarts += 1
            self._restarted(reason)

    async def stop(self) -> None:
        """Terminate the process; kill it after ``stop_within``."""
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), self.spec.stop_within)
        self._leave_nothing()
        if process is not None:
            await process.wait()
        self._become("stopped", self.state.reason)

    async def _spawn(self) -> None:
        """Start the process in its own session; it dies when the supervisor does."""
        self.state.pid = None
        self._become("starting", self.state.reason)
        for path in self.spec.stale:
            path.unlink(missing_ok=True)
        with self._log.open() as out:
            self._process = await asyncio.create_subprocess_exec(
                *(*ends_with_us(), *self.spec.command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=self.spec.cwd,
                env={**os.environ, **self.spec.env},
                start_new_session=True,
            )
        self.state.pid = self._process.pid
        self._changed()

    async def _watch(self) -> str:
        """Watch the process until it ends or must be ended; return why."""
        assert self._process is not None  # noqa: S101
        started = last_good = time.monotonic()
        exited = asyncio.ensure_future(self._process.wait())
        while True:
            look = _LOOK if self.state.state == "healthy" else _LOOK_AT_START
            await asyncio.wait({exited}, timeout=look)
            if exited.done():
                return self._ending(exited.result())
            wrong = await self.spec.check()
            now = time.monotonic()
            if wrong is None:
                last_good = now
                self._be_healthy(now - started)
            elif given_up := self._too_long(now - started, now - last_good, wrong):
                self._process.kill()
                await exited
                return given_up
            self._log.bound()

    def _be_healthy(self, seconds: float) -> None:
        if self.state.state != "healthy":
            if self.state.state == "starting":
                self.state.seconds = round(seconds, 1)
            self._become("healthy", self.state.reason)
        if time.time() - self.state.since > _STEADY_AFTER:
            self._wait = _SHORTEST_WAIT
        if not self.ready.done():
            self.ready.set_result(None)

    def _too_long(self, age: float, silence: float, wrong: str) -> str | None:
        """Return why the process must be killed; None while there is still time."""
        if self.state.state == "starting":
            if age < self.spec.ready_within:
                return None
            return f"not ready after {age:.0f} s: {wrong}"
        if self.state.state == "healthy":
            self._become("unhealthy", wrong)
        if silence < self.spec.hang_after:
            return None
        return f"hung for {silence:.0f} s: {wrong}"

    def _judge(self, reason: str) -> None:
        """Record the end of a process; give up if it never became ready."""
        self._become("waiting", reason)
        if not self.ready.done() and self.state.restarts + 1 >= _ATTEMPTS:
            self.ready.set_exception(StartError(f"{self.spec.name} {reason}"))

    def _ending(self, code: int) -> str:
        """Describe how a process ended, with its last log line unless it was killed."""
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"ended with status {code}{self._log.error_line()}"

    def _leave_nothing(self) -> None:
        """Kill what is left of the process group."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _become(self, state: str, reason: str) -> None:
        self.state.state = state
        self.state.reason = reason
        self.state.since = time.time()
        self._changed()
