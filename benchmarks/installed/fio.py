"""fio (Axboe): its jobs on a file system, and its results in JSON."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.errors import BenchmarkFolderError, BenchmarkOutputError
from benchmarks.installed.fields import figure, line, shown, whole
from benchmarks.programs import Target, run_script
from benchmarks.results import Result, interval_of_median
from core.linux.ssh.reasons import printable

NAME, FOLDER = "fio", "/var/tmp"  # noqa: S108
# Each pattern: name of fio, bytes of a block, operations in flight for each job.
_PATTERNS = (
    ("read", 1 << 20, 8),
    ("write", 1 << 20, 8),
    ("randread", 4096, 1),
    ("randwrite", 4096, 1),
    ("randread", 4096, 32),
    ("randwrite", 4096, 32),
)
_KERNELS = {
    **{"read": "sequential read", "write": "sequential write"},
    **{"randread": "random read", "randwrite": "random write"},
}
# Fewer repetitions have no interval.
_REPEATS, _MEBI = 6, 1 << 20
_SIZE = re.compile(r"([0-9]{1,12})([kmg]?)(?:i?b)?")
_LARGEST_BLOCK = 1 << 32
_ONE_WORD = re.compile(r"[A-Za-z0-9._/-]{1,40}")
_GLOBAL = """\
[global]
filename_format=file.$jobnum
size={size}
time_based=1
runtime={milliseconds}ms
group_reporting=1
numjobs={jobs}
ioengine=${{ENGINE}}
direct=${{DIRECT}}
end_fsync=1
"""
# $1: the folder, $2: bytes of the files. Prints what is wrong with the folder.
_CHECK = """\
case $1 in
  /*) ;;
  *) echo "$1 is not an absolute path"; exit ;;
esac
if [ ! -d "$1" ] || [ ! -w "$1" ]; then
  echo "$1 is not a folder that can be written"
  exit
fi
free=$(df -P -B1 "$1" | awk 'NR == 2 {print $4}')
if [ "$2" -gt "$free" ]; then
  need="the files need $(($2 / 1000000)) MB in $1"
  echo "$need, but $((free / 1000000)) MB are free"
fi
"""
# $1: the folder, $2: the jobs. A file system that refuses direct access is measured
# through the page cache.
_SCRIPT = """\
set -e
folder=$(mktemp -d -p "$1" supertwin-fio.XXXXXX)
trap 'rm -rf "$folder"' EXIT
trap 'exit 143' TERM INT HUP
cd "$folder"
export DIRECT=0 ENGINE=psync
if dd if=/dev/zero of=file.0 bs=4096 count=1 oflag=direct 2>/dev/null; then
  export DIRECT=1 ENGINE=libaio
fi
printf '%s' "$2" > jobs.fio
fio --output-format=json --output=results jobs.fio >&2
df --output=fstype "$folder" | tail -n 1
cat results
"""


def fio_command(folder: str, jobs: int, mebibytes: int, seconds: float) -> list[str]:
    """Return the command that measures the file system of a folder.

    ``mebibytes`` is the size of all files together, ``seconds`` the time of each of 36
    runs: six patterns, each six times.
    """
    share = max(1, mebibytes // jobs) * _MEBI
    text = _GLOBAL.format(size=share, milliseconds=round(1000 * seconds), jobs=jobs)
    for number in range(_REPEATS):
        for pattern, block, depth in _PATTERNS:
            text += (
                f"[{pattern}-{depth}-{number}]\nstonewall\nrw={pattern}\nbs={block}\n"
                f"iodepth={depth}\n"
            )
    return ["sh", "-c", _SCRIPT, "sh", folder, text]


def check_folder(folder: str, mebibytes: int, target: Target) -> None:
    """Raise BenchmarkFolderError unless files fit into a folder on a host."""
    words = ("sh", "-c", _CHECK, "sh", folder, str(mebibytes * _MEBI))
    _, out, _ = run_script(words, b"", target)
    if lines := out.splitlines():
        raise BenchmarkFolderError(
            f"{printable(lines[0])} on {target.host}: name another --folder"
        )


# ---- results ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Setting:
    """How some jobs ran; jobs with the same settings are repetitions."""

    pattern: str
    block: int
    jobs: int
    depth: int
    direct: bool

    def words(self, file_system: str) -> str:
        access = "direct" if self.direct else "page cache"
        return ", ".join(filter(None, (file_system, access, f"depth {self.depth}")))


def read_fio(printed: str) -> list[Result]:
    """Read fio's JSON, after a line with the file system if we ran it.

    Raises BenchmarkOutputError.
    """
    before, brace, rest = printed.partition("{")
    try:
        return _results(json.loads(brace + rest), _file_system(before))
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise BenchmarkOutputError(
            f"it is not a complete JSON output of fio 3 ({error})"
        ) from None


def _results(document: Mapping[str, Any], system: str) -> list[Result]:
    tool = line("fio version", document["fio version"])
    runs, disk = _by_setting(document), _disk(document)
    if not runs:
        raise BenchmarkOutputError("it has no jobs")
    return [
        _result(setting, figures, kind, tool, system, disk)
        for setting, sides in runs.items()
        for kind, figures in _figures(setting, sides).items()
    ]


def _file_system(before: str) -> str:
    """Return the word before the JSON; fio's own warnings are several words."""
    return before.strip() if _ONE_WORD.fullmatch(before.strip()) else ""


def _by_setting(document: Mapping[str, Any]) -> dict[_Setting, list[Any]]:
    found: dict[_Setting, list[Any]] = {}
    for job in document["jobs"]:
        options = {**document.get("global options", {}), **job["job options"]}
        if job["error"]:
            raise BenchmarkOutputError(
                f"job {shown(job['jobname'])} failed with error {shown(job['error'])}"
            )
        setting = _setting(options)
        side = job["read" if setting.pattern.endswith("read") else "write"]
        found.setdefault(setting, []).append(side)
    return found


def _setting(options: Mapping[str, str]) -> _Setting:
    pattern = options["rw"]
    if pattern not in _KERNELS:
        raise BenchmarkOutputError(
            f"rw: expected one of {', '.join(_KERNELS)}, found {shown(pattern)}"
        )
    is_waiting = options.get("ioengine", "psync").endswith("sync")
    return _Setting(
        pattern,
        _bytes(options.get("bs", "4k")),
        whole("numjobs", options.get("numjobs", "1")),
        1 if is_waiting else whole("iodepth", options.get("iodepth", "1")),
        options.get("direct", "0") == "1",
    )


def _bytes(text: str) -> int:
    """Read a size as fio writes it, such as 4k or 1m; its units are powers of 1024."""
    size = _SIZE.fullmatch(text.lower())
    power = " kmg".index(size[2] or " ") if size else 0
    found = int(size[1]) << (10 * power) if size else text
    return whole("bs", found, _LARGEST_BLOCK)


def _disk(document: Mapping[str, Any]) -> str:
    names = [line("disk_util", each["name"]) for each in document.get("disk_util", ())]
    return names[0] if len(names) == 1 else ""


_Figure = Callable[[Mapping[str, Any]], float]


def _figures(
    setting: _Setting, sides: Iterable[Mapping[str, Any]]
) -> dict[tuple[str, str], list[float]]:
    """Return the values of all repetitions by name and unit."""
    each = [*sides]
    read: dict[tuple[str, str], _Figure]
    if setting.pattern.startswith("rand"):
        read = {
            ("operations", "NUM-PER-SEC"): lambda side: side["iops"],
            ("mean latency", "NanoSEC"): lambda side: side["clat_ns"]["mean"],
            ("99 % latency", "NanoSEC"): lambda side: side["clat_ns"]["percentile"][
                "99.000000"
            ],
        }
    else:
        read = {("bandwidth", "BYTE-PER-SEC"): lambda side: side["bw_bytes"]}
    try:
        return {
            name: [figure(f"{name[0]} of a job", of(one)) for one in each]
            for name, of in read.items()
        }
    except (KeyError, TypeError) as error:
        raise BenchmarkOutputError(
            f"a job of {setting.pattern} lacks {error}: fio 3 writes it"
        ) from None


def _result(
    setting: _Setting,
    values: Sequence[float],
    name: tuple[str, str],
    tool: str,
    system: str,
    disk: str,
) -> Result:
    figure, unit = name
    low, high = interval_of_median(values) or (None, None)
    return Result(
        _KERNELS[setting.pattern],
        unit,
        setting.jobs,
        median(values),
        min(values) if unit == "NanoSEC" else max(values),
        len(values),
        low=low,
        high=high,
        kind=f"{figure}, {setting.words(system)}",
        tool=tool,
        transfer=setting.block,
        system=system,
        disk=disk,
    )
