"""Determines the form of a SPARQL query from its tokens.

The graph store checks the syntax; this only decides what may be sent to it.
"""

import re
from enum import Enum

from core.errors import BadQueryError
from core.stores.errors import QuerySyntaxError
from queries.tokens import read_tokens

_CODE_POINT = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_IS_JAVA = re.compile(r"<java:", re.IGNORECASE)
_PROLOGUE = frozenset(("BASE", "PREFIX", "VERSION"))
_UPDATES = frozenset(
    (
        *("INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP"),
        *("ADD", "MOVE", "COPY", "WITH", "MODIFY"),
    )
)


class ResultForm(Enum):
    """The form of a query, which decides the kind of its answer."""

    SELECT = "SELECT"
    ASK = "ASK"
    CONSTRUCT = "CONSTRUCT"
    DESCRIBE = "DESCRIBE"

    @property
    def gives_triples(self) -> bool:
        return self in (ResultForm.CONSTRUCT, ResultForm.DESCRIBE)


def read_form(text: str) -> ResultForm:
    """Return the form of a query; raises BadQueryError for updates, SERVICE etc."""
    form = None
    for token in read_tokens(text):
        if token.kind == "iri" and _IS_JAVA.match(_unescaped(token.text)):
            raise _java(text, token.start)
        if token.kind != "word":
            continue
        word = token.text.upper()
        if "SERVICE" in word:
            raise _service(text, token.start)
        if form is None and word not in _PROLOGUE:
            form = _form(word, text, token.start)
    if form is None:
        raise BadQueryError(
            QuerySyntaxError.code,
            QuerySyntaxError.title,
            "the query holds none of SELECT, ASK, CONSTRUCT and DESCRIBE",
        )
    return form


def _form(word: str, text: str, position: int) -> ResultForm:
    if word in ResultForm.__members__:
        return ResultForm[word]
    if word in _UPDATES:
        raise BadQueryError(
            "update-refused",
            "Updates are not accepted",
            f"{word} {_place(text, position)}: only queries are run here; "
            "`supertwin ingest` changes the twin",
        )
    raise BadQueryError(
        QuerySyntaxError.code,
        QuerySyntaxError.title,
        f"found {word[:40]!r} {_place(text, position)}, expected SELECT, ASK, "
        "CONSTRUCT or DESCRIBE",
    )


def _service(text: str, position: int) -> BadQueryError:
    return BadQueryError(
        "service-refused",
        "SERVICE is not accepted",
        f"SERVICE {_place(text, position)}: no other endpoint is queried; query it "
        "from your own client, or leave the clause out",
    )


def _java(text: str, position: int) -> BadQueryError:
    return BadQueryError(
        "java-refused",
        "java: functions are not accepted",
        f"a java: IRI {_place(text, position)}: it would call into the graph store's "
        "own code; leave it out",
    )


def _unescaped(iri: str) -> str:
    """Return an IRI with its \\u escapes replaced by the characters."""
    return _CODE_POINT.sub(lambda m: chr(int(m[1] or m[2], 16) % 0x110000), iri)


def _place(text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return f"at line {line}, column {column}"
