"""Samples where a command computes, with perf.

It is sent to the host of the command, so it imports only what is sent with it. Nothing
here fails a run: what goes wrong is the reason why something is missing.
"""

from __future__ import annotations

import ctypes
import glob
import os
import re
import select
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from functools import partial
from tempfile import mkdtemp
from typing import Any, Callable, Dict, Iterable

from observations.hot_loops.code import Binary
from observations.hot_loops.llvm import MissingError, Tools

# In order of preference: what the PMU counts, and a timer of the kernel.
_EVENTS = ("cycles:uP", "cpu-clock:u")
_RATE, _LEAST_RATE, _SAMPLES_PER_SECOND = 499, 49, 8_000
_MOST_BYTES = 64 << 20
_CUT = "perf stopped at 64 MiB of samples: the shares are of the time until then"
_ATTACH_SECONDS, _END_SECONDS, _VERSION_SECONDS = 10.0, 20.0, 10.0
_PARANOID = "/proc/sys/kernel/perf_event_paranoid"
_MOST_RATE = "/proc/sys/kernel/perf_event_max_sample_rate"
_SET_PDEATHSIG = 1
_LEAST_SHARE, _LEAST_SAMPLES = 0.02, 5
_MAPPED = re.compile(
    rb"\s*\d+ PERF_RECORD_MMAP2 (\d+)/\d+: "
    rb"\[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+) [^\]]*\]: ..x. (.+)"
)
_SAMPLED = re.compile(rb"\s*(\d+)\s+([0-9a-f]+) \((.*)\)")
Counts = Dict[int, int]


