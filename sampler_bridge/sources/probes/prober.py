"""The program that attaches probes: how it is started and asked."""

import os
import select
import subprocess
from pathlib import Path
from typing import NamedTuple

from sampling.probes.definition import CodeProbe, Place, Target
from sampling.probes.errors import ProbeRefusedError

_PATIENCE_MS = 10_000
_LINE_BYTES = 1 << 16


class Counts(NamedTuple):
    """What a probe counted: calls, timed calls and their time (ns), and the others.

    ``shed`` calls were not timed because there were too many; ``missed`` ends had no
    begin. ``buckets`` are counts of timed calls, see `probe_metrics.BOUNDS`.
    """

    calls: int
    timed: int
    nanoseconds: int
    shed: int
    missed: int
    buckets: tuple[int, ...]


class Prober:
    """The running program; raises ProbeRefusedError if it cannot work or breaks."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise ProbeRefusedError(
                "the program that attaches probes was not compiled: `apt install gcc "
                "libc6-dev libbpf-dev`, then `make install`"
            )
        try:
            self._process = subprocess.Popen(  # noqa: S603
                [path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
            )
        except OSError as error:
            raise ProbeRefusedError(f"{path}: {error.strerror}") from error
        assert self._process.stdout is not None  # noqa: S101
        self._poll = select.poll()
        self._poll.register(self._process.stdout, select.POLLIN)
        self._buffer = b""
        try:
            self._expect("ready")
        except ProbeRefusedError:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def attach(self, number: int, probe: CodeProbe) -> None:
        """Begin to count a probe under a number below 64; nothing stays if refused."""
        try:
            self._ask("limit", number, probe.limit)
            first = "enter" if probe.times else "count"
            # The end first: a begin without its end would never be forgotten.
            if probe.times:
                self._attach_end(number, probe)
            self._attach_all(number, first, probe.begin, probe.begins, False)
        except ProbeRefusedError:
            if self._process.poll() is None:
                self.detach(number)
            raise

    def detach(self, number: int) -> None:
        """Stop counting a probe, and forget what it counted."""
        self._ask("detach", number)

    def read(self) -> dict[int, Counts]:
        """What each attached probe has counted so far, by number."""
        self._send("read")
        found: dict[int, Counts] = {}
        while (line := self._line()) != "end":
            number, calls, timed, spent, shed, missed, *buckets = map(int, line.split())
            found[number] = Counts(calls, timed, spent, shed, missed, tuple(buckets))
        return found

    def close(self) -> None:
        """End the program; the kernel detaches everything."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _attach_end(self, number: int, probe: CodeProbe) -> None:
        if probe.end:
            self._attach_all(number, "leave", probe.end, probe.ends, False)
        else:
            self._attach_all(number, "leave", probe.begin, probe.begins, True)

    def _attach_all(
        self,
        number: int,
        program: str,
        target: Target,
        places: tuple[Place, ...],
        returns: bool,
    ) -> None:
        if target.kind == "tracepoint":
            self._ask("attach", number, program, "event", target.group, target.name)
            return
        for place in places:
            at = (target.binary, place.offset, place.semaphore, int(returns), -1)
            self._ask("attach", number, program, "user", *at)

    def _ask(self, *words: object) -> None:
        self._send(*words)
        self._expect("ok")

    def _send(self, *words: object) -> None:
        assert self._process.stdin is not None  # noqa: S101
        try:
            self._process.stdin.write("\t".join(map(str, words)).encode() + b"\n")
        except OSError as error:
            raise self._down(str(error.strerror)) from error

    def _expect(self, wanted: str) -> None:
        line = self._line()
        if line != wanted:
            raise ProbeRefusedError(line.removeprefix("refused "))

    def _line(self) -> str:
        while b"\n" not in self._buffer:
            self._buffer += self._some()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="backslashreplace")

    def _some(self) -> bytes:
        assert self._process.stdout is not None  # noqa: S101
        if not self._poll.poll(_PATIENCE_MS):
            raise self._down("no answer")
        found = os.read(self._process.stdout.fileno(), _LINE_BYTES)
        if not found:
            raise self._down("it ended")
        return found

    def _down(self, why: str) -> ProbeRefusedError:
        return ProbeRefusedError(f"the program that attaches probes failed ({why})")
