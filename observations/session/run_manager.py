"""Starts observations and tracks them while they run: one manager per API process."""

import logging
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from threading import Lock, Thread

from core.errors import SuperTwinError
from core.settings.settings import Settings
from observations.cpus import Cpus
from observations.errors import CpusTakenError
from observations.launch import RunnerHandle, events
from observations.session.cpu_shield import CpuShield
from observations.session.host_queues import HostQueues
from observations.session.program_start import is_alive, start_program, uid_of
from observations.session.repetition import Repetition, unfinished_runs
from observations.session.run_request import RunRequest
from observations.session.run_session import OVER, RunSession
from observations.session.session_journal import open_requests

_LOG = logging.getLogger(__name__)

_LOOK_SECONDS, _SLOW_LOOK_SECONDS = 0.05, 1.0
_KEPT_SECONDS = 600.0  # how long an ended session can be followed
# A command ends at most this long after its runner was told to end it.
_ENDS_SECONDS = 10.0
# The supervisor kills a process that takes 15 s to end; requests may take 5 s of it.
_CLOSES_SECONDS = 5.0
_LOST_CONTACT = "nothing was heard of it any more"
_KILLED = "SuperTwin was killed while it ran"


class RunManager:
    """All sessions of an installation; methods may be called from any thread."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._cpus, self._cpu_shield = Cpus(), CpuShield(settings.home)
        self._lock = Lock()
        self._sessions: dict[str, RunSession] = {}
        self._running: dict[str, RunnerHandle] = {}
        self._queues = HostQueues()
        # The time when a session that lost contact counts as ended.
        self._end_deadlines: dict[str, float] = {}

    @property
    def sessions(self) -> list[RunSession]:
        """Sessions that run or ended recently; the oldest first."""
        with self._lock:
            return list(self._sessions.values())

    def find(self, id_: str) -> RunSession | None:
        """Return the session with an id; None if there is none."""
        with self._lock:
            return self._sessions.get(id_)

    def resume(self) -> None:
        """Resume the sessions that the previous process left; call this before `begin`.

        Attended runs continue to report. Commands that ended with the previous process
        are recorded as interrupted; their CPUs stay reserved until the end is certain.
        If two sessions hold the same CPUs, both keep them and say so.
        """
        for id_, run_request in open_requests(self._settings.home):
            self._restore(self._new(run_request, id_))
        for session in self.sessions:
            self._update_cpu_shield(session.run_request.spec.host)
            self._report_shared_cpus(session)
            if session.can_resume and not session.run_request.attended:
                self.launch(session)
        for session in self.sessions:
            session.reset_silence()  # attending processes could not report until now

    def begin(
        self, run_request: RunRequest, keep_waiting: Callable[[], bool] | None
    ) -> RunSession:
        """Return a session that is ready to run.

        Waits for CPUs while ``keep_waiting()`` is true; without it, CPUs that are taken
        raise CpusTakenError at once. Raises the errors of `RunSession.open`, too. After
        an error, nothing is reserved.
        """
        session = self._new(run_request, _new_id())
        try:
            self._take_cpus(session, keep_waiting)
            if keep_waiting and not keep_waiting():
                raise CpusTakenError(
                    "the client that waited for these CPUs has disconnected"
                )
            session.open()
        except BaseException:
            self._release_cpus(session)
            raise
        with self._lock:
            self._sessions[session.id] = session
        return session

    def drop(self, session: RunSession) -> None:
        """Discard a session that was prepared but is not wanted any more."""
        session.close()
        with self._lock:
            self._sessions.pop(session.id, None)

    def launch(self, session: RunSession) -> None:
        """Run a session, here or on its host, in a separate thread."""
        name = f"observation-{session.id}"
        Thread(
            target=self._run_session, args=(session,), name=name, daemon=True
        ).start()

    def cancel(self, session: RunSession) -> None:
        """End a session's command; what was sampled is recorded."""
        session.cancel()
        if running := self._running.get(session.id):
            running.cancel()

    def maintain(self) -> None:
        """End sessions that lost contact, and forget those that ended long ago."""
        self._update_cpu_shield(self._settings.host)
        for session in self.sessions:
            if session.is_silent:
                self._end_silent(session)
            if session.state == OVER and time.time() - session.ended > _KEPT_SECONDS:
                self._end_deadlines.pop(session.id, None)
                with self._lock:
                    self._sessions.pop(session.id, None)

    def close(self) -> None:
        """End and record the runs of this process; the next one resumes attended runs.

        Runs on a host that hangs, such as one that ssh cannot reach, are recorded at
        the next start.
        """
        own = [one for one in self.sessions if not one.run_request.attended]
        for session in own:
            session.cancel()
            self._queues.submit(
                session.run_request.spec.host, partial(self._stop, session)
            )
        if late := self._queues.wait(_CLOSES_SECONDS):
            _LOG.warning("%s: the next start records what ran there", ", ".join(late))
        for session in own:
            if session.run_request.spec.host in late:
                self.cancel(session)

    def _stop(self, session: RunSession) -> None:
        """Record an interruption, then end the command: else it counts as cancelled."""
        session.close("SuperTwin was stopped")
        self.cancel(session)

    def _new(self, run_request: RunRequest, id_: str) -> RunSession:
        submit = partial(self._queues.submit, run_request.spec.host)
        return RunSession(self._settings, run_request, id_, submit, self._release_cpus)

    def _restore(self, session: RunSession) -> None:
        """Resume a session with its CPUs; release them if its command has ended."""
        spec = session.run_request.spec
        self._cpus.keep(spec.host, spec.cpus, session.id)
        try:
            session.resume(
                unfinished_runs(self._settings.home, session.run_request, session.id)
            )
        except Exception:
            _LOG.exception("observation %s cannot be resumed", session.id)
            session.abandon()
            self._after_end(self._release_after_end, session)
            return
        with self._lock:
            self._sessions[session.id] = session
        if not session.can_resume:
            self._after_end(self._record_killed, session)

    def _report_shared_cpus(self, session: RunSession) -> None:
        if shared := self._cpus.shared(session.run_request.spec.host, session.id):
            session.shares = f"{shared}, too: they measure each other"
            session.problem = session.problem or session.shares
            _LOG.error("of observation %s: %s", session.id, session.shares)

    def _end_silent(self, session: RunSession) -> None:
        """End a session; hold its CPUs until it has ended or a time limit passed."""
        if session.id not in self._end_deadlines:
            self._end_deadlines[session.id] = time.monotonic() + _ENDS_SECONDS
            self.cancel(session)
        is_late = time.monotonic() > self._end_deadlines[session.id]
        if session.id not in self._running or is_late:
            session.close(_LOST_CONTACT)

    def _after_end(
        self, work: Callable[[RunSession], None], session: RunSession
    ) -> None:
        """Do the work in a thread if the command still runs, otherwise at once."""
        if self._is_alive(session):
            Thread(target=work, args=(session,), daemon=True).start()
        else:
            work(session)

    def _record_killed(self, session: RunSession) -> None:
        """Record a session that ended with its process, once its command is gone."""
        until = time.monotonic() + _ENDS_SECONDS
        while self._is_alive(session) and time.monotonic() < until:
            time.sleep(_LOOK_SECONDS)
        session.close(_KILLED)

    def _release_after_end(self, session: RunSession) -> None:
        """Release the CPUs of a session that cannot be resumed, once it has ended."""
        while self._is_alive(session):
            time.sleep(_SLOW_LOOK_SECONDS)
        self._release_cpus(session)

    def _is_alive(self, session: RunSession) -> bool:
        local = session.run_request.spec.host == self._settings.host
        return local and is_alive(session.command)

    def _take_cpus(
        self, session: RunSession, keep_waiting: Callable[[], bool] | None
    ) -> None:
        host, cpus = session.run_request.spec.host, session.run_request.spec.cpus
        queues = keep_waiting is not None
        while reason := self._cpus.take(host, cpus, session.id, queues=queues):
            if keep_waiting is None or not keep_waiting():
                raise CpusTakenError(f"{reason}: wait for its end, or queue behind it")
            time.sleep(_LOOK_SECONDS)
        self._update_cpu_shield(host)

    def _release_cpus(self, session: RunSession) -> None:
        host = session.run_request.spec.host
        if self._cpus.release(host, session.id):
            self._update_cpu_shield(host)

    def _update_cpu_shield(self, host: str) -> None:
        if host == self._settings.host:
            local = [one for one in self.sessions if one.run_request.spec.host == host]
            commands = [one.command for one in local if one.run_request.spec.cpus]
            self._cpu_shield.update(self._cpus.pinned(host), commands)

    def _run_session(self, session: RunSession) -> None:
        try:
            while run := session.due:
                self._run(session, run)
        except SuperTwinError as error:
            session.problem = str(error)
            session.close(str(error))
        except Exception as error:
            _LOG.exception("observation %s broke", session.id)
            session.close(str(error))
        finally:
            self._running.pop(session.id, None)

    def _run(self, session: RunSession, run: Repetition) -> None:
        known = run.log.count
        with start_program(self._settings, session.run_request, run.folder) as running:
            self._running[session.id] = running
            session.reset_silence()  # its runner could not report until now
            if session.is_cancelled:
                running.cancel()
            events_left = events(running, uid_of(session.run_request))
            for event in islice(events_left, known, None):
                session.take([event])
                if event["event"] == "over":
                    running.release()


def _new_id() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
