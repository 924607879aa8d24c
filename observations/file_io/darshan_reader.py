"""Reads a Darshan log with PyDarshan, and prints its content as one line of JSON.

It runs in a separate process, because the C library of PyDarshan does not check logs: a
damaged log may crash the process or use up the memory.
"""

import json
import re
import resource
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_MOST_MEMORY = 4 << 30
# By interface: the counters whose sums are the numbers of opens, reads and writes.
_COUNTERS = {
    "POSIX": (("OPENS",), ("READS",), ("WRITES",)),
    "STDIO": (("OPENS",), ("READS",), ("WRITES",)),
    "MPI-IO": (
        ("INDEP_OPENS", "COLL_OPENS"),
        ("INDEP_READS", "COLL_READS", "SPLIT_READS", "NB_READS"),
        ("INDEP_WRITES", "COLL_WRITES", "SPLIT_WRITES", "NB_WRITES"),
    ),
    "H5F": (("OPENS",), (), ()),
    "H5D": (("OPENS",), ("READS",), ("WRITES",)),
}
_TIMES = ("F_READ_TIME", "F_WRITE_TIME", "F_META_TIME")
_ALL_RANKS = -1
NO_LIBRARY, DAMAGED = "no library", "damaged"


def main(path: str) -> None:
    """Print the content of a log, or why it cannot be read."""
    try:
        from darshan.backend import cffi_backend as darshan
    except (ImportError, RuntimeError, OSError) as error:
        print(json.dumps({"error": NO_LIBRARY, "reason": str(error)}))
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    log = darshan.log_open(path)
    try:
        if log["handle"] == darshan.ffi.NULL:
            raise ValueError(_open_failure(path))
        print(json.dumps(_content(darshan, log)))
    except (ValueError, MemoryError) as error:
        print(json.dumps({"error": DAMAGED, "reason": str(error)}))


def _open_failure(path: str) -> str:
    """Return why a log cannot be opened."""
    # A log begins with the version of its format.
    with Path(path).open("rb") as file:
        version = file.read(8).partition(b"\0")[0]
    if re.fullmatch(rb"[0-9]+\.[0-9]+", version):
        return f"format {version.decode()} is not supported, or its header is cut off"
    return "it is not a log of Darshan"


def _content(darshan: Any, log: dict[str, Any]) -> dict[str, Any]:
    job, modules = darshan.log_get_job(log), darshan.log_get_modules(log)
    names = darshan.log_get_name_records(log)
    if not modules or not job["nprocs"] > 0:
        raise ValueError("it is empty")
    known = {name: module for name, module in modules.items() if name in _COUNTERS}
    return {
        "format": job["log_ver"],
        "library": job["metadata"].get("lib_ver", ""),
        "processes": job["nprocs"],
        "start": job["start_time_sec"],
        "end": job["end_time_sec"],
        "incomplete": [name for name, of in known.items() if of["partial_flag"]],
        "files": [
            one for name in known for one in _files(darshan, log, name, names, job)
        ],
    }


def _files(
    darshan: Any, log: dict[str, Any], name: str, names: Any, job: Any
) -> Iterator[dict[str, Any]]:
    """Yield the sums of each file over the processes that used it."""
    sums: dict[int, dict[str, Any]] = defaultdict(lambda: {"ranks": 0})
    for record in _records(darshan, log, name):
        one, is_shared = sums[record["id"]], record["rank"] == _ALL_RANKS
        one["ranks"] += job["nprocs"] if is_shared else 1
        for key, value in _figures(name, record).items():
            one[key] = one.get(key, 0) + value
    for id_, one in sums.items():
        yield {"interface": name, "path": names.get(id_, f"file {id_:x}"), **one}


def _records(darshan: Any, log: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """Yield all records of a module.

    The function of PyDarshan for this is not used: it ends at an error without a word.
    """
    index = darshan.log_get_modules(log)[name]["idx"]
    buffer = darshan.ffi.new("void **")
    kind = darshan._structdefs[name]
    count = 0
    while True:
        found = darshan.libdutil.darshan_log_get_record(log["handle"], index, buffer)
        # A log that is cut off before a module has none of its records, and no error.
        if found < 0 or not (found or count):
            raise ValueError(f"its records of {name} are damaged")
        if not found:
            return
        count += 1
        record = darshan.ffi.cast(kind, buffer)
        yield darshan._make_generic_record(record, name, "dict")
        darshan.libdutil.darshan_free(buffer[0])
        buffer[0] = darshan.ffi.NULL


def _figures(name: str, record: dict[str, Any]) -> dict[str, int | float]:
    prefix = name.replace("-", "")
    counters, times = record["counters"], record["fcounters"]

    def total(*words: str) -> int:
        # A counter is -1 if the module could not count.
        return sum(max(0, int(counters.get(f"{prefix}_{word}", 0))) for word in words)

    opens, reads, writes = _COUNTERS[name]
    read, write, meta = (max(0.0, float(times.get(f"{prefix}_{t}", 0))) for t in _TIMES)
    return {
        **{"opens": total(*opens), "reads": total(*reads), "writes": total(*writes)},
        **{"bytes_read": total("BYTES_READ"), "bytes_written": total("BYTES_WRITTEN")},
        **{"read_time": read, "write_time": write, "metadata_time": meta},
    }


if __name__ == "__main__":
    main(sys.argv[1])
