"""Samples with perf where the processes of a run compute.

It is sent to the host of the command, so it imports only what is sent with it. Nothing
here fails a run: what goes wrong is the reason why something is missing.
"""

from __future__ import annotations

import ctypes
import glob
import os
import select
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from functools import partial
from tempfile import mkdtemp
from typing import Iterable

from observations.hot_loops.llvm import MissingError

# In order of preference: what the PMU counts, and a timer of the kernel.
_EVENTS = ("cycles:uP", "cpu-clock:u")
_LEAST_RATE, _SAMPLES_PER_SECOND = 49, 8_000
_ATTACH_SECONDS, _END_SECONDS, _VERSION_SECONDS = 10.0, 20.0, 10.0
_PARANOID = "/proc/sys/kernel/perf_event_paranoid"
_MOST_RATE = "/proc/sys/kernel/perf_event_max_sample_rate"
_SET_PDEATHSIG = 1


class PerfSampling:
    """Samples all processes that this process starts, from ``begin`` to ``end``.

    ``pid`` is the process of perf while it runs, and ``reason`` says why there are no
    samples. ``data`` is the file of the samples, of at most ``most_bytes``; ``words``
    are further options of `perf record`.
    """

    def __init__(
        self, env: dict[str, str], rate: int, most_bytes: int, words: Iterable[str] = ()
    ) -> None:
        # A library for the command is not for perf.
        own = {name: value for name, value in env.items() if name != "LD_PRELOAD"}
        self.env = {**own, "LC_ALL": "C", "PERF_CONFIG": "/dev/null"}
        self.reason = self.event = self.found = self._folder = ""
        self.rate, self.began = rate, time.time()
        self._most_bytes, self._words = most_bytes, [*words]
        self._perf: subprocess.Popen[bytes] | None = None
        self._ends: tuple[int, ...] = ()

    @property
    def pid(self) -> int:
        """The process of perf; 0 if it does not run."""
        return self._perf.pid if self._perf else 0

    def begin(self) -> None:
        """Attach perf to this process, for the processes that it will start."""
        try:
            self._folder = mkdtemp(prefix="supertwin-perf-")
            self.found = _find_perf(self.env)
            for event in _EVENTS:
                self.event = event
                if self._attach(event):
                    return
            raise MissingError(self._why_refused())
        except (OSError, MissingError) as error:
            self.reason = str(error)

    def end(self) -> None:
        """Stop sampling; perf has ended when this returns."""
        if self._perf:
            self._interrupt(self._perf)
        self._perf = None
        for end in self._ends:
            os.close(end)
        self._ends = ()

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
        with suppress(ProcessLookupError):
            perf.send_signal(signal.SIGINT)
        try:
            perf.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            perf.kill()
            perf.wait()
            self.reason = "perf did not end"

    def _started(
        self, event: str, commands: int, answers: int
    ) -> subprocess.Popen[bytes]:
        # Disabled (-D -1) until we ask: the answer then says that it samples.
        words = [self.found, "record", "-q", "-p", str(os.getpid()), "-e", event]
        words += [
            "-F",
            str(self.rate),
            "-D",
            "-1",
            "--max-size",
            f"{self._most_bytes}B",
        ]
        # Without build ids (-B), which perf would copy into the user's home.
        words += ["-B", "-o", self.data, "--control", f"fd:{commands},{answers}"]
        words += self._words
        with open(f"{self._folder}/errors", "wb") as errors:  # noqa: PTH123
            return subprocess.Popen(  # noqa: S603
                words,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                env=self.env,
                pass_fds=[commands, answers],
                start_new_session=True,
                preexec_fn=partial(
                    ctypes.CDLL(None).prctl, _SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0
                ),
            )

    @property
    def data(self) -> str:
        """The file of the samples."""
        return f"{self._folder}/perf.data"

    @property
    def is_cut(self) -> bool:
        """Whether perf stopped because the file has its largest size."""
        return os.stat(self.data).st_size >= self._most_bytes  # noqa: PTH116

    def _why_refused(self) -> str:
        level = _read_number(_PARANOID)
        if level > 2 and os.geteuid():  # noqa: PLR2004
            return (
                f"kernel.perf_event_paranoid is {level}, so perf may not sample: "
                "`sudo sysctl kernel.perf_event_paranoid=2`"
            )
        with open(f"{self._folder}/errors", errors="replace") as file:  # noqa: PTH123
            lines = [line.strip() for line in file if line.strip() != "Error:"]
        return f"perf cannot sample: {' '.join(filter(None, lines))[:200]}"


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


def possible_rate(wanted: int) -> int:
    """Return the samples a second of each thread; fewer if there are many CPUs."""
    share = max(_SAMPLES_PER_SECOND // (os.cpu_count() or 1), _LEAST_RATE)
    most = _read_number(_MOST_RATE)
    return min(wanted, share, most if most > 0 else wanted)


def _read_number(path: str) -> int:
    with suppress(OSError, ValueError), open(path) as file:  # noqa: PTH123
        return int(file.read())
    return 0
