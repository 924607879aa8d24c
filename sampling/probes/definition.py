"""What a probe counts, where it is attached, and the file that lists all probes."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core.linux.files import read_json, write_whole
from sampling.probes.arguments import Form
from sampling.probes.errors import ProbeArgumentError, ProbeError

PROBES_FILE = "probes.json"
MOST = 64  # as many as the kernel's part has room for
# Calls that each CPU times in 100 ms; the others are counted as shed.
DEFAULT_LIMIT = 10_000
# What calls are counted by; the numbers are those of probes.h.
BY = {"thread": 1, "cpu": 2, "cgroup": 3}
_MOST_ARGUMENTS = 12  # of a USDT probe
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_WORD = re.compile(r"[A-Za-z0-9_]{1,128}")
_LONGEST = 4096
_EXPECTED = (
    "expected uprobe:/BINARY:FUNCTION, usdt:/BINARY:PROVIDER:PROBE or "
    "tracepoint:CATEGORY:EVENT"
)


@dataclass(frozen=True)
class Target:
    """A function, USDT probe or tracepoint, in the words of bpftrace.

    ``group`` is the provider of a USDT probe or the category of a tracepoint; a
    tracepoint has no binary.
    """

    kind: str
    binary: str
    group: str
    name: str

    def __str__(self) -> str:
        return ":".join(
            part for part in (self.kind, self.binary, self.group, self.name) if part
        )


@dataclass(frozen=True)
class Place:
    """Where in a binary a probe is attached: offsets in the file (bytes).

    ``semaphore`` is where a USDT probe counts its users, 0 without one. ``form`` is how
    the argument is read there.
    """

    offset: int
    semaphore: int = 0
    form: Form | None = None


@dataclass(frozen=True)
class CodeProbe:
    """A probe: ``begin`` is counted; with ``times``, also how long until its end.

    The end is the return of the function, or ``end``. ``build_id`` identifies the
    binary that was checked. ``limit`` is how many calls a CPU times in 100 ms. A probe
    that takes more than ``percent`` of a CPU is stopped; 0 means never. ``by`` is a key
    of BY, or empty. ``argument`` is the number of an argument whose values are counted,
    the name of a tracepoint's field, or empty.
    """

    name: str
    begin: Target
    times: bool = False
    end: Target | None = None
    build_id: str = ""
    begins: tuple[Place, ...] = ()
    ends: tuple[Place, ...] = ()
    limit: int = DEFAULT_LIMIT
    percent: float = 0.0
    by: str = ""
    argument: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ProbeError(
                f"{self.name[:64]!r} is not a name of a probe: use a letter, then up "
                "to 63 letters, digits, '.', '_' and '-'"
            )
        if self.limit < 1:
            raise ProbeError(f"the limit of {self.name!r} must be at least 1 call")
        if self.by and self.by not in BY:
            raise ProbeError(
                f"calls cannot be counted by {self.by[:64]!r}: use {', '.join(BY)}"
            )
        if self.argument:
            _check_argument(self.begin, self.argument)
        if self.end and self.end.kind != self.begin.kind:
            raise ProbeError(
                f"{self.begin} and {self.end} are of two kinds: use two of one kind"
            )
        if self.end and self.end.binary != self.begin.binary:
            raise ProbeError(
                f"{self.begin} and {self.end} are in two binaries: use one binary"
            )
        if self.times and not self.end and self.begin.kind != "uprobe":
            raise ProbeError(
                f"{self.begin} has no return: name its end by --until, or count calls "
                "without --latency"
            )

    @property
    def counts(self) -> str:
        """What is counted, in a word."""
        return "latency" if self.times else "calls"


def _check_argument(target: Target, argument: str) -> None:
    if target.kind == "tracepoint":
        if not _WORD.fullmatch(argument) or argument.isdigit():
            raise ProbeArgumentError(
                f"{argument[:64]!r} is no field of {target}: name one, such as next_pid"
            )
    elif not re.fullmatch("[1-9][0-9]?", argument) or int(argument) > _MOST_ARGUMENTS:
        raise ProbeArgumentError(
            f"{argument[:64]!r} is no argument of {target}: give its number, from 1"
        )


def parse_target(text: str) -> Target:
    """Read a target such as ``uprobe:/usr/lib/libmpi.so:MPI_Send``."""
    kind, _, rest = text.partition(":")
    if kind == "tracepoint":
        group, _, name = rest.partition(":")
        binary = ""
    elif kind in ("uprobe", "usdt") and rest.startswith("/"):
        binary, _, name = rest.rpartition(":")
        group = ""
        if kind == "usdt":
            binary, _, group = binary.rpartition(":")
    else:
        raise ProbeError(f"{text[:200]!r} names no probe: {_EXPECTED}")
    if not _is_valid(kind, binary, group, name):
        raise ProbeError(f"{text[:200]!r} names no probe: {_EXPECTED}")
    return Target(kind, binary, group, name)


def _is_valid(kind: str, binary: str, group: str, name: str) -> bool:
    if kind == "uprobe":  # a symbol of C++ or Fortran has other characters, too
        plain = name.isprintable() and not any(map(str.isspace, name))
        return 0 < len(name) <= _LONGEST and plain and _is_path(binary)
    words = _WORD.fullmatch(group) and _WORD.fullmatch(name)
    return bool(words) and (kind == "tracepoint" or _is_path(binary))


def _is_path(binary: str) -> bool:
    return 1 < len(binary) < _LONGEST and binary.isprintable()


def read_probes(path: Path) -> dict[str, CodeProbe]:
    """The probes of a file by name; raises ProbeError for a damaged file."""
    try:
        document = read_json(path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ProbeError(f"{path} cannot be read ({error}): delete it") from error
    try:
        assert isinstance(document, list)  # noqa: S101
        probes = [_probe(one) for one in document]
    except (AssertionError, TypeError, KeyError, AttributeError) as error:
        raise ProbeError(f"{path} does not list probes: delete it") from error
    return {probe.name: probe for probe in probes}


def save_probes(path: Path, probes: Mapping[str, CodeProbe]) -> None:
    """Replace the file that lists the probes; raises OSError."""
    if len(probes) > MOST:
        raise ProbeError(f"at most {MOST} probes are possible: remove one first")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps([asdict(probe) for probe in probes.values()]))
    path.chmod(0o600)


def _probe(document: Mapping[str, Any]) -> CodeProbe:
    given = dict(document)
    end = given.pop("end")
    return CodeProbe(
        **{
            **given,
            "begin": Target(**given["begin"]),
            "begins": tuple(map(_place, given["begins"])),
            "ends": tuple(map(_place, given["ends"])),
            "end": Target(**end) if end else None,
        }
    )


def _place(document: Mapping[str, Any]) -> Place:
    form = document.get("form")
    return Place(**{**document, "form": Form(**form) if form else None})
