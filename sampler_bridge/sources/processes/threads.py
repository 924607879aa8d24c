"""The threads of this machine as a source."""

from collections.abc import Sequence
from pathlib import Path

from sampler_bridge.sources.processes.names import instance_name
from sampler_bridge.sources.processes.program import THREADS, Tasks
from sampler_bridge.sources.processes.source import ProcessSource, TaskId
from sampling.account.reasons import GapCause, GapReason
from sampling.sources.source import Gap, Sample
from sampling.sources.thread_metrics import thread_instance


class ThreadSource(ProcessSource):
    """The metrics ``supertwin.thread.*`` of threads, at most 16,384 at a tick.

    A thread is named after its process, and keeps that name.
    """

    _what = THREADS
    _most = 16_384

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._processes: dict[TaskId, str] = {}

    def _named_now(self, found: Tasks) -> dict[TaskId, str]:
        # A process has the number and the start of its first thread.
        starts = dict(zip(found.numbers, found.starts, strict=True))
        commands = dict(zip(found.numbers, found.commands, strict=True))
        processes = [(number, starts.get(number, 0)) for number in found.processes]
        self._processes = {
            id_: self._processes.get(id_)
            or instance_name(id_[0], commands.get(id_[0], b""))
            for id_ in dict.fromkeys(processes)
        }
        return {
            id_: self._names.get(id_) or thread_instance(self._processes[of], id_[0])
            for id_, of in zip(self._ids, processes, strict=False)
        }


class NoThreads:
    """The source of threads where the kernel cannot be read; ``reason`` says why."""

    connected = True

    def __init__(self, reason: str) -> None:
        detail = f"only the kernel gives threads: {reason or 'it is not read'}"
        self._gap = Gap(GapCause(GapReason.UNSUPPORTED, detail), 1)
        self._metrics: tuple[str, ...] = ()

    def connect(self) -> None:
        """Do nothing: there is nothing to read."""

    def close(self) -> None:
        """Do nothing: there is nothing to read."""

    def select(self, metrics: Sequence[str]) -> None:
        """Give gaps of these metrics from now on."""
        self._metrics = tuple(metrics)

    def fetch(self) -> Sample:
        """A gap for each metric."""
        return Sample((), dict.fromkeys(self._metrics, self._gap))
