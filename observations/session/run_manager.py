"""Starts observations and tracks them while they run: one manager per API process."""

import logging
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from threading import Thread

from core.errors import SuperTwinError
from core.settings.settings import Settings
from observations.errors import CpusSharedError
from observations.launch import events
from observations.record import RunRequest
from observations.session.cpus import Cpus, CpuShield
from observations.session.program_start import start_program, uid_of
from observations.session.repetition import Repetition, unfinished_runs
from observations.session.run_recorder import HostQueues
from observations.session.run_session import RunSession
from observations.session.run_state import State
from observations.session.session_journal import open_requests

_LOG = logging.getLogger(__name__)

_LOOK_SECONDS, _SLOW_LOOK_SECONDS = 0.05, 1.0
_KEPT_SECONDS = 600.0  # how long an ended session can be followed
# A command ends at most this long after its runner was told to end it.
_ENDS_SECONDS = 10.0
# The supervisor kills a process that takes 15 s to end; requests may take 5 s of it.
_CLOSES_SECONDS = 5.0
_STOPPED = "SuperTwin was stopped"


class RunManager:
    """All sessions of an installation; methods may be called from any thread."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._cpus, self._cpu_shield = Cpus(), CpuShield(settings.home)
        # Used by single operations only, which are atomic.
        self._sessions: dict[str, RunSession] = {}
        self._queues = HostQueues()

    @property
    def sessions(self) -> list[RunSession]:
        """Sessions that run or ended recently; the oldest first."""
        return list(self._sessions.values())

    def find(self, id_: str) -> RunSession | None:
        """Return the session with an id; None if there is none."""
        return self._sessions.get(id_)

    def resume(self) -> None:
        """Resume the sessions that the previous process left; call this before `begin`.

        Clients that attend their own command continue to report. A command that cannot
        be resumed is recorded as interrupted; its CPUs stay reserved until its end is
        certain. If two sessions hold the same CPUs, both keep them, and their problem
        says so.
        """
        for id_, run_request in open_requests(self._settings.home):
            self._restore(self._new(run_request, id_))
        self._update_cpu_shield()
        for session in self.sessions:
            self._report_shared_cpus(session)
            if session.can_resume and not session.run_request.attended:
                self.launch(session)
        for session in self.sessions:
            session.reset_silence()  # clients could not report until now

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
            session.reserve(keep_waiting)
            self._update_cpu_shield()
            session.open()
        except BaseException:
            session.refuse()
            self._update_cpu_shield()
            raise
        self._sessions[session.id] = session
        return session

    def drop(self, session: RunSession) -> None:
        """Discard a session that was prepared but is not wanted any more."""
        session.close()
        self._sessions.pop(session.id, None)

    def launch(self, session: RunSession) -> None:
        """Run a session, here or on its host, in a separate thread."""
        name = f"observation-{session.id}"
        Thread(
            target=self._run_session, args=(session,), name=name, daemon=True
        ).start()

    def maintain(self) -> None:
        """End sessions that lost contact, and forget those that ended long ago."""
        self._update_cpu_shield()
        for session in self.sessions:
            if session.is_silent:
                self._end_silent(session)
            if session.state.is_over and time.time() - session.ended > _KEPT_SECONDS:
                self._sessions.pop(session.id, None)

    def close(self) -> None:
        """End and record the runs of this process; the next one resumes attended runs.

        Runs on a host that hangs, such as one that ssh cannot reach, are recorded at
        the next start.
        """
        own = [one for one in self.sessions if not one.run_request.attended]
        for session in own:
            session.interrupt(_STOPPED)
            self._queues.submit(session.host, partial(_stop, session))
        if late := self._queues.wait(_CLOSES_SECONDS):
            _LOG.warning("%s: the next start records what ran there", ", ".join(late))
        for session in own:
            if session.host in late:
                session.cancel()
        # `maintain` does this while the API runs.
        self._update_cpu_shield()

    def _new(self, run_request: RunRequest, id_: str) -> RunSession:
        return RunSession(self._settings, run_request, id_, self._cpus, self._queues)

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
        self._sessions[session.id] = session
        if session.state is State.INTERRUPTED:
            self._after_end(self._record_killed, session)

    def _report_shared_cpus(self, session: RunSession) -> None:
        if shared := self._cpus.shared(session.host, session.id):
            wrong = f"{shared} as well, so they influence each other's measurements"
            session.status.problem = session.status.problem or CpusSharedError(wrong)
            _LOG.error("of observation %s: %s", session.id, wrong)

    def _end_silent(self, session: RunSession) -> None:
        """End a session; hold its CPUs until it has ended or a time limit passed."""
        session.lose()
        is_late = session.status.seconds > _ENDS_SECONDS
        if session.run_request.attended or is_late:
            session.close()

    def _after_end(
        self, work: Callable[[RunSession], None], session: RunSession
    ) -> None:
        """Do the work in a thread if the command still runs, otherwise at once."""
        if session.is_alive:
            Thread(target=work, args=(session,), daemon=True).start()
        else:
            work(session)

    def _record_killed(self, session: RunSession) -> None:
        """Record a session that ended with its process, once its command is gone."""
        until = time.monotonic() + _ENDS_SECONDS
        while session.is_alive and time.monotonic() < until:
            time.sleep(_LOOK_SECONDS)
        session.close()

    def _release_after_end(self, session: RunSession) -> None:
        """Release the CPUs of a session that cannot be resumed, once it has ended."""
        while session.is_alive:
            time.sleep(_SLOW_LOOK_SECONDS)
        self._cpus.release(session.host, session.id)

    def _update_cpu_shield(self) -> None:
        pinned = self._cpus.pinned(self._settings.host)
        local = [one for one in self.sessions if one.is_local]
        with_cpus = [one for one in local if one.run_request.spec.cpus]
        self._cpu_shield.update(pinned, [one.repetitions.command for one in with_cpus])

    def _run_session(self, session: RunSession) -> None:
        try:
            while run := session.due:
                self._run(session, run)
        except Exception as error:
            if not isinstance(error, SuperTwinError):
                _LOG.exception("observation %s broke", session.id)
            session.fail(error)
        finally:
            session.follow(None)

    def _run(self, session: RunSession, run: Repetition) -> None:
        known = run.log.count
        with start_program(self._settings, session.run_request, run.folder) as runner:
            session.follow(runner)
            events_left = events(runner, uid_of(session.run_request))
            for event in islice(events_left, known, None):
                session.take([event])
                if event["event"] == "over":
                    runner.release()


def _stop(session: RunSession) -> None:
    """Record an interruption, then end the command.

    In the other order, the end of the command would count as a cancellation.
    """
    session.close()
    session.cancel()


def _new_id() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
