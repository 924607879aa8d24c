"""Reads likwid's files of performance groups.

A file has the text SHORT, a line ``REGISTER EVENT`` for each counter below EVENTSET, a
line ``NAME FORMULA`` for each metric below METRICS, and a description below LONG.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from observations.errors import BadGroupError, UnknownGroupError

FOLDERS = (
    Path("/usr/share/likwid/perfgroups"),
    Path("/usr/local/share/likwid/perfgroups"),
)
_MOST_BYTES, _MOST_COUNTERS, _MOST_METRICS = 1 << 20, 1_000, 200
_COUNTER = re.compile(r"([A-Z][A-Z0-9]*)((?::[A-Z0-9]+(?:=\w+)?)*)\s+([A-Z]\w*)")
_KIND = re.compile(r"[A-Z]+")
_NAME = re.compile(r"[A-Za-z]\w*")
_WORDS = ("SHORT", "EVENTSET", "METRICS", "LONG")


@dataclass(frozen=True)
class Counter:
    """A register of a processor, the event that it counts, and the event's options.

    Formulas name the register with the options: ``PMC1:EDGEDETECT``.
    """

    register: str
    event: str
    options: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The kind of the register, such as PMC or MBOX."""
        found = _KIND.match(self.register)
        return found[0] if found else self.register

    @property
    def name(self) -> str:
        """The event with its options, as a name."""
        return re.sub(r"\W", "_", "_".join((self.event, *self.options)))


@dataclass(frozen=True)
class LikwidGroup:
    """A performance group for a PMU model.

    ``counters`` are by register, and ``metrics`` are the formulas by name.
    """

    name: str
    model: str
    title: str
    counters: Mapping[str, Counter]
    metrics: Mapping[str, str]
    description: str
    source: str


@cache
def translations() -> dict[str, Any]:
    """Return ``likwid.yaml``: what likwid calls differently."""
    path = Path(__file__).with_suffix(".yaml")
    found: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return found


def group_files(word: str) -> list[Path]:
    """Return the files that a word names: a path, a folder, or ``skylakeX/FLOPS_DP``.

    Raises UnknownGroupError.
    """
    for path in (Path(word), *(one / word for one in FOLDERS)):
        if path.is_dir() and (found := sorted(path.glob("*.txt"))):
            return found
        for file in (path, path.with_name(f"{path.name}.txt")):
            if path.name and file.is_file():
                return [file]
    raise UnknownGroupError(
        f"{word[:200]!r} is neither a file nor a group in {FOLDERS[0]}: "
        "`apt install likwid` installs groups such as skylakeX/FLOPS_DP"
    )


def read_group(path: Path, model: str = "") -> LikwidGroup:
    """Read a file; its folder names the processor unless a PMU ``model`` is given.

    Raises BadGroupError and OSError.
    """
    known = translations()["architectures"]
    folder = path.absolute().parent.name
    if not (found := model or known.get(folder)):
        raise BadGroupError(
            f"{path}: {folder} is not a processor of likwid that is known here: name "
            "its PMU by --pmu, such as skx"
        )
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    return parse_group(content, path, found)


def parse_group(content: bytes, path: Path, model: str) -> LikwidGroup:
    """Parse the content of a file; raises BadGroupError."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise BadGroupError(f"{path}: not a text in UTF-8") from None
    if len(content) > _MOST_BYTES or not _NAME.fullmatch(path.stem):
        raise BadGroupError(
            f"{path}: expected a file NAME.txt of up to {_MOST_BYTES} bytes"
        )
    parts = _parts(text, path)
    counters = dict(_counters(parts["EVENTSET"], path))
    metrics = dict(_metrics(parts["METRICS"], path))
    if not (0 < len(counters) <= _MOST_COUNTERS and 0 < len(metrics) <= _MOST_METRICS):
        raise BadGroupError(
            f"{path}: expected 1 to {_MOST_COUNTERS} counters below EVENTSET and 1 to "
            f"{_MOST_METRICS} metrics below METRICS"
        )
    title, description = (
        " ".join(" ".join(parts[word]).split()) for word in ("SHORT", "LONG")
    )
    source = f"likwid, {path.absolute()}"
    return LikwidGroup(path.stem, model, title, counters, metrics, description, source)


def _parts(text: str, path: Path) -> dict[str, list[str]]:
    """Return the lines below each of the words, which stand in this order."""
    found: dict[str, list[str]] = {word: [] for word in _WORDS}
    part = ""
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        is_next = word in _WORDS and (
            not part or _WORDS.index(word) > _WORDS.index(part)
        )
        if is_next and part != "LONG":
            part = word
            found[part] = [rest]
        elif part:
            found[part].append(line.strip())
        elif line.strip():
            raise BadGroupError(f"{path}: expected SHORT at the beginning")
    return found


def _counters(lines: list[str], path: Path) -> Iterator[tuple[str, Counter]]:
    seen: set[str] = set()
    for line in filter(None, lines):
        found = _COUNTER.fullmatch(line)
        if found is None:
            raise BadGroupError(f"{path}: {line[:80]!r}: expected REGISTER EVENT")
        register, options, event = found.groups()
        if register in seen:
            raise BadGroupError(f"{path}: the register {register} is there twice")
        seen.add(register)
        counter = Counter(register, event, tuple(options.split(":")[1:]))
        yield f"{register}{options}", counter


def _metrics(lines: list[str], path: Path) -> Iterator[tuple[str, str]]:
    seen: dict[str, int] = {}
    for line in filter(None, lines):
        *words, formula = line.split()
        if not words:
            raise BadGroupError(f"{path}: {line[:80]!r}: expected NAME FORMULA")
        name = " ".join(words)
        seen[name] = seen.get(name, 0) + 1
        # Some of likwid's files have two metrics of one name.
        yield name if seen[name] == 1 else f"{name} ({seen[name]})", formula
