"""Compiles recorders on the host of a run, for preloading into its command.

Like the runner, whose program it is a part of, it imports nothing from this project.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_FLAGS = ("-O2", "-std=gnu11", "-fPIC", "-shared", "-pthread")
_COMPILE_SECONDS = 60.0
_NO_COMPILER = "there is no C compiler: `apt install gcc libc6-dev`"
_SEPARATORS = " :"
_PT_INTERP = 3


class RecorderError(Exception):
    """A recorder cannot be preloaded; the text says why."""


def compiler_of(env: Mapping[str, str]) -> str:
    """Return the path of the C compiler; raises RecorderError."""
    found = shutil.which(env.get("CC") or "cc", path=env.get("PATH"))
    if found is None:
        raise RecorderError(_NO_COMPILER)
    return os.path.realpath(found)


def libraries(kind: str, sources: Mapping[str, str], env: Mapping[str, str]) -> Path:
    """Return the folder of a kind of libraries, compiled now or by an earlier run.

    ``sources`` are C files by name, and each becomes the library of this name. Raises
    RecorderError.
    """
    compiler = compiler_of(env)
    try:
        folder = _built(kind, compiler, sources, env)
    except (OSError, subprocess.SubprocessError) as error:
        text = f"the recorder cannot be compiled: {_first_error(error)}"
        raise RecorderError(text) from None
    if set(str(folder)) & set(_SEPARATORS):
        raise RecorderError(f"LD_PRELOAD allows no space or colon in the path {folder}")
    return folder


def _built(
    kind: str, compiler: str, sources: Mapping[str, str], env: Mapping[str, str]
) -> Path:
    about = json.dumps([sources, _FLAGS, compiler, os.uname().machine], sort_keys=True)
    key = hashlib.sha256(about.encode()).hexdigest()[:16]
    cache = env.get("XDG_CACHE_HOME") or os.path.join(  # noqa: PTH118
        env.get("HOME") or "/tmp",  # noqa: S108
        ".cache",
    )
    folder = Path(cache) / "supertwin" / kind / key
    if not folder.exists():
        new = folder.with_name(f"{key}.{os.getpid()}")
        new.mkdir(parents=True, mode=0o700)
        try:
            for name, text in sources.items():
                _compile(compiler, text, new / f"{name}.so", env)
            with suppress(OSError):  # another run was quicker
                new.rename(folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return folder


def _compile(compiler: str, text: str, to: Path, env: Mapping[str, str]) -> None:
    words = [compiler, *_FLAGS, "-x", "c", "-", "-o", str(to), "-ldl"]
    compiler_output(words, env, text)


def compiler_output(words: list[str], env: Mapping[str, str], source: str = "") -> str:
    """Run a compiler; raises OSError and SubprocessError."""
    return subprocess.run(  # noqa: S603
        words,
        input=source,
        env=env,
        capture_output=True,
        text=True,
        timeout=_COMPILE_SECONDS,
        check=True,
    ).stdout


def _first_error(error: Exception) -> str:
    lines = str(getattr(error, "stderr", None) or error).splitlines()
    return next((line for line in lines if "error" in line), str(error))[:300]


def joined_paths(*paths: str | None) -> str:
    """Join paths as LD_PRELOAD does; those that are empty are left out."""
    return ":".join(path for path in paths if path)


def is_static(command: str, env: Mapping[str, str]) -> bool:
    """Whether a command is a 64-bit ELF program that names no loader."""
    path = shutil.which(command, path=env.get("PATH"))
    with suppress(OSError, struct.error), open(path or "", "rb") as file:  # noqa: PTH123
        head = file.read(1 << 16)
        if not head.startswith(b"\x7fELF\x02\x01"):
            return False
        (start,) = struct.unpack_from("<Q", head, 32)
        size, number = struct.unpack_from("<HH", head, 54)
        kinds = [
            struct.unpack_from("<I", head, start + at * size)[0] for at in range(number)
        ]
        return _PT_INTERP not in kinds
    return False
