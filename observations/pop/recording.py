"""Records where the threads of a command spend their time, with `recorder/`.

Like the runner, whose program it is a part of, it imports nothing from this project.
Nothing here fails a run: what goes wrong is the reason why it has no times.
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
from typing import Any

_FLAGS = ("-O2", "-std=gnu11", "-fPIC", "-shared", "-pthread")
_COMPILE_SECONDS = 60.0
_RECORDER, _TOOL = "recorder", "ompt"
# What the recorder reads, and in `LD_PRELOAD` and `OMP_TOOL_LIBRARIES`, what loads it.
_FOLDER, _OTHER_TOOL = "SUPERTWIN_POP_FOLDER", "SUPERTWIN_POP_OTHER_TOOL"
_LIBOMP = ("libomp.so.5", "libomp.so", "libiomp5.so")
_NO_LIBOMP = "LLVM's libomp is not installed: `apt install libomp5`"
_KILLED = "a process ended before it wrote its times: it was killed, or called _exit"
_NOTHING = "no process used OpenMP or MPI that can be recorded"
_STATIC = "the program is static, so it loads no recorder: link it dynamically"
_SEPARATORS = " :"
_INTERPRETER = 3


class TimeRecording:
    """The recorder of a run: what its command needs, and the times afterwards.

    ``request`` has the C files as ``sources``; with ``libomp``, programs that were
    linked to GCC's libgomp run on LLVM's libomp, which can be recorded.
    """

    def __init__(
        self, request: Mapping[str, Any], argv: list[str], env: Mapping[str, str]
    ) -> None:
        self._argv, self._env = argv, env
        self._folder: str | None = None
        self._reason = ""
        self.variables: dict[str, str] = {}
        try:
            self.variables = self._prepared(request)
        except (OSError, subprocess.SubprocessError) as error:
            self._reason = f"the recorder cannot be compiled: {_first_error(error)}"

    def times(self) -> dict[str, Any]:
        """Return the times of all processes, or the reason why there are none."""
        processes: list[Any] = []
        if self._folder:
            processes = self._read(Path(self._folder))
            shutil.rmtree(self._folder, ignore_errors=True)
        return {"reason": self._reason, "processes": processes}

    def _prepared(self, request: Mapping[str, Any]) -> dict[str, str]:
        from tempfile import mkdtemp  # most runs do not need it

        compiler = shutil.which(self._env.get("CC") or "cc", path=self._env.get("PATH"))
        if compiler is None:
            self._reason = "there is no C compiler: `apt install gcc libc6-dev`"
            return {}
        built = _built(compiler, request["sources"], self._env)
        before = [str(built / f"{_RECORDER}.so")]
        if request.get("libomp"):
            before += self._libomp(compiler)
        if set(str(built)) & set(_SEPARATORS):
            self._reason = f"LD_PRELOAD allows no space or colon in the path {built}"
            return {}
        self._folder = mkdtemp(prefix="supertwin-pop-")
        return {
            _FOLDER: self._folder,
            "LD_PRELOAD": _joined(*before, self._env.get("LD_PRELOAD")),
            **self._tool(str(built / f"{_TOOL}.so")),
        }

    def _tool(self, library: str) -> dict[str, str]:
        """Return the variables for OpenMP; a tool of the user comes first."""
        theirs = self._env.get("OMP_TOOL_LIBRARIES")
        found = {"OMP_TOOL_LIBRARIES": _joined(theirs, library)}
        if theirs or self._env.get("OMP_TOOL") == "disabled":
            found[_OTHER_TOOL] = "1"
        return found

    def _libomp(self, compiler: str) -> list[str]:
        for name in _LIBOMP:
            words = [compiler, f"-print-file-name={name}"]
            found = _output(words, self._env).strip()
            if found != name:
                return [found]
        self._reason = _NO_LIBOMP
        return []

    def _read(self, folder: Path) -> list[Any]:
        if any(folder.glob("*.part")):
            self._reason = self._reason or _KILLED
            return []
        found = []
        for path in sorted(folder.glob("*.json")):
            with suppress(OSError, ValueError):
                found.append(json.loads(path.read_text()))
        if not found and not self._reason:
            program = shutil.which(self._argv[0], path=self._env.get("PATH"))
            self._reason = _STATIC if program and _is_static(program) else _NOTHING
        return found


def _built(compiler: str, sources: Mapping[str, str], env: Mapping[str, str]) -> Path:
    """Return the folder of the libraries; compile them if that has not happened."""
    compiler = os.path.realpath(compiler)
    about = json.dumps([sources, _FLAGS, compiler, os.uname().machine], sort_keys=True)
    key = hashlib.sha256(about.encode()).hexdigest()[:16]
    cache = env.get("XDG_CACHE_HOME") or os.path.join(  # noqa: PTH118
        env.get("HOME") or "/tmp",  # noqa: S108
        ".cache",
    )
    folder = Path(cache) / "supertwin" / "pop" / key
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
    _output(words, env, text)


def _output(words: list[str], env: Mapping[str, str], source: str = "") -> str:
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


def _joined(*paths: str | None) -> str:
    return ":".join(path for path in paths if path)


def _is_static(path: str) -> bool:
    """Whether a 64-bit ELF program names no loader."""
    with suppress(OSError, struct.error), open(path, "rb") as file:  # noqa: PTH123
        head = file.read(1 << 16)
        if not head.startswith(b"\x7fELF\x02\x01"):
            return False
        (start,) = struct.unpack_from("<Q", head, 32)
        size, number = struct.unpack_from("<HH", head, 54)
        kinds = [
            struct.unpack_from("<I", head, start + at * size)[0] for at in range(number)
        ]
        return _INTERPRETER not in kinds
    return False
