"""Names that DTDL allows: segments of DTMIs, both ways, and names of contents.

DTDL wants ``^[A-Za-z](?:[A-Za-z0-9_]*[A-Za-z0-9])?$``. Every other byte of a segment's
UTF-8 form, including the underscore, is written ``_xHH``. A text that does not begin
with a letter gets an ``h`` in front, and so does a text that could be taken for such a
result.
"""

import hashlib
import re
from functools import lru_cache

from rdflib import URIRef

from dtdl.errors import FIX, DtmiError

# Limits on the length; that of an Interface is the same in versions 2, 3 and 4.
MAX_INTERFACE_ID = 128
MAX_ID = 2048

_NEEDS_LETTER = re.compile(r"h*(?:[^A-Za-z]|\Z)")
_HAS_LETTER = re.compile(r"h+(?:[^A-Za-z]|\Z)")
_NOT_PLAIN = re.compile(rb"[^A-Za-z0-9]")
_SEGMENT = re.compile(r"[A-Za-z](?:[A-Za-z0-9]|_x[0-9A-F]{2})*")
_ESCAPED = re.compile(r"_x([0-9A-F]{2})")
_NOT_NAME = re.compile(r"[^A-Za-z0-9]+")
# Characters that an IRI cannot contain, or that would end it in a SPARQL Update.
_NOT_IRI = re.compile(r"[\x00-\x20<>\"{}|\\^`\x7f-\x9f\ud800-\udfff]")
_DTMI = re.compile(r"dtmi:(\w+):([\w:]+);1", re.ASCII)

_OWN = "supertwin"
_LONG = "supertwinLong"
_ELSEWHERE = "supertwinElsewhere"


@lru_cache(maxsize=16384)
def encode_segment(text: str) -> str:
    """Write any text as one segment of a DTMI, injectively.

    Raises DtmiError if it is not valid Unicode.
    """
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise DtmiError(f"{text!r} is not Unicode text: use another name") from None
    escaped = _NOT_PLAIN.sub(lambda match: b"_x%02X" % ord(match[0]), raw).decode()
    return f"h{escaped}" if _NEEDS_LETTER.match(text) else escaped


@lru_cache(maxsize=16384)
def decode_segment(segment: str) -> str:
    """Decode the output of encode_segment; raises DtmiError for anything else."""
    if _SEGMENT.fullmatch(segment):
        raw = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), segment)
        try:
            text = raw.encode("latin-1").decode()
        except UnicodeError:
            text = raw
        text = text[1:] if _HAS_LETTER.match(text) else text
        if encode_segment(text) == segment:
            return text
    raise DtmiError(
        f"{segment[:80]!r} is not part of a DTMI that SuperTwin wrote: {FIX}"
    )


def checked_iri(text: str) -> URIRef:
    """Return a text as an IRI; raises DtmiError if it is not a valid one."""
    if not text or _NOT_IRI.search(text):
        raise DtmiError(f"{text[:80]!r} is not an IRI: {FIX}")
    return URIRef(text)


def to_dtmi(iri: str, base: str, longest: int = MAX_INTERFACE_ID) -> str:
    """The DTMI of an IRI; if it were too long, it has a hash instead."""
    path = iri.removeprefix(f"{base}/")
    root, parts = (_OWN, path.split("/")) if path != iri else (_ELSEWHERE, [iri])
    dtmi = f"dtmi:{root}:{':'.join(map(encode_segment, parts))};1"
    if len(dtmi) <= longest:
        return dtmi
    # A hash of the DTMI, so that it is the same for every base.
    return f"dtmi:{_LONG}:h{hashlib.sha256(dtmi.encode()).hexdigest()[:40]};1"


def from_dtmi(dtmi: str, base: str) -> URIRef | None:
    """The IRI of a DTMI, below this base; None for one with a hash.

    Raises DtmiError for a DTMI that to_dtmi did not write.
    """
    match = _DTMI.fullmatch(dtmi)
    if match and match[1] == _LONG:
        return None
    if match and match[1] in (_OWN, _ELSEWHERE):
        parts = [decode_segment(part) for part in match[2].split(":")]
        if match[1] == _OWN:
            return checked_iri(f"{base}/{'/'.join(parts)}")
        if len(parts) == 1:
            return checked_iri(parts[0])
    raise DtmiError(f"{dtmi[:150]!r} is not a DTMI that SuperTwin wrote: {FIX}")


def page_dtmi(dtmi: str, number: int) -> str:
    """The DTMI of a further page of an Interface."""
    page = f"{dtmi.removesuffix(';1').replace(':', ':more:', 1)}:h{number};1"
    if len(page) <= MAX_INTERFACE_ID:
        return page
    digest = hashlib.sha256(dtmi.encode()).hexdigest()[:40]
    return f"dtmi:more:{_LONG}:h{digest}:h{number};1"


class Names:
    """Unique names for one Interface's contents, of limited length."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._taken: set[str] = set()

    def give(self, wanted: str) -> str:
        """Return an unused name as close to the wanted one as DTDL allows."""
        stem = _NOT_NAME.sub("_", wanted).strip("_") or "h"
        stem = stem if stem[0].isalpha() else f"h{stem}"
        name, number = stem[: self._longest].rstrip("_"), 1
        while name in self._taken:
            number += 1
            name = f"{stem[: self._longest - 8].rstrip('_')}_{number}"
        self._taken.add(name)
        return name
