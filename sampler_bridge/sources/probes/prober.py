"""The program that attaches probes: how it is started and asked."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from sampler_bridge.sources.child_program import ChildProgram
from sampling.errors import SourceDownError
from sampling.probes.definition import BY, CodeProbe, Place, Target
from sampling.probes.errors import ProbeRefusedError
from sampling.sources.probe_metrics import BOUNDS

_LINE_BYTES = 1 << 16


class KeyCounts(NamedTuple):
    """The calls of a thread, CPU or control group, and their time (ns)."""

    calls: int
    timed: int
    nanoseconds: int


@dataclass(frozen=True)
class Counts:
    """What a probe counted: calls, timed calls and their time (ns), and the others.

    ``shed`` calls were not timed because there were too many; ``missed`` ends had no
    begin. ``unkeyed`` calls had no room for their key, and ``unread`` ones had an
    argument that could not be read. ``buckets`` are counts of timed calls, see
    `probe_metrics.BOUNDS`, and ``arguments`` of values, see ARGUMENT_BOUNDS.
    """

    calls: int
    timed: int
    nanoseconds: int
    shed: int
    missed: int
    unkeyed: int
    unread: int
    buckets: tuple[int, ...]
    arguments: tuple[int, ...]
    keys: dict[int, KeyCounts] = field(default_factory=dict)


class Prober:
    """The running program; raises ProbeRefusedError if it cannot work or breaks."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise ProbeRefusedError(
                "the program that attaches probes was not compiled: `apt install gcc "
                "libc6-dev libbpf-dev`, then `make install`"
            )
        try:
            self._child = ChildProgram([path])
        except SourceDownError as error:
            raise ProbeRefusedError(str(error)) from error
        self._buffer = b""
        try:
            self._expect("ready")
        except ProbeRefusedError:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._child.pid

    def attach(self, number: int, probe: CodeProbe) -> None:
        """Begin to count a probe under a number below 64; nothing stays if refused."""
        try:
            self._ask("limit", number, probe.limit)
            if probe.by:
                self._ask("by", number, BY[probe.by])
            first = "enter" if probe.times else "count"
            # The end first: a begin without its end would never be forgotten.
            if probe.times:
                self._attach_end(number, probe)
            if probe.begin.kind == "tracepoint" and probe.argument:
                event = (probe.begin.group, probe.begin.name)
                self._ask("field", number, *event, probe.argument)
            self._attach_all(number, first, probe.begin, probe.begins, False)
        except ProbeRefusedError:
            if self._child.runs:
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
            kind, *numbers = line.split()
            number, *values = map(int, numbers)
            if kind == "probe":
                found[number] = _counts(values)
            elif number in found:
                key, *counts = values
                found[number].keys[key] = KeyCounts(*counts)
        return found

    def close(self) -> None:
        """End the program; the kernel detaches everything."""
        self._child.close()

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
            if place.form:
                self._ask("form", number, *place.form.words())
            at = (target.binary, place.offset, place.semaphore, int(returns), -1)
            self._ask("attach", number, program, "user", *at)

    def _ask(self, *words: object) -> None:
        self._send(*words)
        self._expect("ok")

    def _send(self, *words: object) -> None:
        try:
            self._child.send("\t".join(map(str, words)).encode() + b"\n")
        except SourceDownError as error:
            raise self._down(error) from error

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
        try:
            return self._child.receive(_LINE_BYTES)
        except SourceDownError as error:
            raise self._down(error) from error

    def _down(self, why: SourceDownError) -> ProbeRefusedError:
        return ProbeRefusedError(f"the program that attaches probes failed ({why})")


def _counts(values: list[int]) -> Counts:
    calls, timed, spent, shed, missed, unkeyed, unread, *histograms = values
    buckets, arguments = histograms[: len(BOUNDS)], histograms[len(BOUNDS) :]
    return Counts(
        *(calls, timed, spent, shed, missed, unkeyed, unread),
        buckets=tuple(buckets),
        arguments=tuple(arguments),
    )
