"""Records where the threads of a command spend their time, with `recorder/`.

This is a part of the runner's program, as `observations.recorder` is. Nothing here
fails a run: what goes wrong is the reason why it has no times.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from observations.recorder import (
    RecorderError,
    compiler_of,
    compiler_output,
    is_static,
    joined_paths,
    libraries,
)
from observations.slice_times import keep_longest_slices, read_clocks, set_wall_clock

_RECORDER, _TOOL = "recorder", "ompt"
# What the recorder reads, and in `LD_PRELOAD` and `OMP_TOOL_LIBRARIES`, what loads it.
_FOLDER, _OTHER_TOOL = "SUPERTWIN_POP_FOLDER", "SUPERTWIN_POP_OTHER_TOOL"
_TRACE = "SUPERTWIN_POP_TRACE"
_LIBOMP = ("libomp.so.5", "libomp.so", "libiomp5.so")
_NO_LIBOMP = "LLVM's libomp is not installed: `apt install libomp5`"
_KILLED = "a process ended before it wrote its times: it was killed, or called _exit"
_NOTHING = "no process used OpenMP or MPI that can be recorded"
_STATIC = "the program is static, so it loads no recorder: link it dynamically"


class TimeRecording:
    """The recorder of a run: what its command needs, and the times afterwards.

    ``request`` has the C files as ``sources``; with ``libomp``, programs that were
    linked to GCC's libgomp run on LLVM's libomp, which can be recorded. With ``trace``,
    it also records when each thread was in a call of MPI or in OpenMP's runtime.
    """

    def __init__(
        self, request: Mapping[str, Any], argv: list[str], env: Mapping[str, str]
    ) -> None:
        self._argv, self._env = argv, env
        self._folder: str | None = None
        self._reason = ""
        self._is_traced = bool(request.get("trace"))
        self._began = read_clocks()
        self.pipe: int | None = None
        self.variables: dict[str, str] = {}
        try:
            self.variables = self._prepared(request)
        except (OSError, RecorderError) as error:
            self._reason = str(error)

    def read(self) -> None:
        """Do nothing: the times are in files."""

    def times(self) -> dict[str, Any]:
        """Return the times of all processes, or the reason why there are none."""
        processes: list[Any] = []
        if self._folder:
            processes = self._read(Path(self._folder))
            shutil.rmtree(self._folder, ignore_errors=True)
        found = {"reason": self._reason, "processes": processes}
        return {**found, "trace": self._trace(processes)} if self._is_traced else found

    def _trace(self, processes: list[Any]) -> dict[str, Any]:
        """Take the slices of all threads out of the processes, with the wall clock."""
        numbers: dict[str, int] = {}
        threads: list[dict[str, Any]] = []
        left_out = 0
        processes.sort(key=lambda one: one["rank"])
        for number, process in enumerate(processes):
            names = [numbers.setdefault(n, len(numbers)) for n in process.pop("names")]
            left_out += process.pop("left_out_slices")
            about = {"rank": process["rank"], "process": number}
            for thread, slices in enumerate(process.pop("slices")):
                named = [[names[at], *times] for at, *times in slices]
                threads.append({**about, "thread": thread, "slices": named})
        left_out += keep_longest_slices(threads)
        set_wall_clock(threads, self._began, read_clocks())
        return {"names": [*numbers], "left_out_slices": left_out, "threads": threads}

    def _prepared(self, request: Mapping[str, Any]) -> dict[str, str]:
        from tempfile import mkdtemp  # most runs do not need it

        built = libraries("pop", request["sources"], self._env)
        before = [str(built / f"{_RECORDER}.so")]
        if request.get("libomp"):
            before += self._libomp(compiler_of(self._env))
        self._folder = mkdtemp(prefix="supertwin-pop-")
        return {
            _FOLDER: self._folder,
            "LD_PRELOAD": joined_paths(*before, self._env.get("LD_PRELOAD")),
            **({_TRACE: "1"} if self._is_traced else {}),
            **self._tool(str(built / f"{_TOOL}.so")),
        }

    def _tool(self, library: str) -> dict[str, str]:
        """Return the variables for OpenMP; a tool of the user comes first."""
        theirs = self._env.get("OMP_TOOL_LIBRARIES")
        found = {"OMP_TOOL_LIBRARIES": joined_paths(theirs, library)}
        if theirs or self._env.get("OMP_TOOL") == "disabled":
            found[_OTHER_TOOL] = "1"
        return found

    def _libomp(self, compiler: str) -> list[str]:
        with suppress(OSError, subprocess.SubprocessError):
            for name in _LIBOMP:
                words = [compiler, f"-print-file-name={name}"]
                found = compiler_output(words, self._env).strip()
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
            is_static_ = is_static(self._argv[0], self._env)
            self._reason = _STATIC if is_static_ else _NOTHING
        return found
