"""What a command ran in and was made of, as far as it changes how fast it is.

It stands alone like the runner, whose program it is a part of. Whatever cannot be read
is left out.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
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
# Of all others the names may be secrets' as well as the values.
_VARIABLES = re.compile(
    r"(OMP|GOMP|KMP|MKL|OPENBLAS|BLIS|LD|MALLOC|I_MPI|OMPI|UCX|SLURM|CUDA|HIP|ROCR)_\w+"
    r"|PATH|LOADEDMODULES|LANG|LC_ALL|CC|CFLAGS|VIRTUAL_ENV|CONDA_PREFIX"
)
_SECRET = re.compile(
    "KEY|TOKEN|SECRET|PASS|CRED|COOKIE|_PWD|AUTH(?!OR(_|$))", re.IGNORECASE
)
# An address with an account and its password.
_PASSWORD = re.compile(r"://[^/\s@]*:[^/\s@]+@")
_LIBRARY = re.compile(r"^\s*(?:(\S+) => )?(/\S+) \(0x", re.MULTILINE)
_CHOSEN = re.compile(r"\[(\w+)\]")
_ELF = b"\x7fELF\x02\x01"
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_INTERPRETER, _NOTE = 3, 4
_BUILD_ID = 3


class Elf(NamedTuple):
    """What a program says of its making: its loader, compilers and build id."""

    loader: str | None
    compilers: list[str]
    build_id: str | None


def surroundings(
    argv: list[str], env: Mapping[str, str], cwd: str | None, cpus: Iterable[int]
) -> dict[str, Any]:
    """Kernel, frequency control, program, libraries and environment of a command."""
    system = {name: _text(path) for name, path in _SYSTEM.items()}
    governors = {_text(_GOVERNOR.format(cpu)) for cpu in cpus} - {None}
    arguments = (_text("/proc/cmdline") or "").split()
    return {
        "system": {k: _choice(v) for k, v in system.items() if v is not None},
        "kernel_arguments": list(filter(_ARGUMENTS.fullmatch, arguments)),
        "governors": sorted(filter(None, governors)),
        "program": _program(argv[0], env, cwd),
        "environment": {k: v for k, v in sorted(env.items()) if _is_told(k, v)},
    }


def is_secret(name: str, value: str) -> bool:
    """Whether a variable looks like one whose value is not to be told."""
    return bool(_SECRET.search(name) or _PASSWORD.search(value))


def _is_told(name: str, value: str) -> bool:
    return bool(_VARIABLES.fullmatch(name)) and not is_secret(name, value)


def _program(
    command: str, env: Mapping[str, str], cwd: str | None
) -> dict[str, Any] | None:
    """The file that is run; of a script also what runs it."""
    inside = Path(cwd or ".") / command
    found = (
        str(inside) if "/" in command else shutil.which(command, path=env.get("PATH"))
    )
    path = Path(found or command)
    with suppress(OSError):
        path = path.resolve(strict=True)
        size = path.stat().st_size
        if size > _MOST_BYTES:
            return {"path": str(path), "bytes": size}
        content = path.read_bytes()
        return {
            "path": str(path),
            "bytes": size,
            "sha256": hashlib.sha256(content).hexdigest(),
            **_made_of(path, content, env),
        }
    return None


def _made_of(path: Path, content: bytes, env: Mapping[str, str]) -> dict[str, Any]:
    if content.startswith(b"#!"):
        line = content[2:200].split(b"\n", 1)[0].decode(errors="replace")
        return {"interpreter": line.strip()}
    elf = read_elf(content)
    if elf is None:
        return {}
    libraries = _libraries(elf.loader, path, env) if elf.loader else []
    found = {**elf._asdict(), "libraries": libraries}
    return {name: value for name, value in found.items() if value}


def read_elf(content: bytes) -> Elf | None:
    """Loader, compilers and build id of a 64-bit program; None for anything else."""
    if not content.startswith(_ELF):
        return None
    with suppress(struct.error, IndexError, ValueError, OverflowError):
        loader, build_id = None, None
        for kind, piece in _segments(content):
            if kind == _INTERPRETER:
                loader = piece.rstrip(b"\0").decode(errors="replace")
            elif kind == _NOTE:
                build_id = build_id or _build_id(piece)
        told = _section(content, b".comment").split(b"\0")
        compilers = sorted({one.decode(errors="replace") for one in told if one})
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


def _libraries(loader: str, path: Path, env: Mapping[str, str]) -> list[str]:
    """The libraries that the loader finds for a program, which it does not run."""
    with suppress(OSError, subprocess.SubprocessError):
        told = subprocess.run(
            [loader, "--list", str(path)],
            env={**env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
        text = told.stdout.decode(errors="replace")
        return sorted({os.path.realpath(found[1]) for found in _LIBRARY.findall(text)})
    return []


def _choice(text: str) -> str:
    """The one in brackets of several, as in ``always [madvise] never``."""
    chosen = _CHOSEN.search(text)
    return chosen[1] if chosen else text


def _text(path: str) -> str | None:
    with suppress(OSError):
        return Path(path).read_text(errors="replace").strip() or None
    return None
