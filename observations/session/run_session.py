"""The state of a request in progress: its plan and the events of its runs."""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from threading import RLock

from core.settings.settings import Settings
from core.stores.datasets import dataset
from core.stores.errors import QueriesError
from observations.launch import RunnerEvent
from observations.origin import plan_of
from observations.record import CANCELLED, Run, run_of
from observations.session.program_start import is_alive
from observations.session.repetition import (
    PROGRAM,
    Repetition,
    begin_run,
    discard_unstarted,
)
from observations.session.run_request import RunRequest
from observations.session.run_sampling import (
    RunSampling,
    continue_sampling,
    sample_until_end,
)
from observations.session.session_journal import note_failure, record_open, remove_open
from sampling.slower_sources import notes, slower_sources

_LOG = logging.getLogger(__name__)

WAITING, RUNNING, OVER = "waiting", "running", "over"
# Runners send a beat every second; after this long without one, a runner is gone.
SILENT_SECONDS = 15.0
# How long an ended command stays a zombie, so that its counters can be read.
_LOOK_SECONDS = 2.0


class RunSession:
    """All runs of a request; ``id`` is that of its only run or of the group.

    Sampling continues until the last run is recorded. ``submit`` does work in the
    background, one item after another. ``on_over`` is called when no run is left,
    before recording is complete. ``shares`` names another run on the same CPUs.
    Methods may be called from any thread.
    """

    def __init__(
        self,
        settings: Settings,
        run_request: RunRequest,
        id_: str,
        submit: Callable[[Callable[[], None]], None],
        on_over: Callable[["RunSession"], None],
    ) -> None:
        self.id, self.run_request = id_, run_request
        self.began, self.ended = time.time(), 0.0
        self.state = WAITING
        self.problem = self.shares = ""
        self.notes: list[str] = []
        self.is_cancelled = False
        self.ids: list[str] = []
        self.runs: list[Run] = []
        self._repetitions: list[Repetition] = []
        self._earlier = 0
        self._settings = settings
        self._submit = submit
        self._on_over = on_over
        self._resources = ExitStack()
        self._lock = RLock()
        self._last_heard = time.monotonic()
        self._sampling = RunSampling(settings, run_request.spec)

    @property
    def count(self) -> int:
        """The number of events of its runs."""
        return self._earlier + (self._run.log.count if self._run else 0)

    def since(self, number: int) -> list[tuple[int, RunnerEvent]]:
        """Return the events after a number, each with its number and its ``run``."""
        found: list[tuple[int, RunnerEvent]] = []
        before = 0
        for run in self._repetitions[:] if number < self.count else []:
            for at, event in run.log.since(number - before):
                found.append((before + at, {**event, "run": run.id}))
            before += run.log.count
        return found

    @property
    def due(self) -> Repetition | None:
        """The run that must be run or followed next."""
        run = self._run
        return None if self.state != RUNNING or run is None or run.is_over else run

    @property
    def is_silent(self) -> bool:
        """Whether it runs, but was neither heard of nor seen for too long."""
        quiet = time.monotonic() - self._last_heard > SILENT_SECONDS
        return self.state == RUNNING and quiet and not self._is_alive

    @property
    def last(self) -> RunnerEvent:
        """The last event of its latest run; empty if there is none."""
        return self._run.log.last if self._run else {}

    @property
    def command(self) -> RunnerEvent:
        """The first event of its latest run, which names the process of the command."""
        return self._run.log.first if self._run else {}

    @property
    def can_resume(self) -> bool:
        """Whether its runs continued without the process that began them."""
        started_here = self._is_local and any(
            run.was_started for run in self._repetitions
        )
        return self.run_request.attended or started_here

    def open(self) -> None:
        """Start sampling and prepare the first run.

        Raises the errors of `sample_until_end`; nothing is held then.
        """
        record_open(self._settings.home, self.id, self.run_request)
        try:
            self._sampling = self._resources.enter_context(
                sample_until_end(
                    self._settings, self.run_request, plan_of(self.id), _LOG.debug
                )
            )
            self._next()
        except BaseException:
            self._resources.close()
            self._forget(self._settings.home, self.id)
            raise
        self._submit(self._note_slower_sources)
        # Starting to sample may have taken long, above all on another host.
        self.reset_silence()
        self.state = RUNNING

    def resume(self, runs: Sequence[Repetition]) -> None:
        """Resume a session of a previous process, which began these runs."""
        for run in runs:
            self._add(run)
        # If the runs did not continue, their counters cannot be read any more.
        first = runs[:1] if self.can_resume else ()
        names = {name for run in first for name, _ in run.before.values}
        self._sampling = self._resources.enter_context(
            continue_sampling(
                self._settings, self.run_request, plan_of(self.id), names, _LOG.debug
            )
        )
        self.state = RUNNING
        for run in runs:
            if run.is_over:
                self._finish(run)
        if runs and "start_ns" in runs[0].log.first:
            self.began = runs[0].log.first["start_ns"] / 1e9
        if runs[-1].is_over if runs else self.run_request.attended:
            self._start_next()

    def reset_silence(self) -> None:
        """Restart the silence timeout, after a time in which nothing could be heard."""
        with self._lock:
            self._last_heard = time.monotonic()

    def program(self) -> bytes | None:
        """Return the program of the next run; None if it has started or none is due."""
        with self._lock:
            self._last_heard = time.monotonic()
            run = self._run
            if self.state != RUNNING or run is None or run.log.count:
                return None
            return (run.folder / PROGRAM).read_bytes()

    def take(self, events: Sequence[RunnerEvent], first: int | None = None) -> None:
        """Take events of the runner; read the counters of an ended command first.

        ``first`` is the number of events that were sent before these: known ones are
        skipped.
        """
        with self._lock:
            self._last_heard = time.monotonic()
            known = 0 if first is None else max(self.count - first, 0)
            for event in events[known:]:
                self._take(event)

    def cancel(self) -> None:
        """Start no further run; the caller ends the current one."""
        self.is_cancelled = True

    def close(self, why: str = "") -> None:
        """Start no further run; record an unfinished one as interrupted (``why``)."""
        with self._lock:
            if self.state != OVER:
                self.state, self.ended = OVER, time.time()
                if self._run and not self._run.is_over:
                    self._record(self._run, why or "its observer went away")
                self._submit(partial(self._release, self._forget))
                self._on_over(self)

    def abandon(self) -> None:
        """Release everything; note whether the next process is to try again."""
        with self._lock:
            self.state, self.ended = OVER, time.time()
        self._submit(partial(self._release, note_failure))

    @property
    def _is_alive(self) -> bool:
        """Whether the run is known to be alive on this machine without events."""
        # For a local run, the lock of the runner's file shows when it has ended.
        return self._is_local and (
            not self.run_request.attended or is_alive(self.command)
        )

    @property
    def _is_local(self) -> bool:
        return self.run_request.spec.host == self._settings.host

    @property
    def _run(self) -> Repetition | None:
        return self._repetitions[-1] if self._repetitions else None

    def _take(self, event: RunnerEvent) -> None:
        run = self._run
        if run is None or self.state == OVER:
            return
        if event["event"] == "over" and not self._is_too_late(event):
            run.snapshot_after(self._sampling.snapshot())
        run.take(event)
        if run.is_over:
            self._finish(run)
            self._start_next()

    def _is_too_late(self, on_over: RunnerEvent) -> bool:
        """Whether the counters are gone because the event came too late."""
        late = time.time() - on_over.get("ns", 0) / 1e9
        # The clocks of two hosts may differ.
        return self._is_local and late > _LOOK_SECONDS

    def _finish(self, run: Repetition) -> None:
        self.problem = run.refusal or self.shares
        if not run.refusal:
            self.runs.append(run_of(run.log.events))
            self._record(run, "")

    def _start_next(self) -> None:
        """Begin the next run, if there is one."""
        self.is_cancelled |= bool(self.runs) and self.runs[-1].outcome == CANCELLED
        refused = self._run is not None and self._run.refusal
        if (
            self.is_cancelled
            or refused
            or len(self.ids) == self.run_request.spec.repeat
        ):
            self.close()
        else:
            self._next()

    def _next(self) -> None:
        home, number = self._settings.home, len(self.ids) + 1
        before = self._sampling.snapshot()
        self._add(begin_run(home, self.run_request, self.id, number, before))

    def _add(self, run: Repetition) -> None:
        self._earlier = self.count
        self._repetitions.append(run)
        self.ids.append(run.id)

    def _note_slower_sources(self) -> None:
        spec = self.run_request.spec
        with suppress(QueriesError), dataset(self._settings, "twin") as twin:
            slower = slower_sources(self._settings, twin, spec.host, plan_of(self.id))
            self.notes = [*notes(slower, spec.period_ms)]

    def _record(self, run: Repetition, broken: str) -> None:
        if not run.is_recorded:
            self._submit(partial(self._recorded, run, broken))

    def _recorded(self, run: Repetition, broken: str) -> None:
        try:
            run.record(self._settings, self._sampling, broken)
        except Exception as error:
            _LOG.exception("observation %s is not recorded", run.id)
            self.problem = f"{run.id} is not recorded: {error}"

    def _release(self, then: Callable[[Path, str], None]) -> None:
        """Stop sampling; if this fails, the next process tries again."""
        try:
            self._resources.close()
        except Exception as error:
            _LOG.exception("observation %s leaves a plan behind", self.id)
            self.problem = self.problem or str(error)
        else:
            then(self._settings.home, self.id)

    def _forget(self, home: Path, id_: str) -> None:
        # Remove these first: if we are killed here, the next process continues.
        discard_unstarted(home, self.run_request, id_, self._repetitions)
        if all(run.is_recorded for run in self._repetitions):
            remove_open(home, id_)
