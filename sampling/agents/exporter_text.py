"""Turns the text of an exporter (Prometheus or OpenMetrics) into what PCP can read.

PCP's agent stops at the first bad line, keeps the first type of a metric, and cannot
number more than 1,023 metrics. Each line is therefore checked here. This module must
run on Python 3.8, because it is sent to other hosts.
"""

from __future__ import annotations

import re
from collections import Counter

# Slightly fewer metrics than the 1,023 that PCP's agent can number.
MOST_METRICS, MOST_SERIES, MOST_NAME = 1000, 5000, 200
_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_PAIR = r'[a-zA-Z_][a-zA-Z0-9_]*\s*=\s*"(?:[^"\\]|\\.)*"'
# No two neighbouring parts match the same characters: otherwise a line of spaces would
# take time in proportion to the square of its length.
_LABELS = rf"\{{\s*((?:{_PAIR}\s*(?:,\s*|(?=\}})))*)\}}"
_LINE = re.compile(
    rf"({_NAME})(?:\s*{_LABELS}\s*|\s+)"
    r"([^\s{]\S*)(?:\s+-?[0-9.]+)?(?:\s+#.*)?"
)
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"')
_TYPES = {
    *("counter", "gauge", "histogram", "summary", "untyped", "unknown"),
    *("info", "stateset", "gaugehistogram"),
}
_UNITS = {"seconds": "sec", "milliseconds": "millisec", "bytes": "byte"}


class Families:
    """The metrics of an exporter: each keeps the type and labels that it had first.

    ``dropped`` counts the lines that were left out, by reason.
    """

    def __init__(self) -> None:
        self.dropped: Counter[str] = Counter()
        self._types: dict[str, str] = {}
        self._single: dict[str, bool] = {}
        self._series: set[tuple[str, str]] = set()

    def document(self, text: str) -> tuple[str, int]:
        """The text as PCP's agent reads it, and the number of its series."""
        types, helps, values = self._parsed(text)
        lines: list[str] = []
        for name, series in values.items():
            lines.append(self._metadata(name, types))
            if name in helps:
                lines.append(f"# HELP {name} {helps[name]}")
            lines += [
                f'{name}{{instname="{inst}"}} {value}' if inst else f"{name} {value}"
                for inst, value in series.items()
            ]
        return "\n".join([*lines, ""]), sum(map(len, values.values()))

    def _parsed(
        self, text: str
    ) -> tuple[dict[str, str], dict[str, str], dict[str, dict[str, str]]]:
        types: dict[str, str] = {}
        helps: dict[str, str] = {}
        values: dict[str, dict[str, str]] = {}
        for line in map(str.strip, text.split("\n")):
            if line.startswith("#"):
                self._comment(line, types, helps)
            elif line and (found := self._sample(line, types)):
                name, inst, value = found
                if inst in values.setdefault(name, {}):
                    self.dropped["duplicate series"] += 1
                else:
                    values[name][inst] = value
        return types, helps, {name: of for name, of in values.items() if of}

    def _comment(self, line: str, types: dict[str, str], helps: dict[str, str]) -> None:
        words = line.split(None, 3)
        if len(words) < 4 or words[1] not in ("TYPE", "HELP"):
            return
        kind, name, rest = words[1:]
        if kind == "HELP":
            helps[_pcp_name(name)] = rest[:MOST_NAME]
        elif rest not in _TYPES:
            self.dropped["unknown type"] += 1
        elif types.setdefault(name, rest) != rest:
            self.dropped["type changed"] += 1

    def _sample(self, line: str, types: dict[str, str]) -> tuple[str, str, str] | None:
        """Name, instance and value of a line; None if it is left out."""
        match = _LINE.fullmatch(line)
        value = match and _number(match[3])
        if not match or value is None:
            self.dropped["bad line"] += 1
            return None
        name = _pcp_name(match[1])
        inst = _instance(match[2] or "")
        why = self._rejection(name, inst, _type_of(match[1], types))
        if value in ("nan", "inf", "-inf"):
            return None
        if why:
            self.dropped[why] += 1
            return None
        return name, inst, value

    def _rejection(self, name: str, inst: str, kind: str) -> str:
        """Why a series is left out; empty if it is kept."""
        if not name[0].isalpha() or len(name) > MOST_NAME:
            return "bad name"
        if len(inst) > MOST_NAME:
            return "long labels"
        new = name not in self._types
        if new and len(self._types) >= MOST_METRICS:
            return "too many metrics"
        if (name, inst) not in self._series:
            if len(self._series) >= MOST_SERIES:
                return "too many series"
            self._series.add((name, inst))
        if self._types.setdefault(name, kind) != kind:
            return "type changed"
        if self._single.setdefault(name, not inst) != (not inst):
            return "labels changed"
        return ""

    def _metadata(self, name: str, types: dict[str, str]) -> str:
        """PCP's description of a metric: type, domain, semantics and units."""
        domain = "PM_INDOM_NULL" if self._single[name] else name
        pieces = name.split("_")
        is_count = self._types[name] == "counter" and pieces[-1] in ("bucket", "count")
        found = [_UNITS[piece] for piece in pieces if piece in _UNITS]
        unit = "count" if is_count else found[0] if found else "none"
        return f"# PCP5 {name} 0.0.0 double {domain} {self._types[name]} {unit}"


def _pcp_name(name: str) -> str:
    return name.replace(":", "_")


def _type_of(name: str, types: dict[str, str]) -> str:
    """PCP's semantics of a series: counter or instant."""
    base, _, end = name.rpartition("_")
    # In OpenMetrics, the samples of counter `x` are named `x_total`.
    counter = base if end == "total" and types.get(name) is None else name
    if types.get(counter) == "counter":
        return "counter"
    if end in ("bucket", "count", "sum") and types.get(base) in (
        "histogram",
        "summary",
    ):
        return "counter"
    return "instant"


def _number(text: str) -> str | None:
    try:
        return repr(float(text))
    except ValueError:
        return None


def _instance(labels: str) -> str:
    """The name of an instance: ``device=sda,mode=read``."""
    pairs = sorted((name, _plain(value)) for name, value in _LABEL.findall(labels))
    return ",".join(f"{name}={value}" for name, value in pairs)


def _plain(value: str) -> str:
    r"""A label's value, with _ for each character that has a meaning in PCP's formats.

    Escapes such as ``\n`` are not decoded. PCP compares instance names up to a space.
    """
    return re.sub(r"[\s\x00-\x1f\"\\]|[^\x20-\ud7ff\ue000-\ufffd]", "_", value)
