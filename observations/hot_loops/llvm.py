"""Calls LLVM's tools, and perf's reader, about the code of a run.

It is sent to the host of the command, so it imports only what is sent with it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
import time
from typing import Any, Callable, Iterable, Iterator

# A tool may take this long, and all of them together.
_TOOL_SECONDS, _ALL_SECONDS = 10.0, 60.0
_ITERATIONS = 100
# For processors that LLVM does not know: vendor and family, and the nearest ones.
_NEAREST = {("AuthenticAMD", "26"): ("znver5", "znver4", "znver3")}
_NEAREST_NOTE = ", the nearest that LLVM knows"
# The same with and without an operand from memory, for each OperandKind in its order.
_LOADS = {
    "x86_64": "addq (%rax), %rbx\naddq %rcx, %rbx\n"
    "addsd (%rax), %xmm0\naddsd %xmm1, %xmm0\n"
    "addpd (%rax), %xmm0\naddpd %xmm1, %xmm0\n"
    "vaddpd (%rax), %ymm1, %ymm0\nvaddpd %ymm1, %ymm1, %ymm0\n",
}
# Where instructions that compute load nothing.
_NO_LOADS = "nop\n"


class MissingError(Exception):
    """Something cannot be told; the text says why."""


class Tools:
    """The programs of the analysis; each call is limited in time.

    ``about`` names the version and the processor that the analysis is for. It has the
    cycles that an operand from memory adds to an instruction, for each OperandKind.
    """

    def __init__(
        self, env: dict[str, str], perf: str, beat: Callable[[], None]
    ) -> None:
        self._env, self._perf, self._beat = env, perf, beat
        self._until = time.monotonic() + _ALL_SECONDS
        self.about: dict[str, Any] = {"analyser": "", "cpu": "", "load_latencies": []}
        self._options: list[str] | None = None

    def event(self, data: str) -> str:
        """Return the name of what was sampled, without its modifiers."""
        words = [self._perf, "evlist", "-i", data]
        names = [line.decode().strip() for line in self._lines(words)]
        return names[0].partition(":")[0] if names else ""

    def perf_lines(self, data: str) -> Iterator[bytes]:
        """Yield the mappings and the samples, in the order of their times."""
        words = [self._perf, "script", "-i", data, "-F", "pid,ip,dso"]
        return self._lines([*words, "--show-mmap-events"])

    def stack_lines(self, data: str, most: int) -> Iterator[bytes]:
        """Yield the processes and up to ``most`` frames of each sample."""
        fields = f"pid,{self._frame_fields()}"
        words = [self._perf, "script", "-i", data, "-F", fields]
        limits = ["--no-inline", "--max-stack", str(most), "--show-lost-events"]
        return self._lines([*words, *limits])

    def switch_lines(self, data: str, most: int) -> Iterator[bytes]:
        """Yield when threads leave and get CPUs, with the frames of the samples."""
        fields = f"pid,tid,time,event,{self._frame_fields()}"
        words = [self._perf, "script", "-i", data, "--ns", "-F", fields]
        limits = ["--no-inline", "--max-stack", str(most), "--show-lost-events"]
        return self._lines([*words, *limits, "--show-switch-events"])

    def _frame_fields(self) -> str:
        """Return perf's fields of a frame.

        Some versions of perf print the address of a frame in memory, not in the file:
        these know the field ``dsoff``, which adds the address in the file to its path.
        """
        words = [self._perf, "script", "-i", os.devnull, "-F", "dsoff"]
        done = subprocess.run(words, env=self._env, capture_output=True, timeout=10)  # noqa: S603
        is_known = b"nvalid field" not in done.stderr
        return "ip,sym,dso,dsoff" if is_known else "ip,sym,dso"

    def lines(self, name: str, *words: str) -> Iterator[bytes]:
        """Yield the lines that a tool of LLVM prints."""
        return self._lines([self.path(name), *words])

    def path(self, name: str) -> str:
        """Return the path of a tool of LLVM; raises MissingError."""
        path = self._env.get("PATH")
        names = (name, *(f"{name}-{version}" for version in range(30, 13, -1)))
        found = next(filter(None, (shutil.which(n, path=path) for n in names)), None)
        if found is None:
            raise MissingError(f"{name} is not installed: `apt install llvm`")
        return found

    def output(self, name: str, words: Iterable[str], text: str) -> str:
        """Return what a tool of LLVM prints about a text; raises MissingError."""
        done = self._done(name, words, text)
        if done.returncode:
            raise MissingError(f"{name}: {_error_in(done.stderr)}")
        return done.stdout

    def _done(
        self, name: str, words: Iterable[str], text: str = ""
    ) -> subprocess.CompletedProcess[str]:
        self._beat()
        try:
            return subprocess.run(  # noqa: S603
                [self.path(name), *words],
                input=text,
                env=self._env,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self._seconds(),
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise MissingError(f"{name} took too long") from None

    def predict(self, text: str) -> dict[str, Any]:
        """Return llvm-mca's view of the instructions; raises MissingError."""
        if self._options is None:
            self._options = self._choose_processor()
        return self._predict(text, self._options)

    def _predict(self, text: str, options: list[str]) -> dict[str, Any]:
        words = ["--json", f"--iterations={_ITERATIONS}", *options]
        found: dict[str, Any] = json.loads(self.output("llvm-mca", words, text))
        return found

    def _choose_processor(self) -> list[str]:
        """Return the option that names the processor; none if LLVM knows this one."""
        version = re.search(
            r"LLVM version (\S+)", self.output("llvm-mca", ["--version"], "")
        )
        options: list[str] = []
        note = ""
        loads = _LOADS.get(os.uname().machine, _NO_LOADS)
        found = self._predict(loads, options)
        if found["TargetInfo"]["CPUName"] == "generic" and (near := self._nearest()):
            options, note = [f"--mcpu={near}"], _NEAREST_NOTE
            found = self._predict(loads, options)
        listed = found["CodeRegions"][0]["InstructionInfoView"]["InstructionList"]
        latencies = [one["Latency"] for one in listed]
        pairs = zip(latencies[::2], latencies[1::2])  # noqa: B905
        self.about = {
            "analyser": f"llvm-mca {version[1]}" if version else "llvm-mca",
            "cpu": found["TargetInfo"]["CPUName"] + note,
            "load_latencies": [loaded - plain for loaded, plain in pairs],
        }
        return options

    def _nearest(self) -> str:
        """Return the nearest processor that LLVM knows; empty if none is known."""
        listed = self._done("llvm-mca", ["--mcpu=help"]).stderr
        known = set(re.findall(r"^\s+(\S+)\s+- Select", listed, re.MULTILINE))
        names = _NEAREST.get(_processor(), ())
        return next((name for name in names if name in known), "")

    def _lines(self, words: list[str]) -> Iterator[bytes]:
        self._beat()
        seconds = self._seconds()
        process = subprocess.Popen(  # noqa: S603
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._env,
        )
        assert process.stdout  # noqa: S101
        limit = threading.Timer(seconds, process.kill)
        limit.start()
        try:
            yield from process.stdout
            if not limit.is_alive():
                raise MissingError(f"{os.path.basename(words[0])} took too long")  # noqa: PTH119
        finally:
            limit.cancel()
            process.kill()
            process.stdout.close()
            process.wait()

    def _seconds(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise MissingError(f"the analysis took more than {_ALL_SECONDS:.0f} s")
        return min(left, _TOOL_SECONDS)


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """Return what we use of llvm-mca's answer; figures are for one iteration."""
    region, names = found["CodeRegions"][0], found["TargetInfo"]["Resources"]
    whole = region["SummaryView"]
    listed = region["InstructionInfoView"]["InstructionList"]
    used = [
        [_port(names[one["ResourceIndex"]]), one["ResourceUsage"]]
        for one in region["ResourcePressureView"]["ResourcePressureInfo"]
        if one["InstructionIndex"] == len(listed)
    ]
    return {
        "latencies": [one["Latency"] for one in listed],
        "loads": [one["mayLoad"] for one in listed],
        "stores": [one["mayStore"] for one in listed],
        "micro_operations": whole["TotaluOps"] / whole["Iterations"],
        "dispatch_width": whole["DispatchWidth"],
        "scheduled": whole["TotalCycles"] / whole["Iterations"],
        "perfect": float(whole["BlockRThroughput"]),
        "ports": used,
    }


def _port(name: str) -> str:
    """Return the name of a port; LLVM ends that of one in a group by a control code."""
    return "".join(c if c.isprintable() else str(ord(c)) for c in name)


def _processor() -> tuple[str, str]:
    """Return the vendor and the family of the processor."""
    with open("/proc/cpuinfo") as file:  # noqa: PTH123
        text = file.read(4096)
    names = ("vendor_id", "cpu family")
    found = [re.search(rf"^{n}\s*: (\S+)", text, re.MULTILINE) for n in names]
    return (found[0][1] if found[0] else "", found[1][1] if found[1] else "")


def _error_in(text: str) -> str:
    lines = text.splitlines()
    line = next((line for line in lines if "error" in line), text[:200])
    return printable(line)[:200]


def printable(text: str) -> str:
    """Return a text that can be printed on one line."""
    text = text.encode("utf-8", "replace").decode()
    return "".join(c if c.isprintable() else "?" for c in text)[:1000]
