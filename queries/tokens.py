"""The tokens of SPARQL, of our own queries and of what strangers send.

Where a text could be read in two ways, the reading that shows a keyword wins: Jena's
tokens need no space between them (``1SERVICE <…>`` is a number and a keyword).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

_LETTERS = (
    "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd"
    "\U00010000-\U000effff"
)
_MARKS = "\u00b7\u0300-\u036f\u203f\u2040"
_ESCAPED = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_IN_IRI = r'[^<>"{}|^`\\\x00-\x20]*+'


@cache
def _token(letters: str = "", marks: str = "") -> re.Pattern[str]:
    """What a token is, with these letters and marks in addition to those of ASCII."""
    base = f"A-Za-z{letters}"
    start = f"{base}_0-9"
    more = f"{start}{marks}"
    word = rf"[{base}_][{more}.\-]*+"
    # No group is repeated possessively: CPython before 3.11.5 loses its place in them.
    # A prefix cannot end in a dot, so "SERVICE.:x" is a word and a name.
    return re.compile(
        rf"""
        (?P<blank>[\s\ufeff]+|\#[^\r\n]*)
        |(?P<iri><{_IN_IRI}(?:(?:\\u[0-9A-Fa-f]{{4}}|\\U[0-9A-Fa-f]{{8}}){_IN_IRI})*>)
        |(?P<quotes>\"\"\"|'''|["'])
        |(?P<variable>[?$][{start}][{more}]*)
        |(?P<node>_:[{start}][{more}.\-]*)
        |(?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*(?:--[A-Za-z]+)?)
        |(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
        |(?P<name>(?:{word}(?<!\.))?
            :(?:(?:[{start}:]|{_ESCAPED})(?:[{more}.:\-]++|{_ESCAPED})*)?)
        |(?P<word>{word})
        |(?P<other>[\s\S])
        """,
        re.VERBOSE,
    )


def _token_of(text: str) -> re.Pattern[str]:
    """Few texts have letters beyond ASCII, which take ten times as long to compile."""
    return _token() if text.isascii() else _token(_LETTERS, _MARKS)


_STRING_ENDS = {
    '"': re.compile(r'\\[^\r\n]|["\r\n]'),
    "'": re.compile(r"\\[^\r\n]|['\r\n]"),
    '"""': re.compile(r'\\[\s\S]|"""'),
    "'''": re.compile(r"\\[\s\S]|'''"),
}


@dataclass(frozen=True)
class SparqlToken:
    """One token and where it stands.

    ``kind`` is iri, string, variable, node (``_:b``), language, number, name (one with
    a colon), word, or other: a single character.
    """

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def read_tokens(text: str) -> Iterator[SparqlToken]:
    """All tokens of any text, in linear time; blanks and comments are left out."""
    pattern, strings = _token_of(text), _Strings(text)
    position = 0
    while position < len(text):
        match = pattern.match(text, position)
        assert match is not None  # noqa: S101
        kind, end = match.lastgroup or "", match.end()
        if kind == "quotes":
            kind, end = strings.read(position, match[0])
        if kind != "blank":
            yield SparqlToken(kind, text[position:end], position)
        position = end


class _Strings:
    """Finds where the strings of a text end, in linear time.

    Whether a quote is escaped does not depend on where its string began. So where one
    search found no end, none that begins later finds one before the same place.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._none_before: dict[str, int] = {}

    def read(self, start: int, quotes: str) -> tuple[str, int]:
        """Kind and end of what quotes begin; where they close nothing, as Jena does."""
        end = self._end(start, quotes)
        if end is not None:
            return "string", end
        return ("string", start + 2) if len(quotes) == 3 else ("other", start + 1)

    def _end(self, start: int, quotes: str) -> int | None:
        if start < self._none_before.get(quotes, 0):
            return None
        for match in _STRING_ENDS[quotes].finditer(self._text, start + len(quotes)):
            if match[0] == quotes:
                return match.end()
            if match[0] in "\r\n":
                self._none_before[quotes] = match.start()
                return None
        self._none_before[quotes] = len(self._text)
        return None
