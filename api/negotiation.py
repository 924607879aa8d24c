"""HTTP content negotiation by ``Accept`` (RFC 9110, 12.5.1)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from api.problems import NotAcceptableError

# An unterminated quoted string matches all the rest possessively: looking for its end
# from every quote again would take minutes.
_QUOTED = r'"(?:[^"\\]|\\.?)*+"?'
_PIECE = re.compile(rf'(?:[^;"]|{_QUOTED})++', re.DOTALL)
_PART = re.compile(rf'(?:[^,"]|{_QUOTED})++', re.DOTALL)
_RANGE = re.compile(r"([!#$%&'*+.^_`|~0-9a-z-]+)/([!#$%&'*+.^_`|~0-9a-z-]+)")
# Old clients write "*" for "*/*" and ".2" for "0.2".
_QUALITY = re.compile(r"0?(\.[0-9]{0,3})|0|1(\.0{0,3})?")


@dataclass(frozen=True)
class MediaRange:
    """One range of an Accept header, e.g. ``text/*;q=0.5``; quality 0 to 1."""

    type: str
    subtype: str
    quality: float

    def rank(self, media_type: str) -> int:
        """How closely it matches the media type: from 0, not at all, to 3, exactly."""
        type_, _, subtype = media_type.partition("/")
        if (self.type, self.subtype) == (type_, subtype):
            return 3
        if (self.type, self.subtype) == (type_, "*"):
            return 2
        return 1 if (self.type, self.subtype) == ("*", "*") else 0


def parse_accept(header: str) -> list[MediaRange]:
    """Parse the ranges of an Accept header; skips parts that are not media ranges."""
    found = (_media_range(part) for part in _PART.findall(header))
    return [range_ for range_ in found if range_ is not None]


def _media_range(part: str) -> MediaRange | None:
    name, *parameters = [p.strip().lower() for p in _PIECE.findall(part)] or [""]
    match = _RANGE.fullmatch("*/*" if name == "*" else name)
    quality = next((p[2:].strip() for p in parameters if p.startswith("q=")), "1")
    if match is None or not _QUALITY.fullmatch(quality):
        return None
    return MediaRange(match[1], match[2], float(f"0{quality}"))


def choose(accept: Iterable[str], offers: Sequence[str]) -> str | None:
    """Choose the best offer for these Accept headers; the first is the default.

    No header, or an empty one, accepts everything. None if nothing is acceptable.
    """
    header = ",".join(accept).strip(" \t,")
    if not header:
        return offers[0]
    ranges = parse_accept(header)
    qualities = [(_quality(offer, ranges), offer) for offer in offers]
    best = max(quality for quality, _ in qualities)
    return next(offer for q, offer in qualities if q == best) if best > 0 else None


def _quality(offer: str, ranges: Sequence[MediaRange]) -> float:
    """Return the quality of the range that matches the offer best, 0 if none does."""
    matching = [(r.rank(offer), r.quality) for r in ranges if r.rank(offer)]
    return max(matching)[1] if matching else 0.0


def negotiate(accept: Sequence[str], offers: Sequence[str], what: str) -> str:
    """Choose an offer; raises NotAcceptableError, which lists the offers."""
    chosen = choose(accept, offers)
    if chosen is None:
        accepted = ", ".join(accept)[:200]
        detail = f"{what}, not as {accepted!r}; available: {', '.join(offers)}"
        raise NotAcceptableError(detail, list(offers))
    return chosen
