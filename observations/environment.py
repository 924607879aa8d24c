"""Collects what affects a command's speed: its program, environment and system.

Like the runner, whose program it is a part of, it imports nothing from this project.
Anything that cannot be read is left out.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import struct
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any, Iterable, Mapping, NamedTuple

_MOST_BYTES = 1 << 30
_SECONDS = 5.0
_SYSTEM = {
    "kernel": "/proc/sys/kernel/osrelease",
    "smt": "/sys/devices/system/cpu/smt/control",
    "boost": "/sys/devices/system/cpu/cpufreq/boost",
    "no_turbo": "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "huge_pages": "/sys/kernel/mm/transparent_hugepage/enabled",
    "numa_balancing": "/proc/sys/kernel/numa_balancing",
    "randomized_addresses": "/proc/sys/kernel/randomize_va_space",
}
_ARGUMENTS = re.compile(
    r"(isolcpus|nohz_full|rcu_nocbs|irqaffinity|mitigations|nosmt|maxcpus|idle"
    r"|(intel|amd)_pstate|\w+\.max_cstate|(default_)?hugepages(z)?|numa_balancing"
    r"|transparent_hugepage|preempt|iommu|intel_iommu|amd_iommu)(=\S*)?"
)
_GOVERNOR = "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor"
# Only these variables are recorded: the names of others may be private, too.
_VARIABLES = re.compile(
    r"(OMP|GOMP|KMP|MKL|OPENBLAS|BLIS|LD|MALLOC|I_MPI|OMPI|UCX|SLURM|CUDA|HIP|ROCR)_\w+"
    r"|PATH|LOADEDMODULES|LANG|LC_ALL|CC|CFLAGS|VIRTUAL_ENV|CONDA_PREFIX"
)
_SECRET = re.compile(
    "KEY|TOKEN|SECRET|PASS|CRED|COOKIE|_PWD|AUTH(?!OR(_|$))", re.IGNORECASE
)
# A URL with a user name and password.
_PASSWORD = re.compile(r"://[^/\s@]*:[^/\s@]+@")
_LIBRARY = re.compile(r"^\s*(?:(\S+) => )?(/\S+) \(0x", re.MULTILINE)
_CHOSEN = re.compile(r"\[(\w+)\]")
_ELF = b"\x7fELF\x02\x01"
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_INTERPRETER, _NOTE = 3, 4
_BUILD_ID = 3


class Elf(NamedTuple):
    """The loader, compilers and build id that an ELF program names."""

    loader: str | None
    compilers: list[str]
    build_id: str | None


class CommandEnvironment:
    """The environment of a command; opens its program now, because it may change later.

    The command is given by its argument vector, environment, folder and CPUs.
    """

    def __init__(
        self,
        argv: list[str],
        env: Mapping[str, str],
        cwd: str | None,
        cpus: Iterable[int],
    ) -> None:
        self._env, self._cpus = env, cpus
        self._program = _opened(argv[0], env, cwd)
        self._facts: dict[str, Any] | None = None

    def facts(self) -> dict[str, Any]:
        """Return kernel, frequency control, environment, and path of the program."""
        if self._facts is None:
            self._facts = {
                **_settings(self._cpus),
                "environment": _disclosed(self._env),
            }
        return {**self._facts, "program": self._program and self._program.place()}

    def whole(self) -> dict[str, Any]:
        """Return the same, with the contents of the program described."""
        program = self._program and self._program.read(self._env)
        return {**self.facts(), "program": program}


class Program:
    """The file that is run, kept open: it may be replaced before the run ends."""

    def __init__(self, path: str, number: int) -> None:
        self._path, self._number = path, number
        self._before = _state(number)

    def place(self) -> dict[str, Any]:
        """Return the path and size that it had at the start."""
        return {"path": self._path, "bytes": self._before[0]}

    def read(self, env: Mapping[str, str]) -> dict[str, Any]:
        """Describe its contents if they are unchanged; of a script, its interpreter."""
        content = None
        with suppress(OSError):  # its file server may be gone
            content = self._content()
        if content is None:
            return self.place()
        digest = hashlib.sha256(content).hexdigest()
        return {**self.place(), "sha256": digest, **self._made_of(content, env)}

    def _content(self) -> bytes | None:
        if self._before[0] > _MOST_BYTES or _state(self._number) != self._before:
            return None
        with open(self._number, "rb", closefd=False) as file:  # noqa: PTH123
            file.seek(0)
            return file.read()

    def _made_of(self, content: bytes, env: Mapping[str, str]) -> dict[str, Any]:
        if content.startswith(b"#!"):
            line = content[2:200].split(b"\n", 1)[0].decode(errors="replace")
            return {"interpreter": line.strip()}
        elf = read_elf(content)
        if elf is None:
            return {}
        libraries = self._libraries(elf.loader, env) if elf.loader else []
        found = {**elf._asdict(), "libraries": libraries}
        return {name: value for name, value in found.items() if value}

    def _libraries(self, loader: str, env: Mapping[str, str]) -> list[str]:
        """List the libraries that its loader resolves; does not run the program."""
        with suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(
                [loader, "--list", self._name()],
                env={**env},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_SECONDS,
                check=False,
                pass_fds=[self._number],
            )
            paths = _LIBRARY.findall(done.stdout.decode(errors="replace"))
            return sorted({os.path.realpath(found[1]) for found in paths})
        return []

    def _name(self) -> str:
        """Return its path, or that of our descriptor if the file was replaced.

        The loader may look for libraries next to the path.
        """
        with suppress(OSError):
            if os.path.samestat(os.stat(self._path), os.fstat(self._number)):  # noqa: PTH116
                return self._path
        return f"/proc/self/fd/{self._number}"


def _settings(cpus: Iterable[int]) -> dict[str, Any]:
    system = {name: _text(path) for name, path in _SYSTEM.items()}
    governors = {_text(_GOVERNOR.format(cpu)) for cpu in cpus} - {None}
    arguments = (_text("/proc/cmdline") or "").split()
    return {
        "system": {k: _choice(v) for k, v in system.items() if v is not None},
        "kernel_arguments": list(filter(_ARGUMENTS.fullmatch, arguments)),
        "governors": sorted(filter(None, governors)),
    }


def _disclosed(env: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in sorted(env.items()) if _is_disclosed(k, v)}


def is_secret(name: str, value: str) -> bool:
    """Whether a variable looks as if its value were secret."""
    return bool(_SECRET.search(name) or _PASSWORD.search(value))


def _is_disclosed(name: str, value: str) -> bool:
    return bool(_VARIABLES.fullmatch(name)) and not is_secret(name, value)


def _opened(command: str, env: Mapping[str, str], cwd: str | None) -> Program | None:
    """Open the file of a command; None if it cannot be read."""
    found: str | None = os.path.join(cwd or ".", command)  # noqa: PTH118
    if "/" not in command:
        found = shutil.which(command, path=env.get("PATH"))
    with suppress(OSError):
        path = os.path.realpath(found or command)
        # Opening a named pipe would block.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        if stat.S_ISREG(os.fstat(number).st_mode):
            return Program(path, number)
        os.close(number)
    return None


def _state(number: int) -> tuple[int, int]:
    """Return size and modification time, which change when a file is written to."""
    found = os.fstat(number)
    return found.st_size, found.st_mtime_ns


def read_elf(content: bytes) -> Elf | None:
    """Read loader, compilers and build id of a 64-bit program; None for other files."""
    if not content.startswith(_ELF):
        return None
    with suppress(struct.error, IndexError, ValueError, OverflowError):
        loader, build_id = None, None
        for kind, piece in _segments(content):
            if kind == _INTERPRETER:
                loader = piece.rstrip(b"\0").decode(errors="replace")
            elif kind == _NOTE:
                build_id = build_id or _build_id(piece)
        comments = _section(content, b".comment").split(b"\0")
        compilers = sorted({one.decode(errors="replace") for one in comments if one})
        return Elf(loader, compilers, build_id)
    return None


def _segments(content: bytes) -> Iterable[tuple[int, bytes]]:
    (start,) = struct.unpack_from("<Q", content, 32)
    size, number = struct.unpack_from("<HH", content, 54)
    for at in range(number):
        kind, _, offset, _, _, length, _, _ = _SEGMENT.unpack_from(
            content, start + at * size
        )
        yield kind, content[offset : offset + length]


def _section(content: bytes, name: bytes) -> bytes:
    (start,) = struct.unpack_from("<Q", content, 40)
    size, number, names = struct.unpack_from("<HHH", content, 58)
    found = [_SECTION.unpack_from(content, start + at * size) for at in range(number)]
    if not found:
        return b""
    texts = found[names][4]
    for section in found:
        at = texts + section[0]
        if content[at : at + len(name) + 1] == name + b"\0":
            return content[section[4] : section[4] + section[5]]
    return b""


def _build_id(notes: bytes) -> str | None:
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        name = notes[at + 12 : at + 12 + name_size]
        at += 12 + (name_size + 3) // 4 * 4
        if name == b"GNU\0" and kind == _BUILD_ID:
            return notes[at : at + size].hex()
        at += (size + 3) // 4 * 4
    return None


def _choice(text: str) -> str:
    """Return the choice in brackets, as in ``always [madvise] never``."""
    chosen = _CHOSEN.search(text)
    return chosen[1] if chosen else text


def _text(path: str) -> str | None:
    with suppress(OSError):
        return Path(path).read_text(errors="replace").strip() or None
    return None
