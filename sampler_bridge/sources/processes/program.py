"""The program that reads tasks from the kernel: how it is started and asked."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.linux import priority
from sampler_bridge.errors import KernelRefusedError
from sampler_bridge.sources.child_program import ChildProgram
from sampling.errors import SourceDownError

Numbers = npt.NDArray[np.uint64]

_LINE_BYTES = 1 << 16
_HEADER = struct.Struct("=4Q")
_COMMAND = 16  # bytes
# A metric of characters gives their codes; its series are those of texts.
_TYPES: Mapping[str, type[np.generic]] = {"i": np.int64, "u": np.uint64, "c": np.int8}
PROCESSES, THREADS = "processes", "threads"
# As in tasks.c: reading all processes takes no longer than selecting more.
_MOST_SELECTED = 256


class Tasks(NamedTuple):
    """The processes or threads of an answer, each list of shape (n,).

    ``processes`` are the numbers of the process that each belongs to.
    """

    numbers: list[int]
    processes: list[int]
    starts: list[int]
    commands: list[bytes]


class Answer(NamedTuple):
    """``values`` has shape (metrics, n); ``tasks`` is None if they are the same.

    ``taken`` is the time of reading (Unix seconds).
    """

    taken: float
    tasks: Tasks | None
    values: Numbers


class ProcessProgram:
    """The running program; ``metrics`` are those that it gives, with their dtypes.

    It reads ``what``: PROCESSES or THREADS. Raises KernelRefusedError if it cannot work
    here, and SourceDownError if it does not start or answer.
    """

    def __init__(self, path: Path, what: str = PROCESSES) -> None:
        self._set = 0
        self._number = 0
        try:
            self._child = ChildProgram([path, what])
        except SourceDownError as error:
            raise KernelRefusedError(str(error)) from error
        # The thread that fetches waits for it.
        priority.take(priority.priority_of(), priority.FETCHING, self.pid)
        try:
            self.metrics = self._read_metrics()
        except SourceDownError:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._child.pid

    def ask(self, places: Sequence[int], selected: Sequence[int] = ()) -> Answer:
        """Read the metrics at ``places``, in increasing order.

        The kernel reads the ``selected`` processes alone, in increasing order, if they
        are few and it is recent; otherwise all.
        """
        mask = sum(1 << place for place in places)
        few = selected if len(selected) <= _MOST_SELECTED else ()
        request = struct.pack(f"={3 + len(few)}Q", mask, self._set, len(few), *few)
        try:
            self._child.send(request)
        except SourceDownError as error:
            raise self._down(error) from error
        self._set, self._number, taken, is_new = _HEADER.unpack(
            self._read(_HEADER.size)
        )
        tasks = self._read_tasks() if is_new else None
        values = np.frombuffer(self._read(8 * self._number * len(places)), np.uint64)
        shape = len(places), self._number
        return Answer(taken / 1e9, tasks, values.reshape(shape))

    def close(self) -> None:
        """End the program."""
        self._child.close()

    def _read_metrics(self) -> dict[str, type[np.generic]]:
        line = self._read_line()
        kind, _, rest = line.partition(" ")
        if kind != "metrics":
            raise KernelRefusedError(rest or "it ended without a reason")
        given = [word.split(":") for word in rest.split()]
        return {name: _TYPES[type_] for name, type_ in given}

    def _read_line(self) -> str:
        line = bytearray()
        while not line.endswith(b"\n") and len(line) < _LINE_BYTES:
            line += self._some(1)
        return line.decode().strip()

    def _read_tasks(self) -> Tasks:
        number = self._number
        ids = np.frombuffer(self._read(24 * number), np.uint64).reshape(3, number)
        commands = self._read(_COMMAND * number)
        return Tasks(
            ids[0].tolist(),
            ids[1].tolist(),
            ids[2].tolist(),
            [
                bytes(commands[at : at + _COMMAND]).split(b"\0")[0]
                for at in range(0, len(commands), _COMMAND)
            ],
        )

    def _read(self, size: int) -> bytearray:
        found = bytearray(size)
        view, at = memoryview(found), 0
        while at < size:
            some = self._some(size - at)
            view[at : at + len(some)] = some
            at += len(some)
        return found

    def _some(self, most: int) -> bytes:
        try:
            return self._child.receive(most)
        except SourceDownError as error:
            raise self._down(error) from error

    def _down(self, why: SourceDownError) -> SourceDownError:
        return SourceDownError(
            f"the program that reads processes failed ({why}): the bridge starts it "
            "again"
        )
