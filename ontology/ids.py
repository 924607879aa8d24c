"""Ids, and IRIs as texts: what the bridge needs, without 6 MB of rdflib.

Ids keep ``[A-Za-z0-9_.-]`` and write every other byte of their UTF-8 form as ``~HH``.
"""

import re

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_PLAIN_TEXT = re.compile(r"[A-Za-z0-9_.-]+")
_ESCAPED = re.compile(r"~([0-9A-F]{2})")


class IdError(ValueError):
    """An id that cannot be written into an IRI, or read back from one."""


def encode_id(text: str) -> str:
    """Write any text as one IRI path segment, injectively.

    Raises IdError for an empty text, for ``.`` and ``..``, which HTTP clients remove
    from paths, and for invalid Unicode.
    """
    if not text or text in (".", ".."):
        raise IdError(f"{text!r} cannot be an id: use at least one letter or digit")
    if _PLAIN_TEXT.fullmatch(text):
        return text
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        raise IdError(f"{text!r} cannot be an id: it is not Unicode text") from None
    return "".join(chr(b) if b in _PLAIN else f"~{b:02X}" for b in encoded)


def decode_id(segment: str) -> str:
    """Decode the output of encode_id; raises IdError for anything else."""
    raw = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), segment)
    try:
        text = raw.encode("latin-1").decode()
        if encode_id(text) == segment:
            return text
    except (UnicodeError, IdError):
        pass
    raise IdError(f"{segment!r} is not an id that SuperTwin wrote")


def below(base: str, *segments: str) -> str:
    """The IRI with these ids as its path below a base; raises IdError."""
    path = "/".join(encode_id(segment) for segment in segments)
    return f"{base.rstrip('/')}/{path}"


def plans_graph(base: str, host: str) -> str:
    """The graph of the plan that every host gets with its twin."""
    return below(base, "graph", "plans", host)
