"""One element of a document as its version allows.

A lossless one has a co-type and members of ours; in a strict one, which refuses what it
does not define, they stand in ``comment`` as far as its 512 characters go.
"""

import json
from typing import Any

from dtdl.versions import TEXT, Element, Version

_CUT = "…"


def element(
    kinds: list[str], co_type: str, dtdl: Element, ours: Element, version: Version
) -> Element:
    """An element of DTDL's ``kinds`` (class and semantic type), with what is ours."""
    types = [*kinds, co_type] if version.lossless else kinds
    made = {"@type": types if len(types) > 1 else types[0], **dtdl}
    if version.lossless:
        return made | ours
    said = {"a": co_type, **ours}
    return made | {"comment": comment(said)}


def comment(said: Element) -> str:
    """What is said, as JSON that is whole and within the limit of a comment.

    A text or a list that is too long ends with ``…``; then what comes last is left out.
    """
    kept = {name: _shorter(value) for name, value in said.items()}
    while len(text := _json(kept)) > TEXT:
        kept.pop("…", None)
        kept.popitem()
        kept["…"] = len(said) - len(kept)
    return text


def cut(text: str, longest: int) -> str:
    """The text, or as much of it as is allowed."""
    return text if _length(text) <= longest else _cut(text, longest)


def _shorter(value: Any) -> Any:
    if isinstance(value, str):
        return cut(value, 200)
    if isinstance(value, list):
        kept = value
        while len(_json(kept)) > 300:
            kept = [*kept[: len(kept) // 2], _CUT]
        return kept
    if isinstance(value, dict) and len(value) == 1:
        return next(iter(value.values()))
    return value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _length(text: str) -> int:
    """Characters as .NET counts them."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _cut(text: str, longest: int) -> str:
    kept = text[: longest - 1]
    while _length(kept) > longest - 1:
        kept = kept[:-1]
    return kept + _CUT
