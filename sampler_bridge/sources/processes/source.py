"""The processes of this machine as a source."""

from collections.abc import Collection, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from sampler_bridge.sources.processes.names import instance_name, numbers_of
from sampler_bridge.sources.processes.program import (
    PROCESSES,
    Numbers,
    ProcessProgram,
    Tasks,
)
from sampling.account.reasons import GapCause, GapReason
from sampling.errors import SourceDownError
from sampling.sources.source import (
    UNKNOWN_METRIC,
    Gap,
    Sample,
    SampleColumn,
    Series,
)

TaskId = tuple[int, int]  # number and start: Linux reuses numbers
_DTYPES: tuple[type[np.generic], ...] = (np.int64, np.uint64)


class ProcessSource:
    """The metrics ``proc.*`` that the program at ``path`` gives, as PCP names them.

    A process keeps the name that it had when it was first seen, as in PCP.
    """

    _what = PROCESSES
    _most: int | None = None  # tasks at a tick

    def __init__(self, path: Path) -> None:
        self._path = path
        self._program: ProcessProgram | None = None
        self._metrics: tuple[str, ...] = ()
        self._places: list[int] = []
        self._selected: list[int] = []
        self._types: dict[str, type[np.generic]] = {}
        self._missing: dict[str, Gap] = {}
        self._ids: tuple[TaskId, ...] = ()
        self._names: dict[TaskId, str] = {}
        self._known: dict[str, dict[TaskId, Series]] = {}
        self._series: dict[type[np.generic], tuple[Series, ...]] = {}
        self._codes: list[int] = []
        self._coded: tuple[Series, ...] = ()
        self._lettered: tuple[Series, ...] = ()

    @property
    def connected(self) -> bool:
        """Whether the program runs and answered the last call."""
        return self._program is not None

    @property
    def pid(self) -> int:
        """The number of the program's process; 0 while it does not run."""
        return self._program.pid if self._program else 0

    def connect(self) -> None:
        """Start the program; raises SourceDownError."""
        self.close()
        self._program = ProcessProgram(self._path, self._what)
        self._ids = ()
        self._arrange(self._program)

    def close(self) -> None:
        """End the program."""
        if self._program is not None:
            self._program.close()
            self._program = None

    def select(self, metrics: Sequence[str]) -> None:
        """Fetch these metrics from now on."""
        self._metrics = tuple(dict.fromkeys(metrics))
        self._known = {name: self._known.get(name, {}) for name in metrics}
        self._series = {}
        if self._program is not None:
            self._arrange(self._program)

    def narrow(self, only: Collection[str] | None) -> None:
        """Read the processes of these instances alone, as far as the kernel can."""
        self._selected = numbers_of(only or ())

    def _arrange(self, program: ProcessProgram) -> None:
        """Find the metrics among those that the program gives, in its order."""
        offered = {name: at for at, name in enumerate(program.metrics)}
        known = sorted(set(self._metrics) & offered.keys(), key=offered.__getitem__)
        self._places = [offered[name] for name in known]
        self._types = {name: program.metrics[name] for name in known}
        unknown = set(self._metrics) - set(known)
        self._missing = {name: Gap(UNKNOWN_METRIC, 1) for name in unknown}

    def fetch(self) -> Sample:
        """The current values; raises SourceDownError, after which connect is due."""
        program = self._program
        if program is None:
            raise SourceDownError("the program that reads processes does not run yet")
        try:
            answer = program.ask(self._places, self._selected)
        except SourceDownError:
            self.close()
            raise
        if answer.tasks is not None:
            self._rename(answer.tasks)
        values = answer.values[:, : len(self._ids)]
        missing = {**self._missing, **self._beyond(answer.values.shape[1])}
        return Sample(self._columns(values), missing, answer.taken)

    def _beyond(self, tasks: int) -> dict[str, Gap]:
        """A gap for each metric if there are more tasks than are read at a tick."""
        beyond = tasks - len(self._ids)
        if not beyond:
            return {}
        detail = f"more than {self._most} tasks: name the processes in the plan"
        gap = Gap(GapCause(GapReason.UNSUPPORTED, detail), beyond)
        return dict.fromkeys(self._types, gap)

    def _rename(self, found: Tasks) -> None:
        """Name the tasks that are new, and forget those that ended."""
        ids = zip(found.numbers, found.starts, strict=True)
        self._ids = tuple(islice(ids, self._most))
        self._names = self._named_now(found)
        self._series = {}

    def _named_now(self, found: Tasks) -> dict[TaskId, str]:
        return {
            id_: self._names.get(id_) or instance_name(id_[0], command)
            for id_, command in zip(self._ids, found.commands, strict=False)
        }

    def _columns(self, values: Numbers) -> tuple[SampleColumn, ...]:
        """One column for each dtype, of all its metrics one after another."""
        types = list(self._types.values())
        columns = []
        for dtype in _DTYPES:
            rows = [row for row, of in enumerate(types) if of is dtype]
            if rows:
                picked = values[rows].view(dtype).ravel()
                columns.append(SampleColumn(self._named(dtype), picked))
        return (*columns, *self._texts(values))

    def _texts(self, values: Numbers) -> tuple[SampleColumn, ...]:
        """A column of ones for metrics of characters: each is a series of its own."""
        rows = [row for row, of in enumerate(self._types.values()) if of is np.int8]
        if not rows:
            return ()
        codes, named = values[rows].ravel().tolist(), self._named(np.int8)
        if codes != self._codes or named is not self._coded:
            self._codes, self._coded = codes, named
            self._lettered = tuple(
                one._replace(text=chr(code))
                for one, code in zip(named, codes, strict=True)
            )
        return (SampleColumn(self._lettered, np.ones(len(codes), np.int8)),)

    def _named(self, dtype: type[np.generic]) -> tuple[Series, ...]:
        found = self._series.get(dtype)
        if found is None:
            names = [name for name, of in self._types.items() if of is dtype]
            found = tuple(one for name in names for one in self._of(name))
            self._series[dtype] = found
        return found

    def _of(self, metric: str) -> list[Series]:
        """The series of a metric, each the same object as long as its process runs."""
        before = self._known[metric]
        now = {
            id_: before.get(id_) or Series(metric, self._names[id_])
            for id_ in self._ids
        }
        self._known[metric] = now
        return list(now.values())
