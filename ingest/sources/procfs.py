"""The operating system and the CPU models, from /proc and /etc."""

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ingest.errors import MalformedSourceError
from ingest.gaps import report_gap
from ingest.sources.files import read_text, read_value
from ingest.sources.machine import HERE, Machine

_MACHINE_ID = re.compile(r"[0-9a-f]{32}")
_QUOTED = re.compile(r"""^(["'])(.*)\1$""")
# Keys on x86, then on Arm, where numbers replace names.
_CPU_KEYS = {
    "vendor": ("vendor_id", "CPU implementer"),
    "family": ("cpu family", "CPU architecture"),
    "model": ("model", "CPU part"),
    "stepping": ("stepping", "CPU revision"),
    "name": ("model name", "cpu"),
    "microcode": ("microcode",),
}


def read_os(machine: Machine = HERE) -> dict[str, Any]:
    """Read the operating system; ``memory`` in bytes. Raises ProbeSourceError."""
    root = machine.root
    kernel = root / "proc/sys/kernel"
    machine_id = read_value(root / "etc/machine-id") or ""
    return {
        "hostname": read_value(kernel / "hostname"),
        "os_name": _os_name(root),
        "kernel": read_value(kernel / "osrelease"),
        "architecture": machine.architecture(),
        "boot_id": read_value(kernel / "random/boot_id"),
        "machine_id": parse_machine_id(machine_id),
        "memory": parse_meminfo(read_text(root / "proc/meminfo")),
    }


def read_cpu(machine: Machine = HERE) -> dict[str, Any]:
    """Read the CPU model of each socket; raises ProbeSourceError."""
    text = read_text(machine.root / "proc/cpuinfo")
    return parse_cpuinfo(text, partial(_package, machine.root))


def _package(root: Path, cpu: str) -> str | None:
    """The socket of a CPU from /sys, since Arm's /proc/cpuinfo does not name it."""
    topology = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
    return read_value(topology / "physical_package_id")


def parse_os_release(text: str) -> str | None:
    """The name of a distribution, from the text of an os-release file."""
    pairs = (line.partition("=") for line in text.splitlines())
    values = {key.strip(): _unquote(value.strip()) for key, _, value in pairs}
    return values.get("PRETTY_NAME") or values.get("NAME") or None


def parse_machine_id(text: str) -> str | None:
    """A machine-id; None if it is unset, as in many container images."""
    text = text.strip()
    return text if _MACHINE_ID.fullmatch(text) and text.strip("0") else None


def parse_meminfo(text: str) -> int:
    """The total of /proc/meminfo in bytes; raises MalformedSourceError."""
    total = re.search(r"^MemTotal:\s+([0-9]+) kB$", text, re.MULTILINE)
    if total is None:
        raise MalformedSourceError(
            "/proc/meminfo has no MemTotal: check that proc is mounted at /proc"
        )
    return int(total[1]) * 1024


def parse_cpuinfo(
    text: str, package: Callable[[str], str | None] = lambda cpu: None
) -> dict[str, Any]:
    """The first CPU of each socket, from the text of /proc/cpuinfo.

    ``package`` returns the socket of a CPU if the text does not name it. The clock is
    left out, since it is a momentary reading. ``microcode`` is the revision of most
    threads of a socket, ``other_microcode`` those of all other threads, by OS index.
    Raises MalformedSourceError.
    """
    sockets: dict[str, list[dict[str, str]]] = {}
    for block in re.split(r"\n\s*\n", text.strip()):
        values = _cpu_values(block)
        if cpu := values.get("processor"):
            socket = values.get("physical id") or package(cpu) or "0"
            sockets.setdefault(socket, []).append(values)
    if not sockets:
        raise MalformedSourceError(
            "/proc/cpuinfo lists no CPU: check that proc is mounted at /proc"
        )
    return {"sockets": {name: _socket(threads) for name, threads in sockets.items()}}


def _os_name(root: Path) -> str | None:
    for name in ("etc/os-release", "usr/lib/os-release"):
        if text := read_value(root / name):
            return parse_os_release(text)
    return None


def _unquote(text: str) -> str:
    quoted = _QUOTED.match(text)
    return quoted[2] if quoted else text


def _cpu_values(block: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in block.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _socket(threads: list[dict[str, str]]) -> dict[str, Any]:
    facts = _cpu(threads[0])
    _report_parts(threads)
    revisions = {
        thread["processor"]: revision
        for thread in threads
        if (revision := thread.get("microcode"))
    }
    if revisions:
        facts["microcode"] = Counter(revisions.values()).most_common(1)[0][0]
    others = {
        index: revision
        for index, revision in revisions.items()
        if revision != facts["microcode"]
    }
    return {**facts, "other_microcode": others} if others else facts


def _report_parts(threads: list[dict[str, str]]) -> None:
    """Report Arm's part numbers as gaps: a socket may have big and little cores."""
    parts = sorted({thread["CPU part"] for thread in threads if "CPU part" in thread})
    if parts and "model name" not in threads[0]:
        report_gap(
            "CPU part in /proc/cpuinfo", parts[0], "a name: Arm only has numbers"
        )
    for part in parts:
        if part != threads[0].get("CPU part"):
            report_gap("CPU part in /proc/cpuinfo", part, "the part of the first CPU")


def _cpu(values: dict[str, str]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        fact: next((values[key] for key in keys if values.get(key)), None)
        for fact, keys in _CPU_KEYS.items()
    }
    flags = values.get("flags") or values.get("Features") or ""
    return {**facts, "flags": sorted(set(flags.split()))}
