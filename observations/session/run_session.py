"""The state of a wish in progress: its plan and the events of its runs."""

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
from observations.launch import Event
from observations.origin import plan_of
from observations.record import CANCELLED, Run, run_of
from observations.session.program_start import lives
from observations.session.repetition import PROGRAM, Repetition, begun, discard_unrun
from observations.session.run_request import Wish
from observations.session.run_sampling import Meanwhile, sampled, still_sampled
from observations.session.session_journal import forget_open, keep_open, note_failure
from sampling.slower_sources import notes, slower_sources

_LOG = logging.getLogger(__name__)

WAITING, RUNNING, OVER = "waiting", "running", "over"
# Runners send a beat every second; after this long without one, a runner is gone.
SILENT_SECONDS = 15.0
# How long an ended command stays a zombie, so that its counters can be read.
_LOOK_SECONDS = 2.0


class Session:
    """All runs of a wish; ``id`` is that of its only run or of the group.

    Sampling continues until the last run is recorded. ``beside`` does work in the
    background, one item after another. ``over`` is called when no run is left, before
    recording is complete. ``shares`` names another run on the same CPUs. Methods may be
    called from any thread.
    """

    def __init__(
        self,
        settings: Settings,
        wish: Wish,
        id_: str,
        beside: Callable[[Callable[[], None]], None],
        over: Callable[["Session"], None],
    ) -> None:
        self.id, self.wish = id_, wish
        self.began, self.ended = time.time(), 0.0
        self.state = WAITING
        self.problem = self.shares = ""
        self.notes: list[str] = []
        self.is_cancelled = False
        self.ids: list[str] = []
        self.runs: list[Run] = []
        self._all: list[Repetition] = []
        self._earlier = 0
        self._settings = settings
        self._beside = beside
        self._over = over
        self._held = ExitStack()
        self._lock = RLock()
        self._heard = time.monotonic()
        self._meanwhile = Meanwhile(settings, wish.asked)

    @property
    def count(self) -> int:
        """The number of events of its runs."""
        return self._earlier + (self._run.said.count if self._run else 0)

    def since(self, number: int) -> list[tuple[int, Event]]:
        """Return the events after a number, each with its number and its ``run``."""
        found: list[tuple[int, Event]] = []
        before = 0
        for run in self._all[:] if number < self.count else []:
            for at, event in run.said.since(number - before):
                found.append((before + at, {**event, "run": run.id}))
            before += run.said.count
        return found

    @property
    def due(self) -> Repetition | None:
        """The run that must be run or followed next."""
        run = self._run
        return None if self.state != RUNNING or run is None or run.is_over else run

    @property
    def is_silent(self) -> bool:
        """Whether it runs, but was neither heard of nor seen for too long."""
        quiet = time.monotonic() - self._heard > SILENT_SECONDS
        return self.state == RUNNING and quiet and not self._is_seen

    @property
    def last(self) -> Event:
        """The last event of its latest run; empty if there is none."""
        return self._run.said.last if self._run else {}

    @property
    def command(self) -> Event:
        """The first event of its latest run, which names the process of the command."""
        return self._run.said.first if self._run else {}

    @property
    def goes_on(self) -> bool:
        """Whether its runs continued without the process that began them."""
        begun_here = self._is_here and any(run.is_begun for run in self._all)
        return self.wish.attended or begun_here

    def open(self) -> None:
        """Start sampling and prepare the first run.

        Raises the errors of `sampled`; nothing is held then.
        """
        keep_open(self._settings.home, self.id, self.wish)
        try:
            self._meanwhile = self._held.enter_context(
                sampled(self._settings, self.wish, plan_of(self.id), _LOG.debug)
            )
            self._next()
        except BaseException:
            self._held.close()
            self._forget(self._settings.home, self.id)
            raise
        self._beside(self._note_slower_sources)
        # Starting to sample may have taken long, above all on another host.
        self.listen()
        self.state = RUNNING

    def go_on(self, runs: Sequence[Repetition]) -> None:
        """Resume a session of a previous process, which began these runs."""
        for run in runs:
            self._add(run)
        # If the runs did not continue, their counters cannot be read any more.
        first = runs[:1] if self.goes_on else ()
        names = {name for run in first for name, _ in run.before.values}
        self._meanwhile = self._held.enter_context(
            still_sampled(
                self._settings, self.wish, plan_of(self.id), names, _LOG.debug
            )
        )
        self.state = RUNNING
        for run in runs:
            if run.is_over:
                self._conclude(run)
        if runs and "start_ns" in runs[0].said.first:
            self.began = runs[0].said.first["start_ns"] / 1e9
        if runs[-1].is_over if runs else self.wish.attended:
            self._after()

    def listen(self) -> None:
        """Restart the silence timeout, after a time in which nothing could be heard."""
        with self._lock:
            self._heard = time.monotonic()

    def program(self) -> bytes | None:
        """Return the program of the next run; None if it has started or none is due."""
        with self._lock:
            self._heard = time.monotonic()
            run = self._run
            if self.state != RUNNING or run is None or run.said.count:
                return None
            return (run.folder / PROGRAM).read_bytes()

    def take(self, events: Sequence[Event], first: int | None = None) -> None:
        """Take events of the runner; read the counters of an ended command first.

        ``first`` is the number of events that were sent before these: known ones are
        skipped.
        """
        with self._lock:
            self._heard = time.monotonic()
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
                self._beside(partial(self._release, self._forget))
                self._over(self)

    def give_up(self) -> None:
        """Release everything; note whether the next process is to try again."""
        with self._lock:
            self.state, self.ended = OVER, time.time()
        self._beside(partial(self._release, note_failure))

    @property
    def _is_seen(self) -> bool:
        """Whether the run is known to be alive on this machine without events."""
        # For a local run, the lock of the runner's file shows when it has ended.
        return self._is_here and (not self.wish.attended or lives(self.command))

    @property
    def _is_here(self) -> bool:
        return self.wish.asked.host == self._settings.host

    @property
    def _run(self) -> Repetition | None:
        return self._all[-1] if self._all else None

    def _take(self, event: Event) -> None:
        run = self._run
        if run is None or self.state == OVER:
            return
        if event["event"] == "over" and not self._is_gone(event):
            run.look_after(self._meanwhile.mark())
        run.take(event)
        if run.is_over:
            self._conclude(run)
            self._after()

    def _is_gone(self, over: Event) -> bool:
        """Whether the counters are gone because the event came too late."""
        late = time.time() - over.get("ns", 0) / 1e9
        # The clocks of two hosts may differ.
        return self._is_here and late > _LOOK_SECONDS

    def _conclude(self, run: Repetition) -> None:
        self.problem = run.refusal or self.shares
        if not run.refusal:
            self.runs.append(run_of(run.said.events))
            self._record(run, "")

    def _after(self) -> None:
        """Begin the next run, if there is one."""
        self.is_cancelled |= bool(self.runs) and self.runs[-1].outcome == CANCELLED
        refused = self._run is not None and self._run.refusal
        if self.is_cancelled or refused or len(self.ids) == self.wish.asked.repeat:
            self.close()
        else:
            self._next()

    def _next(self) -> None:
        home, number = self._settings.home, len(self.ids) + 1
        before = self._meanwhile.mark()
        self._add(begun(home, self.wish, self.id, number, before))

    def _add(self, run: Repetition) -> None:
        self._earlier = self.count
        self._all.append(run)
        self.ids.append(run.id)

    def _note_slower_sources(self) -> None:
        asked = self.wish.asked
        with suppress(QueriesError), dataset(self._settings, "twin") as twin:
            slower = slower_sources(self._settings, twin, asked.host, plan_of(self.id))
            self.notes = [*notes(slower, asked.period_ms)]

    def _record(self, run: Repetition, broken: str) -> None:
        if not run.is_recorded:
            self._beside(partial(self._recorded, run, broken))

    def _recorded(self, run: Repetition, broken: str) -> None:
        try:
            run.record(self._settings, self._meanwhile, broken)
        except Exception as error:
            _LOG.exception("observation %s is not recorded", run.id)
            self.problem = f"{run.id} is not recorded: {error}"

    def _release(self, then: Callable[[Path, str], None]) -> None:
        """Stop sampling; if this fails, the next process tries again."""
        try:
            self._held.close()
        except Exception as error:
            _LOG.exception("observation %s leaves a plan behind", self.id)
            self.problem = self.problem or str(error)
        else:
            then(self._settings.home, self.id)

    def _forget(self, home: Path, id_: str) -> None:
        # Remove these first: if we are killed here, the next process continues.
        discard_unrun(home, self.wish, id_, self._all)
        if all(run.is_recorded for run in self._all):
            forget_open(home, id_)
