"""Write one element of a document within the limits of its version.

A lossless element has our co-type and members. A strict version refuses members that it
does not define, so they go into ``comment``, up to its 512 characters.
"""

import json
from typing import Any

from dtdl.versions import TEXT, Element, Version

_CUT = "…"


def element(
    kinds: list[str], co_type: str, dtdl: Element, ours: Element, version: Version
) -> Element:
    """An element of DTDL's ``kinds`` (class and semantic type), with our members."""
    types = [*kinds, co_type] if version.lossless else kinds
    made = {"@type": types if len(types) > 1 else types[0], **dtdl}
    if version.lossless:
        return made | ours
    own_fields = {"a": co_type, **ours}
    return made | {"comment": comment(own_fields)}


def comment(own_fields: Element) -> str:
    """The members as complete JSON within the limit of a comment.

    A text or a list that is too long ends with ``…``; after that, the last members are
    left out.
    """
    kept = {name: _shorter(value) for name, value in own_fields.items()}
    while len(text := _json(kept)) > TEXT:
        kept.pop("…", None)
        kept.popitem()
        kept["…"] = len(own_fields) - len(kept)
    return text


def cut(text: str, longest: int) -> str:
    """The text, cut to the allowed length."""
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
    """The number of characters as .NET counts them."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _cut(text: str, longest: int) -> str:
    kept = text[: longest - 1]
    while _length(kept) > longest - 1:
        kept = kept[:-1]
    return kept + _CUT
