"""A wish while it is met: what is held for it, and what its runs have said so far."""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from threading import RLock

from observations.launch import Event
from observations.record import Run, run_of
from supertwin.observing.meanwhile import Meanwhile, plan_of, sampled
from supertwin.observing.repetition import PROGRAM, Repetition, begun
from supertwin.observing.wish import Wish
from supertwin.settings import Settings

_LOG = logging.getLogger(__name__)

WAITING, RUNNING, OVER = "waiting", "running", "over"
# Told by a runner each second; as long as this without means that it is gone.
SILENT_SECONDS = 15.0


class Session:
    """All runs of a wish; ``id`` is that of its only one, or of the group.

    What is sampled goes on until the last run is recorded, which ``recorder`` does
    beside; ``over`` is called before. Threads may share it.
    """

    def __init__(
        self,
        settings: Settings,
        wish: Wish,
        id_: str,
        recorder: Executor,
        over: Callable[["Session"], None],
    ) -> None:
        self.id, self.wish = id_, wish
        self.began, self.ended = time.time(), 0.0
        self.state = WAITING
        self.problem = ""
        self.is_cancelled = False
        self.events: list[Event] = []
        self.ids: list[str] = []
        self.runs: list[Run] = []
        self._settings = settings
        self._recorder = recorder
        self._over = over
        self._held = ExitStack()
        self._lock = RLock()
        self._heard = time.monotonic()
        self._meanwhile = Meanwhile(settings, wish.asked)
        self._run: Repetition | None = None

    @property
    def is_silent(self) -> bool:
        """Whether it runs, and nobody has said so for too long."""
        quiet = time.monotonic() - self._heard > SILENT_SECONDS
        return self.state == RUNNING and quiet

    def open(self) -> None:
        """Sample what is wished for and be ready for the first run.

        Raises what `sampled` does; nothing is held then.
        """
        self._meanwhile = self._held.enter_context(
            sampled(self._settings, self.wish, plan_of(self.id), _LOG.debug)
        )
        try:
            self._next()
        except BaseException:
            self._held.close()
            raise
        self.state = RUNNING

    def program(self) -> bytes:
        """What is to be run next."""
        assert self._run  # noqa: S101
        self._heard = time.monotonic()
        return (self._run.folder / PROGRAM).read_bytes()

    def take(self, events: Sequence[Event]) -> None:
        """Hear what the runner says; what is over is looked at before this returns."""
        with self._lock:
            for event in events:
                self._take(event)

    def cancel(self) -> None:
        """Let no further run begin; who runs this one is to end it."""
        self.is_cancelled = True

    def close(self, why: str = "") -> None:
        """No more runs; one that has not ended broke off, for this reason."""
        with self._lock:
            if self.state != OVER:
                self.state, self.ended = OVER, time.time()
                if self._run and self._run.events and not self._run.is_over:
                    self._record(self._run, why or "its observer went away")
                self._recorder.submit(self._release)
                self._over(self)

    def _take(self, event: Event) -> None:
        run = self._run
        if run is None or self.state == OVER:
            return
        self._heard = time.monotonic()
        if event["event"] == "over":
            run.after = self._meanwhile.mark()
        run.take(event)
        self.events.append({**event, "run": run.id})
        if run.is_over:
            self._conclude(run)

    def _conclude(self, run: Repetition) -> None:
        self.problem = run.refusal
        if not run.refusal:
            self.runs.append(run_of(run.events))
            self._record(run, "")
        if self.is_cancelled or run.refusal or len(self.ids) == self.wish.repeat:
            self.close()
        else:
            self._next()

    def _next(self) -> None:
        home, number = self._settings.home, len(self.ids) + 1
        before = self._meanwhile.mark()
        self._run = begun(home, self.wish, self.id, number, before)
        self.ids.append(self._run.id)

    def _record(self, run: Repetition, broken: str) -> None:
        self._recorder.submit(self._recorded, run, broken)

    def _recorded(self, run: Repetition, broken: str) -> None:
        try:
            run.record(self._settings, self._meanwhile, broken)
        except Exception as error:
            _LOG.exception("observation %s is not recorded", run.id)
            self.problem = f"{run.id} is not recorded: {error}"

    def _release(self) -> None:
        try:
            self._held.close()
        except Exception as error:
            _LOG.exception("observation %s leaves a plan behind", self.id)
            self.problem = self.problem or str(error)
