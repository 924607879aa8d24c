"""Determines the form of a SPARQL query from its tokens.

The graph store checks everything else.
"""

from collections.abc import Iterator
from enum import Enum

from core.errors import BadQueryError
from core.stores.errors import QuerySyntaxError
from queries.tokens import SparqlToken, read_tokens

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
    # A CONSTRUCT of triples in named graphs, which Jena adds to SPARQL.
    QUADS = "CONSTRUCT with GRAPH"
    DESCRIBE = "DESCRIBE"

    @property
    def gives_triples(self) -> bool:
        return self not in (ResultForm.SELECT, ResultForm.ASK)


_FORMS = frozenset(("SELECT", "ASK", "CONSTRUCT", "DESCRIBE"))


def read_form(text: str) -> ResultForm:
    """Return the form of a query; raises BadQueryError, also for updates."""
    tokens = iter(read_tokens(text))
    for token in tokens:
        if token.kind == "word" and token.text.upper() not in _PROLOGUE:
            form = _form(token.text.upper(), text, token.start)
            has_graphs = form is ResultForm.CONSTRUCT and _names_graphs(tokens)
            return ResultForm.QUADS if has_graphs else form
    raise BadQueryError(
        QuerySyntaxError.code,
        QuerySyntaxError.title,
        "the query holds none of SELECT, ASK, CONSTRUCT and DESCRIBE",
    )


def _names_graphs(tokens: Iterator[SparqlToken]) -> bool:
    """Whether the template that follows CONSTRUCT has named graphs."""
    for token in tokens:
        if token.kind == "word" and token.text.upper() == "GRAPH":
            return True
        if token.kind == "other" and token.text == "}":
            return False
    return False


def _form(word: str, text: str, position: int) -> ResultForm:
    if word in _FORMS:
        return ResultForm(word)
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


def _place(text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return f"at line {line}, column {column}"
