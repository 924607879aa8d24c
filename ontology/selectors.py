"""How a series is written, in queries of the store and in the lines that fill it."""

import re
from collections.abc import Iterable, Mapping

from ontology.texts import writable

SERIES_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

TEXT_LABEL = "value"

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_RE2_ESCAPES = str.maketrans({sign: f"\\{sign}" for sign in r"\.+*?()|[]{}^$"})
# An empty expression would find the series that lack the label, and an empty class of
# characters finds some values in VictoriaMetrics.
_NOTHING = r"\b\B"


def escaped(value: str) -> str:
    """A text as it stands between the quotes of a label value.

    It reads the same in MetricsQL, in PromQL, and in Prometheus' text format.
    """
    return value.translate(_ESCAPES)


def selector(name: str, labels: Mapping[str, str]) -> str:
    """A series as the store knows it: ``name{hostname="…",instname="…"}``.

    A name that the grammar does not hold, which comes from foreign facts only, is
    written as a label too. No series has an empty one: VictoriaMetrics 1.112 would
    take `__name__=""` for any.
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
    """The labels of a series; ``instance`` is None where a metric has none.

    A metric of texts has a series for each text, its label ``value``; without it the
    selector finds them all. They hold what the graph holds, which has no control
    characters.
    """
    named = {"instname": instance, TEXT_LABEL: text}
    known = {name: writable(word) for name, word in named.items() if word is not None}
    return {"hostname": host} | known


def pattern(values: Iterable[str]) -> str:
    """The RE2 expression that finds these values and no others, not even for none.

    It is text like any other: ``f'instname=~"{escaped(pattern(names))}"'``. Beside
    others, VictoriaMetrics misses values that hold U+0000 to U+0002, its own marks.
    """
    return "|".join(value.translate(_RE2_ESCAPES) for value in values) or _NOTHING
