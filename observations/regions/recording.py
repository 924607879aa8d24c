"""Records the regions that a command names, with `recorder/` and a pipe.

This is a part of the runner's program, as `observations.recorder` is. Nothing here
fails a run: what goes wrong is a reason in its record.
"""

from __future__ import annotations

import os
import shutil
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from observations.recorder import RecorderError, is_static, joined_paths, libraries
from observations.regions.piped import (
    MOST_NAME,
    MOST_REGIONS,
    PipedRegions,
    RegionTable,
    region_name,
)
from observations.slice_times import keep_longest_slices, read_clocks, set_wall_clock

_REGIONS_RECORDER = "regions"
# Kokkos before 3.7 reads the second one. Later versions abort if they differ.
_KOKKOS = ("KOKKOS_TOOLS_LIBS", "KOKKOS_PROFILE_LIBRARY")
_NO_REGIONS = (
    "no region was named by likwid's Marker API, Kokkos Tools, Caliper's C API, or "
    "$SUPERTWIN_REGIONS"
)
_STATIC_PROGRAM = (
    "the program is static, so it loads no recorder: link it dynamically, or write to "
    "$SUPERTWIN_REGIONS"
)
_KOKKOS_TAKEN = "Kokkos is not recorded: {name} names another tool"
_UNNAMED = "(no name)"
# As in regions.c: the events, the start of a file, and a region and a slice in it. A
# test compares them.
MOST_EVENTS = 12
BLOCK = struct.Struct(f"@8s4I3i{MOST_EVENTS}i2I6Q")
REGION = struct.Struct(f"@2I3Q{3 * MOST_EVENTS}Q{MOST_NAME + 1}s")
SLICE = struct.Struct("@3Q")
_MAGIC = b"regions2"
# Of all threads together.
MOST_TIMES = 20_000
_PIPE_BYTES, _PIPE_SIZE = 1 << 18, 1031  # F_SETPIPE_SZ
_DEVICES = "/sys/bus/event_source/devices"


class RegionRecording:
    """The recorder of a run: what its command needs, and the regions afterwards.

    ``request`` has the C file in ``sources``, and ``events`` to count: each has a name
    and the ``type``, ``config`` and ``config1`` of perf_event_open, or the ``device``
    and ``event`` of /sys. ``pipe`` is to be read when it has data.
    """

    def __init__(
        self, request: Mapping[str, Any], argv: list[str], env: Mapping[str, str]
    ) -> None:
        from tempfile import mkdtemp  # most runs do not need it

        self._argv, self._env = argv, env
        self._began = read_clocks()
        self._reasons: list[str] = []
        self._piped = PipedRegions()
        self._folder = ""
        self.pipe: int | None = None
        self.variables: dict[str, str] = {}
        self._events = [
            {"name": one["name"], "reason": ""}
            for one in request.get("events", ())[:MOST_EVENTS]
        ]
        try:
            self._folder = mkdtemp(prefix="supertwin-regions-")
            self._open_pipe(os.path.join(self._folder, "pipe"))  # noqa: PTH118
            self.variables.update(self._prepared(request))
        except (OSError, RecorderError) as error:
            self._reasons.append(str(error))

    def read(self) -> None:
        """Read lines from the pipe; raises BlockingIOError if there are none."""
        if self.pipe is not None:
            self._piped.add(os.read(self.pipe, _PIPE_BYTES), time.monotonic_ns())

    def times(self) -> dict[str, Any]:
        """Return the regions of all threads, and reasons for what is missing."""
        with suppress(BlockingIOError):
            while self.pipe is not None:
                self.read()
        blocks = [*_blocks(self._folder)] if self._folder else []
        shutil.rmtree(self._folder, ignore_errors=True)
        table = RegionTable()
        threads = [*_threads(blocks, table, len(self._events))]
        piped = self._piped.thread(table)
        threads += [piped] if piped else []
        counts = self._counts(blocks)
        counts["omitted"] += keep_longest(threads)
        counts["left_out_slices"] += keep_longest_slices(threads)
        set_wall_clock(threads, self._began, read_clocks())
        return {
            "reasons": [*self._reasons, *self._missing(table.rows)],
            "events": self._opened(blocks),
            "user_only": any(one["user_only"] for one in blocks),
            **counts,
            "regions": table.rows,
            "threads": threads,
        }

    def _open_pipe(self, path: str) -> None:
        import fcntl

        os.mkfifo(path, 0o600)
        # Also open for writing: a writer never waits for a reader, and never ends it.
        self.pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        with suppress(OSError):  # the user's limit may be lower
            fcntl.fcntl(self.pipe, _PIPE_SIZE, _PIPE_BYTES)
        self.variables["SUPERTWIN_REGIONS"] = path

    def _prepared(self, request: Mapping[str, Any]) -> dict[str, str]:
        built = libraries("regions", request["sources"], self._env)
        library = str(built / f"{_REGIONS_RECORDER}.so")
        found = {
            "SUPERTWIN_REGIONS_FOLDER": self._folder,
            "SUPERTWIN_REGIONS_EVENTS": self._codes(request.get("events", ())),
            "LD_PRELOAD": joined_paths(library, self._env.get("LD_PRELOAD")),
        }
        taken = [name for name in _KOKKOS if self._env.get(name)]
        self._reasons += [_KOKKOS_TAKEN.format(name=name) for name in taken[:1]]
        return found if taken else {**found, **dict.fromkeys(_KOKKOS, library)}

    def _codes(self, events: Any) -> str:
        """Return the events as the recorder reads them; ~0 cannot be opened."""
        words = []
        for about, one in zip(self._events, events):  # noqa: B905 (Python 3.8)
            code = _code(one)
            if code is None:
                about["reason"] = f"the kernel does not offer {one['name']}"
            words.append(":".join(map(str, code or (0xFFFFFFFF, 0, 0))))
        return " ".join(words)

    def _counts(self, blocks: list[dict[str, Any]]) -> dict[str, int]:
        found = dict(self._piped.counts)
        found["unfinished"] = self._piped.unfinished
        found["left_out_slices"] = self._piped.left_out_slices
        for name in ("omitted", "unbalanced", "unfinished", "left_out_slices"):
            found[name] += sum(one[name] for one in blocks)
        return found

    def _missing(self, regions: list[Any]) -> list[str]:
        if regions or self._reasons:
            return []
        is_static_ = is_static(self._argv[0], self._env)
        return [_STATIC_PROGRAM if is_static_ else _NO_REGIONS]

    def _opened(self, blocks: list[dict[str, Any]]) -> list[dict[str, str]]:
        for at, about in enumerate(self._events):
            errors = [one["errors"][at] for one in blocks if one["errors"][at]]
            if errors and not about["reason"]:
                text = os.strerror(errors[0])
                about["reason"] = f"the kernel does not count {about['name']}: {text}"
        return self._events


