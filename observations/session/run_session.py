"""The state of a request in progress: its plan and the events of its runs."""

import time
from collections.abc import Callable, Sequence
from threading import Lock

from core.settings.settings import Settings
from observations.errors import (
    CpusTakenError,
    LaunchError,
    RunInterruptedError,
    RunLostError,
)
from observations.events import check_order
from observations.launch import RunnerEvent, RunnerHandle, is_alive
from observations.record import Outcome, Run, RunRequest
from observations.session.cpus import Cpus
from observations.session.passes import earlier_passes
from observations.session.repetition import PROGRAM, Repetition, Repetitions
from observations.session.run_recorder import HostQueues, RunRecorder
from observations.session.run_state import Event, RunState, State

# Runners send a beat every second; after this long without one, a runner is gone.
SILENT_SECONDS = 15.0
# How long an ended command stays a zombie, so that its counters can be read.
_COUNTERS_SECONDS = 2.0
_LOOK_SECONDS = 0.05
_KILLED = "SuperTwin was killed while it ran"


class RunSession:
    """All runs of a request; ``id`` is that of its only run or of the group.

    The CPUs are released when no command runs any more, the plan and the journal entry
    when all runs are recorded. Methods may be called from any thread.
    """

    def __init__(
        self,
        settings: Settings,
        run_request: RunRequest,
        id_: str,
        cpus: Cpus,
        queues: HostQueues,
    ) -> None:
        self.id, self.run_request = id_, run_request
        self.began, self.ended = time.time(), 0.0
        self.runs: list[Run] = []
        self.repetitions = Repetitions()
        self.status = RunState(id_)
        self._settings, self._cpus = settings, cpus
        self._recorder = RunRecorder(settings, run_request, id_, self.status, queues)
        self._runner: RunnerHandle | None = None
        # Held while counters are read, which may take long; the state has its own lock.
        self._lock = Lock()
        self._last_heard = time.monotonic()

    @property
    def host(self) -> str:
        """The host of its runs."""
        return self.run_request.spec.host

    @property
    def is_local(self) -> bool:
        """Whether its runs are on this machine."""
        return self.host == self._settings.host

    @property
    def state(self) -> State:
        """The state now; docs/reference/observations.md explains it."""
        return self.status.now

    @property
    def notes(self) -> list[str]:
        """What users should know of the sources that are sampled."""
        return self._recorder.notes

    @property
    def due(self) -> Repetition | None:
        """The run that must be run or followed next."""
        run = self.repetitions.latest
        return run if self.state.is_followed and run and not run.is_over else None

    @property
    def is_unwanted(self) -> bool:
        """Whether a command that still runs must be ended."""
        run = self.repetitions.latest
        is_left = run is not None and not run.is_over
        return self.state.is_ending or (self.state.is_over and is_left)

    @property
    def is_silent(self) -> bool:
        """Whether contact with its command is lost: no event for too long.

        A command that is known to run on this machine is not silent.
        """
        if self._recorder.changes_pass:  # no command runs
            return False
        last_heard = max(self._last_heard, self._recorder.changed_at)
        longest = SILENT_SECONDS
        if self._runner and self.state is State.OPENED:
            longest += self.run_request.spec.preparation_seconds
        quiet = time.monotonic() - last_heard > longest
        # For a run that we launched here, the lock of the runner's file shows its end.
        is_watched = self.is_local and not self.run_request.attended
        return self.state.is_followed and quiet and not (is_watched or self.is_alive)

    @property
    def is_alive(self) -> bool:
        """Whether its command is known to exist on this machine."""
        return self.is_local and is_alive(self.repetitions.command)

    @property
    def can_resume(self) -> bool:
        """Whether its runs continued without the process that began them."""
        was_started = any(run.was_started for run in self.repetitions.all)
        return self.run_request.attended or (self.is_local and was_started)

    def reserve(self, keep_waiting: Callable[[], bool] | None) -> None:
        """Reserve its CPUs; while they are taken, wait as long as ``keep_waiting()``.

        Raises CpusTakenError.
        """
        spec, queues = self.run_request.spec, keep_waiting is not None
        while taken := self._cpus.take(spec.host, spec.cpus, self.id, queues=queues):
            if keep_waiting is None or not keep_waiting():
                raise CpusTakenError(f"{taken}: add --wait, or choose other CPUs")
            if self.state is State.REQUESTED:
                self.status.change(Event.WAIT)
            time.sleep(_LOOK_SECONDS)
        if keep_waiting and not keep_waiting():
            raise CpusTakenError(
                "the client that waited for these CPUs has disconnected"
            )

    def open(self) -> None:
        """Start sampling and prepare the first run.

        Raises the errors of `RunRecorder.open`; nothing but the CPUs is held then.
        """
        self.repetitions.add(self._recorder.open())
        # Starting to sample may have taken long, above all on another host.
        self.reset_silence()
        self.status.change(Event.OPEN)

    def refuse(self) -> None:
        """Give up a request that could not be opened."""
        self.status.change(Event.REFUSE)
        self._release_cpus()

    def resume(self, runs: Sequence[Repetition]) -> None:
        """Resume a session of a previous process, which began these runs.

        If the runs did not continue, the session is interrupted; `close` records it.
        """
        for run in runs:
            self.repetitions.add(run)
        # If the runs did not continue, their counters cannot be read any more.
        latest = runs[-1:] if self.can_resume else ()
        names = {name for run in latest for name, _ in run.before.values}
        self._recorder.resume(names, max(len(runs), 1))
        if runs and "start_ns" in runs[0].log.first:
            self.began = runs[0].log.first["start_ns"] / 1e9
        for run in runs:
            if run.is_over:
                self._finish(run)
        if self.can_resume:
            self._go_on()
        else:
            self.interrupt(_KILLED)

    def reset_silence(self) -> None:
        """Restart the silence timeout, after a time in which no event could arrive."""
        self._last_heard = time.monotonic()

    def program(self) -> bytes | None:
        """Return the program of the next run; None if it has started or none is due."""
        with self._lock:
            self.reset_silence()
            run = self.due
            if run is None or run.log.count:
                return None
            return (run.folder / PROGRAM).read_bytes()

    def follow(self, runner: RunnerHandle | None) -> None:
        """Use this runner to end the command; end the command now if it is unwanted."""
        self._runner = runner
        self.reset_silence()  # it could not report until now
        if runner and self.is_unwanted:
            runner.cancel()

    def take(self, events: Sequence[RunnerEvent], first: int | None = None) -> None:
        """Take events of the runner; read the counters of an ended command first.

        ``first`` is the number of events that were sent before these: known ones are
        skipped. Raises RunnerEventError, and takes none, if they are out of order.
        """
        with self._lock:
            known = 0 if first is None else max(self.repetitions.event_count - first, 0)
            if not self.state.is_over:  # then it ignores further events
                check_order(self.repetitions.last_event, events[known:])
            self.reset_silence()
            for event in events[known:]:
                self._take(event)

    def cancel(self) -> None:
        """End the command and start no further run; what was sampled is recorded."""
        self.status.change(Event.CANCEL)
        self._end_command()

    def lose(self) -> None:
        """End the command, because contact with its runner is lost."""
        seconds = time.monotonic() - self._last_heard
        runner = f"the runner on {self.host}"
        problem = f"lost contact with {runner} (last event {seconds:.0f} s ago)"
        if self.status.change(Event.LOSE, RunLostError(problem)):
            self._end_command()

    def interrupt(self, reason: str) -> None:
        """Start no further run; `close` then records the current one."""
        self.status.change(Event.INTERRUPT, RunInterruptedError(reason))

    def fail(self, error: Exception) -> None:
        """End the session, because its runner failed."""
        with self._lock:
            if not self.state.is_over:
                self._end(error)

    def close(self) -> None:
        """Start no further run; record an unfinished one as it is."""
        with self._lock:
            if not self.state.is_over:
                self._end()

    def abandon(self) -> None:
        """Release all but the CPUs; note the failure, for the next process to see."""
        self.interrupt("it cannot be resumed")
        self._recorder.abandon()

    def _go_on(self) -> None:
        """Continue the last run of a previous process."""
        if self.repetitions.latest is None:
            self._prepare()
        self.status.change(Event.OPEN)
        run = self.repetitions.all[-1]
        if run.has_run:
            self.status.change(Event.START)
        if run.is_over:
            self._start_next()

    def _take(self, event: RunnerEvent) -> None:
        run = self.repetitions.latest
        if run is None or self.state.is_over:
            return
        if event["event"] == "over" and not self._is_too_late(event):
            run.snapshot_after(self._recorder.snapshot())
        run.take(event)
        if event["event"] == "started":
            self.status.change(Event.START)
        if run.is_over:
            self._finish(run)
            self._start_next()

    def _is_too_late(self, on_over: RunnerEvent) -> bool:
        """Whether the counters are gone because the event came too late."""
        late = time.time() - on_over.get("ns", 0) / 1e9
        # The clocks of two hosts may differ.
        return self.is_local and late > _COUNTERS_SECONDS

    def _finish(self, run: Repetition) -> None:
        if run.refusal:
            self.status.problem = LaunchError(run.refusal)
        else:
            self.runs.append(run.result)
            is_cut_short = self.state in (State.LOST, State.INTERRUPTED)
            problem = self.status.problem if is_cut_short else None
            self._recorder.record(
                run, problem, earlier_passes(run, self.repetitions.all)
            )

    def _start_next(self) -> None:
        """Begin the next run; if there is none, end the session."""
        was_cancelled = self.runs and self.runs[-1].outcome is Outcome.CANCELLED
        is_last = len(self.repetitions.all) == self.run_request.spec.runs
        goes_on = self.state is State.RUNNING and not was_cancelled
        is_ready = goes_on and self._recorder.change_pass(self.repetitions.all)
        if is_ready and not is_last:
            self._prepare()
            if self.status.change(Event.NEXT):
                return
        self._end()

    def _end(self, failure: Exception | None = None) -> None:
        """Release the CPUs; record what ran and release the rest in the background.

        ``failure`` is the error of the runner.
        """
        run, status = self.repetitions.latest, self.status
        # Do both before the state changes: `maintain` forgets a session by its time of
        # end, and a client that sees the end may request the same CPUs at once.
        self.ended = time.time()
        self._release_cpus()
        if self.state is not State.OPENED or not status.change(Event.REFUSE, failure):
            if failure:
                status.change(Event.LOSE, failure)
            status.change(Event.END)
        if run and not run.is_over:
            self._recorder.record(run, status.problem)
        self._recorder.release(self.repetitions.all)

    def _end_command(self) -> None:
        if runner := self._runner:
            runner.cancel()

    def _prepare(self) -> None:
        """Prepare the next run."""
        self.repetitions.add(self._recorder.prepare(len(self.repetitions.all) + 1))

    def _release_cpus(self) -> None:
        self._cpus.release(self.host, self.id)