class LoopRecording:
    """Samples all processes that this process starts, and analyses the samples.

    ``events`` are those to sample, in order of preference; ``options`` are for perf.
    """

    member = "hot_loops"
    most_bytes = _MOST_BYTES
    events: tuple[str, ...] = _EVENTS
    # Above this level of kernel.perf_event_paranoid only root may sample.
    most_paranoid = 2
    options: tuple[str, ...] = ()

    def __init__(self, env: dict[str, str]) -> None:
        # A library for the command is not for perf.
        own = {name: value for name, value in env.items() if name != "LD_PRELOAD"}
        self._env = {**own, "LC_ALL": "C", "PERF_CONFIG": "/dev/null"}
        self._perf: subprocess.Popen[bytes] | None = None
        self._ends: tuple[int, ...] = ()
        self._reason = self._event = self._found = self._folder = ""
        self._rate = min(_RATE, self.most_rate())
        self._began = time.time()

    @property
    def pids(self) -> frozenset[int]:
        """The processes of perf while it runs."""
        return frozenset([self._perf.pid] if self._perf else [])

    def begin(self) -> None:
        """Attach perf to this process, for the processes that it will start."""
        try:
            self._folder = mkdtemp(prefix="supertwin-loops-")
            self._found = self._found or _find_perf(self._env)
            for event in self.events:
                self._event = event
                if self._attach(event):
                    return
            raise MissingError(self._why_refused())
        except (OSError, MissingError) as error:
            self._reason = str(error)

    def end(self) -> None:
        """Stop sampling; perf has ended when this returns."""
        if self._perf:
            self._interrupt(self._perf)
        self._perf = None
        for end in self._ends:
            os.close(end)
        self._ends = ()

    def recorded(self, beat: Callable[[], None]) -> dict[str, Any]:
        """Return what was found; calls ``beat`` at least every 10 s."""
        return self.report(Tools(self._env, self._found, beat))

    @staticmethod
    def most_rate() -> int:
        """Return the most samples a second of a thread that this host allows."""
        each = max(_SAMPLES_PER_SECOND // (os.cpu_count() or 1), _LEAST_RATE)
        most = _read_number(_MOST_RATE)
        return min(each, most) if most > 0 else each

    def report(self, tools: Tools) -> dict[str, Any]:
        """Return the hot functions and loops; without them, the reason."""
        found: dict[str, Any] = {"functions": [], "loops": [], "samples": 0, "note": ""}
        try:
            if not self._reason:
                found = self._analyse(tools)
        except (OSError, MissingError) as error:
            self._reason = str(error)[:300]
        finally:
            self.discard()
        sampled = {"sampler": self._event, "rate": self._rate}
        about = {**tools.about, "machine": os.uname().machine}
        return {"reason": self._reason, **sampled, **about, **found}

    def discard(self) -> None:
        """Remove what was recorded."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _attach(self, event: str) -> bool:
        """Start perf and wait until it samples; False if it cannot."""
        commands, write = os.pipe()
        read, answers = os.pipe()
        # perf loses its data if these are closed before it ends.
        self._ends = (write, read)
        try:
            self._perf = self._started(event, commands, answers)
        finally:
            for end in (commands, answers):
                os.close(end)
        with suppress(BrokenPipeError):
            os.write(write, b"enable\n")
        ready, _, _ = select.select([read], [], [], _ATTACH_SECONDS)
        if ready and os.read(read, 16).startswith(b"ack"):
            return True
        self.end()
        return False

    def _interrupt(self, perf: subprocess.Popen[bytes]) -> None:
        if (status := perf.poll()) and status < 0:
            self._reason = f"perf was ended by signal {-status} during the run"
        with suppress(ProcessLookupError):
            perf.send_signal(signal.SIGINT)
        try:
            perf.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            perf.kill()
            perf.wait()
            self._reason = "perf did not end"

    def _started(
        self, event: str, commands: int, answers: int
    ) -> subprocess.Popen[bytes]:
        # Disabled (-D -1) until we ask: the answer then says that it samples.
        words = [self._found, "record", "-q", "-p", str(os.getpid()), "-e", event]
        words += [*self._frequency(), "-D", "-1", *self.options]
        words += ["--max-size", f"{self.most_bytes}B"]
        # Without build ids (-B), which perf would copy into the user's home.
        words += ["-B", "-o", self._data, "--control", f"fd:{commands},{answers}"]
        with open(f"{self._folder}/errors", "wb") as errors:  # noqa: PTH123
            return subprocess.Popen(  # noqa: S603
                words,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                env=self._env,
                pass_fds=[commands, answers],
                start_new_session=True,
                preexec_fn=partial(
                    ctypes.CDLL(None).prctl, _SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0
                ),
            )

    def _frequency(self) -> tuple[str, ...]:
        return "-F", str(self._rate)

    @property
    def _data(self) -> str:
        return f"{self._folder}/perf.data"

    def _why_refused(self) -> str:
        level = _read_number(_PARANOID)
        if level > self.most_paranoid and os.geteuid():
            return (
                f"kernel.perf_event_paranoid is {level}, so perf may not sample: "
                f"`sudo sysctl kernel.perf_event_paranoid={self.most_paranoid}`"
            )
        with open(f"{self._folder}/errors", errors="replace") as file:  # noqa: PTH123
            lines = [line.strip() for line in file if line.strip() != "Error:"]
        return f"perf cannot sample: {' '.join(filter(None, lines))[:200]}"

    def _analyse(self, tools: Tools) -> dict[str, Any]:
        # Where there is no PMU, perf may count cycles by a timer of the kernel.
        self._event = tools.event(self._data)
        counts = _count(tools.perf_lines(self._data), os.getpid())
        total = sum(sum(one.values()) for one in counts.values())
        if not total:
            raise MissingError("perf took no sample: each process used too little time")
        least = max(_LEAST_SHARE * total, _LEAST_SAMPLES)
        functions: list[dict[str, Any]] = []
        loops: list[dict[str, Any]] = []
        for path, offsets in sorted(counts.items()):
            if sum(offsets.values()) >= least:
                hot = Binary(path, offsets, tools, self._began).functions(least)
                for function, within in hot:
                    loops += [{"function": len(functions), **one} for one in within]
                    functions.append(function)
        is_cut = os.stat(self._data).st_size >= _MOST_BYTES  # noqa: PTH116
        found = {"samples": total, "functions": functions, "loops": loops}
        return {**found, "note": _CUT if is_cut else ""}


def _count(lines: Iterable[bytes], own: int) -> dict[str, Counts]:
    """Count samples by file and offset, without those of the process ``own``.

    Code without a file counts at offset 0.
    """
    maps: dict[str, list[tuple[int, int, int, int]]] = {}
    counts: dict[str, Counts] = {}
    for line in lines:
        if found := _MAPPED.match(line):
            path = _path(found[5])
            start, size, offset = (int(found[n], 16) for n in (2, 3, 4))
            maps.setdefault(path, []).append((int(found[1]), start, size, offset))
        elif (found := _SAMPLED.match(line)) and int(found[1]) != own:
            path, pid, at = _path(found[3]), int(found[1]), int(found[2], 16)
            offset = _offset(maps.get(path, []), pid, at)
            within = counts.setdefault(path, {})
            within[offset] = within.get(offset, 0) + 1
    return counts


def _path(name: bytes) -> str:
    return os.fsdecode(name.rstrip(b"\n"))


def _offset(maps: list[tuple[int, int, int, int]], pid: int, at: int) -> int:
    """Return the offset in the file; a forked process has no map of its own."""
    fits = [one for one in maps if one[1] <= at < one[1] + one[2]]
    own = [one for one in fits if one[0] == pid] or fits
    return at - own[-1][1] + own[-1][3] if own else 0


def _find_perf(env: dict[str, str]) -> str:
    """Return the path of perf; Ubuntu's looks only for that of the running kernel."""
    found = shutil.which("perf", path=env.get("PATH"))
    others = sorted(glob.glob("/usr/lib/linux-tools*/**/perf", recursive=True))  # noqa: PTH207
    for path in (found, *others[::-1]):
        if path and _runs(path, env):
            return path
    raise MissingError("perf is not installed: `apt install linux-perf`")


def _runs(path: str, env: dict[str, str]) -> bool:
    with suppress(OSError, subprocess.SubprocessError):
        words = [path, "--version"]
        done = subprocess.run(  # noqa: S603
            words, env=env, capture_output=True, timeout=_VERSION_SECONDS, check=False
        )
        return not done.returncode
    return False


def _read_number(path: str) -> int:
    with suppress(OSError, ValueError), open(path) as file:  # noqa: PTH123
        return int(file.read())
    return 0