def keep_longest(threads: list[dict[str, Any]]) -> int:
    """Keep the longest times if there are too many; return how many are left out."""
    every = [one for thread in threads for one in thread["times"]]
    every.sort(key=lambda one: -one[2])
    kept = {id(one) for one in every[:MOST_TIMES]}
    for thread in threads:
        thread["times"] = [one for one in thread["times"] if id(one) in kept]
    return len(every) - len(kept)


def _blocks(folder: str) -> Any:
    """Yield the content of the files of all threads, ranks first."""
    found = []
    for path in Path(folder).glob("*.*"):
        with suppress(OSError, ValueError, struct.error):
            found.append(_block(path))
    return sorted(found, key=lambda one: (one["rank"], one["pid"], one["number"]))


def _block(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    magic, *fields = BLOCK.unpack_from(content)
    if magic != _MAGIC:
        raise ValueError
    _, _, at, size, pid, rank, user_only, *errors = fields[: 7 + MOST_EVENTS]
    depth, number, omitted, unbalanced, unfinished, *more = fields[7 + MOST_EVENTS :]
    regions = [REGION.unpack_from(content, at + size * i) for i in range(1, number)]
    slices, left_out, _ = more
    first = at + size * MOST_REGIONS
    last = first + SLICE.size * slices
    return {
        "pid": pid,
        "rank": rank,
        "number": int(path.suffix[1:]),
        "user_only": bool(user_only),
        "errors": errors,
        "unfinished": unfinished + depth,
        "omitted": omitted,
        "unbalanced": unbalanced,
        "regions": regions,
        "slices": [*SLICE.iter_unpack(content[first:last])],
        "left_out_slices": left_out,
    }


def _threads(blocks: Any, table: RegionTable, events: int) -> Any:
    """Yield the regions of each thread that ended at least one."""
    pids: list[int] = []
    for block in blocks:
        if block["pid"] not in pids:
            pids.append(block["pid"])
        numbers, times = [-1], []
        for parent, _, count, ns, cpu, *rest in block["regions"]:
            name = region_name(rest[-1].partition(b"\0")[0]) or _UNNAMED
            numbers.append(table.number(numbers[parent], name))
            counts = [rest[3 * at : 3 * at + 3] for at in range(events)]
            if count:
                times.append([numbers[-1], count, ns, cpu, counts])
        process = pids.index(block["pid"])
        about = {"rank": block["rank"], "process": process, "piped": False}
        slices = [[numbers[at], begin, end] for at, begin, end in block["slices"]]
        if times:
            number = block["number"]
            yield {**about, "thread": number, "times": times, "slices": slices}


def _code(event: Mapping[str, Any]) -> tuple[int, int, int] | None:
    if "device" in event:
        return _device_code(event["device"], event["event"])
    return event["type"], event["config"], event.get("config1", 0)


def _device_code(device: str, event: str) -> tuple[int, int, int] | None:
    """Return type and configurations of an event that the kernel names in /sys."""
    folder = Path(_DEVICES) / device
    try:
        configs = {"config": 0, "config1": 0}
        for term in (folder / "events" / event).read_text().strip().split(","):
            name, _, value = term.partition("=")
            where = (folder / "format" / name).read_text().strip()
            config, _, bits = where.partition(":")
            configs[config] |= int(value or "1", 0) << int(bits.partition("-")[0])
        return (int((folder / "type").read_text()), *configs.values())  # type: ignore[return-value]
    except (OSError, ValueError, KeyError):
        return None
