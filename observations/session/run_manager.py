"""Starts observations and tracks them while they run; one Desk for each API process."""

import logging
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from threading import Lock, Thread

from core.errors import SuperTwinError
from core.linux.ssh.errors import RemoteLoginError
from core.settings.settings import Settings
from observations.cpus import Cpus
from observations.errors import LaunchError, TakenError
from observations.launch import Running, events
from observations.session.cpu_shield import Aside
from observations.session.host_queues import Lanes
from observations.session.program_start import lives, started, uid_of
from observations.session.repetition import Repetition, left_of
from observations.session.run_request import Wish
from observations.session.run_session import OVER, Session
from observations.session.session_journal import left_open

_LOG = logging.getLogger(__name__)

_LOOK_SECONDS, _SLOW_LOOK_SECONDS = 0.05, 1.0
_KEPT_SECONDS = 600.0  # how long an ended session can be followed
# A command ends at most this long after its runner was told to end it.
_ENDS_SECONDS = 10.0
# The supervisor kills a process that takes 15 s to end; requests may take 5 s of it.
_CLOSES_SECONDS = 5.0
_UNHEARD = "nothing was heard of it any more"
_KILLED = "SuperTwin was killed while it ran"


class Desk:
    """All sessions of an installation; methods may be called from any thread."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._cpus, self._aside = Cpus(), Aside(settings.home)
        self._lock = Lock()
        self._sessions: dict[str, Session] = {}
        self._running: dict[str, Running] = {}
        self._lanes = Lanes()
        # The time when a session that lost contact counts as ended.
        self._let_go: dict[str, float] = {}

    @property
    def sessions(self) -> list[Session]:
        """Sessions that run or ended recently; the oldest first."""
        with self._lock:
            return list(self._sessions.values())

    def find(self, id_: str) -> Session | None:
        """Return the session with an id; None if there is none."""
        with self._lock:
            return self._sessions.get(id_)

    def go_on(self) -> None:
        """Resume the sessions that the previous process left; call this before `begin`.

        Attended runs continue to report. Commands that ended with the previous process
        are recorded as interrupted; their CPUs stay reserved until the end is certain.
        If two sessions hold the same CPUs, both keep them and say so.
        """
        for id_, wish in left_open(self._settings.home):
            self._take_up(self._new(wish, id_))
        for session in self.sessions:
            self._step_aside(session.wish.asked.host)
            self._say_who_shares(session)
            if session.goes_on and not session.wish.attended:
                self.launch(session)
        for session in self.sessions:
            session.listen()  # attending processes could not report until now

    def begin(self, wish: Wish, goes_on: Callable[[], bool] | None) -> Session:
        """Return a session that is ready to run; wait for CPUs while ``goes_on()``.

        Without ``goes_on``, taken CPUs raise TakenError at once. Also raises what
        `Session.open` does. After an error, nothing is reserved.
        """
        session = self._new(wish, _new_id())
        try:
            self._take_cpus(session, goes_on)
            if goes_on and not goes_on():
                raise TakenError("who waited for these CPUs went away")
            session.open()
        except BaseException:
            self._give_back(session)
            raise
        with self._lock:
            self._sessions[session.id] = session
        return session

    def drop(self, session: Session) -> None:
        """Discard a session that was prepared but is not wanted any more."""
        session.close()
        with self._lock:
            self._sessions.pop(session.id, None)

    def launch(self, session: Session) -> None:
        """Run a session, here or on its host, in a separate thread."""
        name = f"observation-{session.id}"
        Thread(target=self._drive, args=(session,), name=name, daemon=True).start()

    def cancel(self, session: Session) -> None:
        """End a session's command; what was sampled is recorded."""
        session.cancel()
        if running := self._running.get(session.id):
            running.cancel()

    def tend(self) -> None:
        """End sessions that lost contact, and forget those that ended long ago."""
        self._step_aside(self._settings.host)
        for session in self.sessions:
            if session.is_silent:
                self._end_silent(session)
            if session.state == OVER and time.time() - session.ended > _KEPT_SECONDS:
                self._let_go.pop(session.id, None)
                with self._lock:
                    self._sessions.pop(session.id, None)

    def close(self) -> None:
        """End and record the runs of this process; the next one resumes attended runs.

        Runs on a host that hangs, such as one that ssh cannot reach, are recorded at
        the next start.
        """
        own = [one for one in self.sessions if not one.wish.attended]
        for session in own:
            session.cancel()
            self._lanes.submit(session.wish.asked.host, partial(self._stop, session))
        if late := self._lanes.wait(_CLOSES_SECONDS):
            _LOG.warning("%s: the next start records what ran there", ", ".join(late))
        for session in own:
            if session.wish.asked.host in late:
                self.cancel(session)

    def _stop(self, session: Session) -> None:
        """Record an interruption, then end the command: else it counts as cancelled."""
        session.close("SuperTwin was stopped")
        self.cancel(session)

    def _new(self, wish: Wish, id_: str) -> Session:
        beside = partial(self._lanes.submit, wish.asked.host)
        return Session(self._settings, wish, id_, beside, self._give_back)

    def _take_up(self, session: Session) -> None:
        """Resume a session with its CPUs; release them if its command has ended."""
        asked = session.wish.asked
        self._cpus.keep(asked.host, asked.cpus, session.id)
        try:
            session.go_on(left_of(self._settings.home, session.wish, session.id))
        except Exception:
            _LOG.exception("observation %s cannot be gone on with", session.id)
            session.give_up()
            self._once_ended(self._free, session)
            return
        with self._lock:
            self._sessions[session.id] = session
        if not session.goes_on:
            self._once_ended(self._bury, session)

    def _say_who_shares(self, session: Session) -> None:
        if shared := self._cpus.shared(session.wish.asked.host, session.id):
            session.shares = f"{shared}, too: they measure each other"
            session.problem = session.problem or session.shares
            _LOG.error("of observation %s: %s", session.id, session.shares)

    def _end_silent(self, session: Session) -> None:
        """End a session; hold its CPUs until it has ended or a time limit passed."""
        if session.id not in self._let_go:
            self._let_go[session.id] = time.monotonic() + _ENDS_SECONDS
            self.cancel(session)
        is_late = time.monotonic() > self._let_go[session.id]
        if session.id not in self._running or is_late:
            session.close(_UNHEARD)

    def _once_ended(self, work: Callable[[Session], None], session: Session) -> None:
        """Do the work in a thread if the command still runs, otherwise at once."""
        if self._lives(session):
            Thread(target=work, args=(session,), daemon=True).start()
        else:
            work(session)

    def _bury(self, session: Session) -> None:
        """Record a session that ended with its process, once its command is gone."""
        until = time.monotonic() + _ENDS_SECONDS
        while self._lives(session) and time.monotonic() < until:
            time.sleep(_LOOK_SECONDS)
        session.close(_KILLED)

    def _free(self, session: Session) -> None:
        """Release the CPUs of a session that cannot be resumed, once it has ended."""
        while self._lives(session):
            time.sleep(_SLOW_LOOK_SECONDS)
        self._give_back(session)

    def _lives(self, session: Session) -> bool:
        here = session.wish.asked.host == self._settings.host
        return here and lives(session.command)

    def _take_cpus(self, session: Session, goes_on: Callable[[], bool] | None) -> None:
        host, cpus = session.wish.asked.host, session.wish.asked.cpus
        queues = goes_on is not None
        while who := self._cpus.take(host, cpus, session.id, queues=queues):
            if goes_on is None or not goes_on():
                raise TakenError(f"{who}: wait for its end, or queue behind it")
            time.sleep(_LOOK_SECONDS)
        self._step_aside(host)

    def _give_back(self, session: Session) -> None:
        host = session.wish.asked.host
        if self._cpus.give_back(host, session.id):
            self._step_aside(host)

    def _step_aside(self, host: str) -> None:
        if host == self._settings.host:
            here = [one for one in self.sessions if one.wish.asked.host == host]
            commands = [one.command for one in here if one.wish.asked.cpus]
            self._aside.step(self._cpus.pinned(host), commands)

    def _drive(self, session: Session) -> None:
        try:
            while run := session.due:
                self._run(session, run)
        except (LaunchError, RemoteLoginError, SuperTwinError) as error:
            session.problem = str(error)
            session.close(str(error))
        except Exception as error:
            _LOG.exception("observation %s broke", session.id)
            session.close(str(error))
        finally:
            self._running.pop(session.id, None)

    def _run(self, session: Session, run: Repetition) -> None:
        known = run.said.count
        with started(self._settings, session.wish, run.folder) as running:
            self._running[session.id] = running
            session.listen()  # its runner could not report until now
            if session.is_cancelled:
                running.cancel()
            said = events(running, uid_of(session.wish))
            for event in islice(said, known, None):
                session.take([event])
                if event["event"] == "over":
                    running.let_go()


def _new_id() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
