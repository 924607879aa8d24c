"""The notation of series, in queries of the store and in the lines that fill it."""

import re
from collections.abc import Iterable, Mapping

from ontology.texts import writable

SERIES_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_NOT_SERIES = re.compile(r"[^A-Za-z0-9_]")
TEXT_LABEL = "value"

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_RE2_ESCAPES = str.maketrans({sign: f"\\{sign}" for sign in r"\.+*?()|[]{}^$"})
# An empty expression would match series that lack the label, and an empty character
# class matches some values in VictoriaMetrics.
_NOTHING = r"\b\B"


def series_name(metric: str) -> str:
    """The name of a PCP metric in VictoriaMetrics: ``.`` and the like become ``_``."""
    return _NOT_SERIES.sub("_", metric)


def escaped(value: str) -> str:
    """Escape a text for the quotes of a label value.

    The result is valid in MetricsQL, in PromQL, and in Prometheus' text format.
    """
    return value.translate(_ESCAPES)


def selector(name: str, labels: Mapping[str, str]) -> str:
    """A selector of series: ``name{hostname="…",instname="…"}``.

    A name outside the grammar, which only foreign facts have, is written as a label. An
    empty name matches no series: VictoriaMetrics 1.112 would take `__name__=""` for
    any.
    """
    written = [f'{key}="{escaped(value)}"' for key, value in labels.items()]
    if not name:
        written.insert(0, f'__name__=~"{escaped(_NOTHING)}"')
    elif not SERIES_NAME.fullmatch(name):
        name, written = "", [f'__name__="{escaped(name)}"', *written]
    return f"{name}{{{','.join(written)}}}"


def series_labels(
    host: str, instance: str | None, text: str | None = None
) -> dict[str, str]:
    """The labels of a series; ``instance`` is None for a metric without instances.

    A text metric has one series per text, in the label ``value``; without it the
    selector matches all. Labels hold the same texts as the graph, without control
    characters.
    """
    named = {"instname": instance, TEXT_LABEL: text}
    known = {name: writable(word) for name, word in named.items() if word is not None}
    return {"hostname": host} | known


def pattern(values: Iterable[str]) -> str:
    """The RE2 expression that matches exactly these values; nothing for no values.

    It needs escaping like any other text: ``f'instname=~"{escaped(pattern(names))}"'``.
    In an alternation, VictoriaMetrics misses values with U+0000 to U+0002, its own
    markers.
    """
    return "|".join(value.translate(_RE2_ESCAPES) for value in values) or _NOTHING
