"""The probes that the file lists, attached by one program for all that sample them."""

import logging
import time
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from sampler_bridge.sources.probes.prober import Counts, Prober
from sampling.probes.cost import predict
from sampling.probes.definition import MOST, CodeProbe, read_probes
from sampling.probes.errors import ProbeError, ProbeRefusedError

_LOG = logging.getLogger(__name__)

# How often files are looked at, and the program is started again after a failure.
_LOOK_SECONDS, _RETRY_SECONDS = 1.0, 10.0
_Sign = tuple[int, int, int] | None


class Attached(NamedTuple):
    """A probe, its number in the program, and what its binary looked like then."""

    probe: CodeProbe
    number: int
    sign: _Sign
    calls: int = 0
    seen: float = 0.0  # when `calls` were read (s, monotonic)


class ProbeSet:
    """All probes of this machine, read from a file whenever that changes.

    A probe that is refused, or whose binary was replaced, has no values and a reason.
    All methods may be called by several threads.
    """

    def __init__(self, program: Path, file: Path) -> None:
        self._program, self._file = program, file
        self._lock = Lock()
        self._prober: Prober | None = None
        self._attached: dict[str, Attached] = {}
        self._reasons: dict[str, str] = {}
        self._sign: _Sign = None
        self._looked = self._failed = float("-inf")

    def read(self) -> list[tuple[CodeProbe, Counts]]:
        """What each attached probe has counted."""
        with self._lock:
            try:
                self._look()
                return self._read()
            except ProbeError as error:
                self._break(str(error))
                return []

    def reasons(self) -> dict[str, str]:
        """Why probes have no values, by name."""
        with self._lock:
            return dict(self._reasons)

    def document(self) -> dict[str, Any]:
        """The state of each probe, for the bridge's status."""
        with self._lock:
            states = dict.fromkeys(self._attached, "attached")
            return states | self._reasons

    def close(self) -> None:
        """Detach all probes."""
        with self._lock:
            self._end()

    def _read(self) -> list[tuple[CodeProbe, Counts]]:
        if self._prober is None:
            return []
        counts = self._prober.read()
        return [
            (one.probe, counts[one.number])
            for one in self._attached.values()
            if one.number in counts
        ]

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        sign = _sign(self._file)
        is_due = self._prober is None and now - self._failed > _RETRY_SECONDS
        if sign != self._sign or (self._reasons and is_due):
            self._sign = sign
            self._follow(read_probes(self._file))
        for one in tuple(self._attached.values()):
            self._check_binary(one)
        self._check_cost(now)

    def _follow(self, wanted: dict[str, CodeProbe]) -> None:
        """Attach what is new, detach what is gone; the others count on."""
        for name, one in tuple(self._attached.items()):
            if wanted.get(name) != one.probe:
                self._detach(one)
        self._reasons = {}
        for probe in wanted.values():
            if probe.name not in self._attached:
                self._attach(probe)
        if not wanted:
            self._end()

    def _attach(self, probe: CodeProbe) -> None:
        if reason := _replaced(probe):
            self._reasons[probe.name] = reason
            return
        try:
            self._prober = self._prober or Prober(self._program)
            used = {one.number for one in self._attached.values()}
            number = next(n for n in range(MOST) if n not in used)
            sign = _sign(Path(probe.begin.binary)) if probe.begin.binary else None
            self._prober.attach(number, probe)
        except ProbeRefusedError as error:
            self._failed = time.monotonic()
            self._reasons[probe.name] = str(error)
            _LOG.warning("probe %s is not attached: %s", probe.name, error)
            return
        self._attached[probe.name] = Attached(probe, number, sign)
        _LOG.info("probe %s is attached to %s", probe.name, probe.begin)

    def _detach(self, one: Attached) -> None:
        del self._attached[one.probe.name]
        if self._prober:
            self._prober.detach(one.number)
        _LOG.info("probe %s is detached", one.probe.name)

    def _check_binary(self, one: Attached) -> None:
        """Stop a probe whose binary was replaced: new processes are not counted."""
        binary = one.probe.begin.binary
        if not binary or _sign(Path(binary)) == one.sign:
            return
        if reason := _replaced(one.probe):
            self._stop(one, reason)
            return
        # The same content in a new file: attach to that.
        self._detach(one)
        self._attach(one.probe)

    def _check_cost(self, now: float) -> None:
        """Stop a probe that takes more of a CPU than is allowed."""
        counts = self._prober.read() if self._prober else {}
        for name, one in tuple(self._attached.items()):
            calls = counts[one.number].calls
            spent = predict(one.probe, (calls - one.calls) / max(now - one.seen, 0.1))
            self._attached[name] = one._replace(calls=calls, seen=now)
            if one.seen and 0 < one.probe.percent < spent.share * 100:
                self._stop(one, f"it had {spent}, more than {one.probe.percent:g} %")

    def _stop(self, one: Attached, reason: str) -> None:
        self._detach(one)
        self._reasons[one.probe.name] = reason
        _LOG.warning("probe %s is stopped: %s", one.probe.name, reason)

    def _break(self, reason: str) -> None:
        """Give all probes the reason, and start over later."""
        names = [*self._attached, *self._reasons]
        self._end()
        self._sign = None
        self._reasons = dict.fromkeys(names, reason)
        self._failed = time.monotonic()
        _LOG.warning("no probe counts: %s", reason)

    def _end(self) -> None:
        self._attached = {}
        if self._prober:
            self._prober.close()
            self._prober = None


def _replaced(probe: CodeProbe) -> str:
    """Why the binary is not the one that was checked; empty if it is."""
    if not probe.begin.binary:
        return ""
    from sampling.probes.binary import identity_of  # pyelftools takes 3 MB

    try:
        found = identity_of(probe.begin.binary)
    except ProbeError as error:
        return f"binary replaced: {error}"
    if found == probe.build_id:
        return ""
    return (
        f"binary replaced: {probe.begin.binary} has build id {found}, not "
        f"{probe.build_id}; add the probe again"
    )


def _sign(path: Path) -> _Sign:
    """What changes when a file is replaced; None without a file."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns
