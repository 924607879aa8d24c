"""The maps of a bpftrace script, and what PCP's agent is given of it.

It needs only Python 3.8 or newer, because it is sent to other hosts together with
`daemon`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Each gives numbers that bpftrace prints as JSON. A map with another value is scratch:
# the time when a call began, for example.
_NUMBERS = ("count", "sum", "min", "max", "avg")
HISTOGRAMS = ("hist", "lhist")
# What a script prints would be kept in memory without limit.
_PRINTS = ("printf", "print", "time", "cat", "join", "system", "strftime", "clear")
_PRINTING = re.compile(rf"(?<![@\w])({'|'.join(_PRINTS)})\s*\(")
# bpftrace keeps strings on one line.
_NO_CODE = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)
_GIVEN = re.compile(
    r"@(\w*)\s*(\[(?:[^\[\]]|\[[^\[\]]*\])*\])?\s*=(?!=)\s*(?:([a-z]\w*)\s*\()?"
)
_SKIPPED = re.compile(r"^WARNING: (.*, skipping probe)", re.M)
_BLOCK = re.compile(r"\{[^{}]*\}")
_POINT = re.compile(r"(?:BEGIN|END)\b|[a-z]\w*:")
_ATTACHED = re.compile(r'"attached_probes", "data": \{"probes": (\d+)\}')
_MAP_NAME = re.compile(r"[A-Za-z]\w{0,62}")
LONGEST_SCRIPT = 20_000
MOST_MAPS = 20
# bpftrace's own notice about a limit that newer kernels do not need.
_NO_REFUSAL = ("RLIMIT_MEMLOCK", "WARNING")
_PLACE = re.compile(r"^stdin:(\d+):([\d-]+): ")


class ScriptError(Exception):
    """Why a script cannot be used; its text is one line."""


class ScriptMap(NamedTuple):
    """A map that a script fills by an aggregating function."""

    name: str
    function: str
    keyed: bool


def script_maps(text: str) -> list[ScriptMap]:
    """The maps that are metrics, in order; raises ScriptError."""
    if len(text) > LONGEST_SCRIPT or "\0" in text:
        raise ScriptError(f"it is no text of at most {LONGEST_SCRIPT:,} characters")
    code = _code(text)
    if printing := _PRINTING.search(code):
        raise ScriptError(
            f"it calls {printing[1]}(): only maps are sampled, and they are printed "
            "for the script"
        )
    found: dict[str, ScriptMap] = {}
    for name, key, function in _GIVEN.findall(code):
        if function in (*_NUMBERS, *HISTOGRAMS, "stats"):
            _check_map(name, key, function)
            one = ScriptMap(name, function, bool(key))
            if found.setdefault(name, one) != one:
                raise ScriptError(f"it fills map @{name} in two ways")
    if not found or len(found) > MOST_MAPS:
        raise ScriptError(
            f"it fills {len(found) or 'no'} maps by {', '.join(_NUMBERS)} or "
            f"{' or '.join(HISTOGRAMS)}: 1 to {MOST_MAPS} are sampled"
        )
    return list(found.values())


def _code(text: str) -> str:
    """A script without comments, and without what is in strings."""
    return _NO_CODE.sub(lambda found: '""' if found[0][0] == '"' else " ", text)


def _check_map(name: str, key: str, function: str) -> None:
    if not _MAP_NAME.fullmatch(name):
        raise ScriptError(
            f"map @{name[:64]} needs a name: at most 63 letters, digits and _, first a "
            "letter"
        )
    if function == "stats":
        raise ScriptError(f"map @{name} uses stats(): use avg() and count()")
    if function in HISTOGRAMS and key:
        raise ScriptError(
            f"map @{name} has a histogram for each key, which PCP's agent cannot "
            "give: leave out the key"
        )


def probes_of(text: str) -> int:
    """The number of probes that a script names: bpftrace skips those it cannot find."""
    code, before = _code(text), ""
    while code != before:
        before, code = code, _BLOCK.sub(";", code)
    points = (one.strip() for one in re.split("[;,]", code))
    return sum(bool(_POINT.match(one)) for one in points)


def attached_probes(stdout: str) -> int:
    """The number of probes that bpftrace says it attached."""
    found = _ATTACHED.search(stdout)
    return int(found[1]) if found else 0


def lacking(text: str, attached: int) -> str:
    """Why a script cannot be used that attaches so many probes; empty if it can.

    One of them is what SuperTwin adds to the script.
    """
    named = probes_of(text)
    if attached > named:
        return ""
    return f"it attaches {attached - 1} of {named} probes: find them by `bpftrace -l`"


def skipped(stderr: str) -> str:
    """Which probe bpftrace did not find, in its words; empty if it found all.

    Releases since 0.20 count such a probe as attached.
    """
    found = _SKIPPED.search(stderr)
    return found[1] if found else ""


def printing(text: str, period_ms: int) -> str:
    """The script as the agent gets it: it prints its maps once per period."""
    names = [one.name for one in script_maps(text)]
    prints = " ".join(f"print(@{name});" for name in names)
    # The agent would otherwise print them each second.
    return f"{text}\ninterval:ms:{period_ms} {{ {prints} }}\n// custom-output-block\n"


def for_a_moment(text: str) -> str:
    """The script with an end as soon as it is attached."""
    return f"{text}\ninterval:ms:50 {{ exit(); }}\n"


def refusal(stderr: str) -> str:
    """What bpftrace complains about, as one line; empty if it does not."""
    lines = [line for line in map(str.strip, stderr.splitlines()) if line]
    told = [line for line in lines if not any(no in line for no in _NO_REFUSAL)]
    errors = [line for line in told if "ERROR: " in line] or told[-1:]
    found = (_PLACE.sub(r"line \1, column \2: ", line) for line in errors[:2])
    return "; ".join(line.replace("ERROR: ", "") for line in found)[:300]
