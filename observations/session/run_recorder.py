"""Samples during the runs of a request, and records them in the background."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from threading import Condition, Thread
from typing import Any

from core.errors import SuperTwinError, error_code
from core.settings.settings import Settings
from core.stores.datasets import dataset
from observations.errors import NotRecordedError
from observations.record import Observation, Run, RunRequest, plan_of
from observations.regions.counting import figures_of
from observations.regions.regions import not_recorded, regions_of
from observations.session.counter_snapshots import CounterSnapshot
from observations.session.pass_counts import describe_agreement, describe_passes
from observations.session.passes import check_completed
from observations.session.repetition import Repetition, begin_run, discard_unstarted
from observations.session.run_sampling import RunSampling
from observations.session.run_state import Event, RunState, State
from observations.session.session_journal import (
    add_open_request,
    note_failure,
    remove_open_request,
)
from observations.store import keep_observation
from ontology.iris import Iris

_LOG = logging.getLogger(__name__)

# Recording waits for the last samples, which takes a few seconds.
_RECORDED_SECONDS, _LOOK_SECONDS = 30.0, 0.02


class HostQueues:
    """Background work in one queue for each host: a hanging host delays no other.

    A host has a thread while it has work. These threads do not delay the exit of the
    process. Methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._waiting: dict[str, deque[Callable[[], None]]] = {}

    def submit(self, host: str, work: Callable[[], None]) -> None:
        """Add work to a host's queue; its exceptions are logged."""
        with self._changed:
            if host in self._waiting:
                self._waiting[host].append(work)
                return
            self._waiting[host] = deque((work,))
        name = f"recorder-{host}"
        Thread(target=self._work, args=(host,), name=name, daemon=True).start()

    def wait(self, seconds: float) -> list[str]:
        """Wait up to ``seconds`` for all work; return the hosts with work left."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, seconds)
            return sorted(self._waiting)

    def _work(self, host: str) -> None:
        while work := self._next(host):
            try:
                work()
            except Exception:
                _LOG.exception("background work for %s failed", host)

    def _next(self, host: str) -> Callable[[], None] | None:
        with self._changed:
            if self._waiting[host]:
                return self._waiting[host].popleft()
            del self._waiting[host]
            self._changed.notify_all()
            return None


class RunRecorder:
    """Holds the plan and the journal entry of a session until its runs are recorded.

    Recording and releasing are done in the queue of the host, one after the other.
    """

    def __init__(
        self,
        settings: Settings,
        run_request: RunRequest,
        id_: str,
        status: RunState,
        queues: HostQueues,
    ) -> None:
        self._settings, self._home = settings, settings.home
        self._run_request, self._id = run_request, id_
        self._status = status
        self._submit = partial(queues.submit, run_request.spec.host)
        self._sampling = self._sampling_of(1)
        # Whether a pass follows another now, and when one last did.
        self.changes_pass, self.changed_at = False, 0.0
        self._about_passes = describe_passes(run_request.spec)

    @property
    def notes(self) -> list[str]:
        """What users should know of the sources that are sampled, and of the passes."""
        return [*self._sampling.notes, *self._about_passes]

    def open(self) -> Repetition:
        """Start sampling and prepare the first run.

        Raises the errors of `RunSampling.start`; nothing is held then.
        """
        add_open_request(self._home, self._id, self._run_request)
        try:
            self._sampling.start()
            return self.prepare(1)
        except BaseException:
            self._sampling.stop()
            self._forget(())
            raise

    def resume(self, names: Iterable[str], number: int) -> None:
        """Continue to sample these metrics for run ``number`` of a previous process."""
        self._sampling = self._sampling_of(number)
        self._sampling.resume(names)

    def prepare(self, number: int) -> Repetition:
        """Prepare run ``number`` of the request."""
        before = self.snapshot()
        events = self._sampling.figures.region_counting.events
        request = self._run_request
        return begin_run(self._home, request, self._id, number, before, events)

    def change_pass(self, runs: Sequence[Repetition]) -> bool:
        """Record the last of these runs, then count the events of the next one.

        Without passes, nothing changes. If it fails, ``status`` has the problem, and
        nothing is sampled.
        """
        spec = self._run_request.spec
        if not spec.passes:
            return True
        self.changes_pass = True
        try:
            self._wait_until_recorded(runs[-1])
            if len(runs) < spec.runs:
                check_completed(runs[-1])
                # First the plan of the pass ends, because the new one has its name.
                self._sampling.stop()
                self._sampling = self._sampling_of(len(runs) + 1)
                self._sampling.start()
        except SuperTwinError as error:
            self._status.problem = error
            return False
        finally:
            self.changed_at = time.monotonic()
            self.changes_pass = False
        return True

    def _wait_until_recorded(self, run: Repetition) -> None:
        """Wait until a run is recorded; raises NotRecordedError."""
        until = time.monotonic() + _RECORDED_SECONDS
        while not run.is_recorded:
            if isinstance(problem := self._status.problem, NotRecordedError):
                raise problem
            if time.monotonic() > until:
                late = f"{run.id} is not recorded after {_RECORDED_SECONDS:.0f} s"
                raise NotRecordedError(late)
            time.sleep(_LOOK_SECONDS)

    def snapshot(self) -> CounterSnapshot:
        """Read all counters now."""
        return self._sampling.snapshot()

    def record(
        self,
        run: Repetition,
        problem: Exception | None = None,
        earlier: Sequence[Repetition] = (),
    ) -> None:
        """Record a run, unless it is recorded; ``problem`` ended it early.

        If it is the last pass of a round, ``earlier`` are the other passes.
        """
        if not run.is_recorded:
            code = error_code(problem) if problem else ""
            self._submit(partial(self._record, run, code, earlier))

    def release(self, runs: Sequence[Repetition]) -> None:
        """Release everything once these runs, all of the session, are recorded."""
        self._submit(partial(self._release, partial(self._forget, runs)))

    def abandon(self) -> None:
        """Release the plan; note the failure, for the next process to see."""
        note = partial(note_failure, self._home, self._id)
        self._submit(partial(self._release, note))

    def _record(
        self, run: Repetition, problem_code: str, earlier: Sequence[Repetition]
    ) -> None:
        try:
            self._write(run, problem_code, earlier)
        except Exception as error:
            _LOG.exception("observation %s is not recorded", run.id)
            text = f"{run.id} is not recorded: {error}"
            self._status.problem = NotRecordedError(text)

    def _write(
        self, run: Repetition, problem_code: str, earlier: Sequence[Repetition]
    ) -> None:
        """Write the graph of a run once all samples have arrived.

        Raises NotRecordedError and the errors of the stores.
        """
        result, snapshots, sampling = run.result, run.snapshots, self._sampling
        summaries = sampling.summaries(result, snapshots, run.log.pids.keys())
        figures, agreement = (
            sampling.figures.derived(result, snapshots, summaries),
            None,
        )
        if earlier:
            combined, agreement = sampling.figures.combined([*earlier, run])
            figures += combined
            self._about_passes += describe_agreement(run.run_request.spec, agreement)
        observation = Observation(
            run.id,
            run.run_request.spec,
            result,
            {metric.name: metric.iri for metric in sampling.metrics},
            summaries,
            figures,
            problem_code,
            agreement,
            **self._regions(result),
        )
        with dataset(self._settings, "twin") as twin:
            keep_observation(observation, twin, Iris(self._settings.base))
        run.mark_recorded()

    def _sampling_of(self, number: int) -> RunSampling:
        """Return what samples run ``number`` of the request."""
        one = self._run_request.one_of(self._id, number)
        return RunSampling(self._settings, one, plan_of(self._id))

    def _regions(self, result: Run) -> dict[str, Any]:
        """Return what an observation says of the regions of a run."""
        if not self._run_request.spec.regions:
            return {}
        counting = self._sampling.figures.region_counting
        record = regions_of(result.regions) if result.regions else not_recorded()
        return {
            "regions": record,
            "region_figures": [figures_of(record, r, counting) for r in record.regions],
            "region_events": counting.named,
        }

    def _release(self, then: Callable[[], None]) -> None:
        """Stop sampling; if this fails, the next process tries again."""
        try:
            self._sampling.stop()
        except Exception as error:
            _LOG.exception("observation %s leaves a plan behind", self._id)
            self._status.problem = self._status.problem or error
        else:
            then()

    def _forget(self, runs: Sequence[Repetition]) -> None:
        # Remove these first: if we are killed here, the next process continues.
        discard_unstarted(self._home, self._run_request, self._id, runs)
        if all(run.is_recorded for run in runs):
            remove_open_request(self._home, self._id)
            if self._status.now is State.RECORDING:
                self._status.change(Event.RECORD)
