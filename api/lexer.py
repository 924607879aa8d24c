"""What kind of SPARQL a text is, decided on its tokens.

The graph store decides on syntax; this decides only what it is given to read. So where
a text could be read in two ways, the reading that refuses it wins: Jena's tokens need
no space between them (``1SERVICE <…>`` is a number and a keyword).
"""

import re
from collections.abc import Iterator
from enum import Enum

from api.problems import BadQueryError

_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd"
    "\U00010000-\U000effff"
)
_START = f"{_BASE}_0-9"
_MORE = f"{_START}\u00b7\u0300-\u036f\u203f\u2040"
_ESCAPED = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_TOKEN = re.compile(
    rf"""
    (?P<blank>[\s\ufeff]+|\#[^\r\n]*)
    |(?P<iri><(?:[^<>"{{}}|^`\\\x00-\x20]|\\u[0-9A-Fa-f]{{4}}|\\U[0-9A-Fa-f]{{8}})*>)
    |(?P<string>\"\"\"(?:[^"\\]++|"{{1,2}}(?!")|\\[\s\S])*+\"\"\"
        |'''(?:[^'\\]++|'{{1,2}}(?!')|\\[\s\S])*+'''
        |"(?:[^"\\\r\n]++|\\[^\r\n])*+"|'(?:[^'\\\r\n]++|\\[^\r\n])*+')
    |(?P<variable>[?$][{_START}][{_MORE}]*)
    |(?P<node>_:[{_START}][{_MORE}.\-]*)
    |(?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*(?:--[A-Za-z]+)?)
    |(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<word>[{_BASE}_][{_MORE}.\-]*)
    |(?P<colon>:(?:(?:[{_START}:]|{_ESCAPED})(?:[{_MORE}.:\-]|{_ESCAPED})*)?)
    |(?P<other>[\s\S])
    """,
    re.VERBOSE,
)
_CODE_POINT = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_IS_JAVA = re.compile(r"<java:", re.IGNORECASE)
_PROLOGUE = frozenset(("BASE", "PREFIX", "VERSION"))
_UPDATES = frozenset(
    (
        *("INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP"),
        *("ADD", "MOVE", "COPY", "WITH", "MODIFY"),
    )
)


class Form(Enum):
    """What a query gives: a table, a yes or no, or triples."""

    SELECT = "SELECT"
    ASK = "ASK"
    CONSTRUCT = "CONSTRUCT"
    DESCRIBE = "DESCRIBE"

    @property
    def gives_triples(self) -> bool:
        return self in (Form.CONSTRUCT, Form.DESCRIBE)


def read_form(text: str) -> Form:
    """The form of a query; raises BadQueryError for updates, SERVICE and the rest."""
    form = None
    for word, position in _bare_words(text):
        upper = word.upper()
        if "SERVICE" in upper:
            raise _service(text, position)
        if form is None and upper not in _PROLOGUE:
            form = _form(upper, text, position)
    if form is None:
        raise BadQueryError(
            "syntax-error",
            "SPARQL syntax error",
            "the query holds none of SELECT, ASK, CONSTRUCT and DESCRIBE",
        )
    return form


def _bare_words(text: str) -> Iterator[tuple[str, int]]:
    """Every run of letters that is no prefix of a name, with its position."""
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None  # noqa: S101
        position = match.end()
        if match.lastgroup == "iri" and _IS_JAVA.match(_unescaped(match[0])):
            raise _java(text, match.start())
        if match.lastgroup == "word":
            # A prefix cannot end in a dot, so "SERVICE.:x" is not a prefixed name.
            if text.startswith(":", position) and not match[0].endswith("."):
                continue
            yield match[0], match.start()


def _form(word: str, text: str, position: int) -> Form:
    if word in Form.__members__:
        return Form[word]
    if word in _UPDATES:
        raise BadQueryError(
            "update-refused",
            "Updates are not taken here",
            f"{word} {_place(text, position)}: only queries are run here; "
            "`supertwin ingest` changes the twin",
        )
    raise BadQueryError(
        "syntax-error",
        "SPARQL syntax error",
        f"found {word[:40]!r} {_place(text, position)}, expected SELECT, ASK, "
        "CONSTRUCT or DESCRIBE",
    )


def _service(text: str, position: int) -> BadQueryError:
    return BadQueryError(
        "service-refused",
        "SERVICE is not taken here",
        f"SERVICE {_place(text, position)}: the twin asks no other endpoint; ask it "
        "from a client of your own, or leave the clause out",
    )


def _java(text: str, position: int) -> BadQueryError:
    return BadQueryError(
        "java-refused",
        "java: functions are not taken here",
        f"a java: IRI {_place(text, position)}: it would call into the graph store's "
        "own code; leave it out",
    )


def _unescaped(iri: str) -> str:
    """An IRI with its \\u escapes as the characters they stand for."""
    return _CODE_POINT.sub(lambda m: chr(int(m[1] or m[2], 16) % 0x110000), iri)


def _place(text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return f"at line {line}, column {column}"
