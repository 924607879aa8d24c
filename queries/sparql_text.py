"""Find in a query's text what the catalogue needs: form, projection, VALUES rows.

It is lightweight on purpose: the catalogue is loaded at every start, and a full SPARQL
parser takes a hundred times longer. The tests fully parse every saved query.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from queries.errors import CatalogueError
from queries.tokens import SparqlToken, read_tokens

_SIGNS = frozenset("^&|!<>=-+*/(){}[];,.?@$%~")
_PAIRS = {")": "(", "}": "{", "]": "["}
_FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")


@dataclass(frozen=True)
class ValuesRow:
    """A ``VALUES (?a ?b) { (…) }`` with one row: its variables, terms and position."""

    variables: tuple[str, ...]
    terms: tuple[str, ...]
    start: int
    end: int


def tokenise(text: str) -> list[SparqlToken]:
    """All tokens except white space and comments; raises CatalogueError for others."""
    found = list(read_tokens(text))
    for token in found:
        if token.kind == "other" and token.text not in _SIGNS:
            raise CatalogueError(f"line {_line(text, token.start)} is not SPARQL")
    _check_brackets(text, found)
    return found


def check_prefixes(tokens: Sequence[SparqlToken]) -> None:
    """Raise CatalogueError for a prefix that is used but not declared."""
    declared: set[str] = set()
    for before, token in pairwise(tokens):
        if token.kind != "name":
            continue
        prefix = token.text.partition(":")[0]
        if before.text.upper() == "PREFIX":
            declared.add(prefix)
        elif prefix not in declared:
            raise CatalogueError(f"prefix {prefix}: is not declared: add a PREFIX line")


def query_form(tokens: Sequence[SparqlToken]) -> str:
    """``select``, ``ask``, ``construct`` or ``describe``."""
    for token in tokens:
        if token.kind == "word" and token.text.upper() in _FORMS:
            return token.text.lower()
        if token.kind == "other":
            break
    raise CatalogueError(f"is not a query: it needs one of {', '.join(_FORMS)}")


def projection(tokens: Sequence[SparqlToken]) -> list[str]:
    """The names of the columns that a SELECT returns."""
    names: list[str] = []
    depth = 0
    for before, token in pairwise(_after_select(tokens)):
        if token.text == "{" or (depth == 0 and token.text.upper() == "WHERE"):
            break
        if token.text == "*" and depth == 0:
            raise CatalogueError("projects *: name each column")
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        named = depth == 0 or (depth == 1 and before.text.upper() == "AS")
        if token.kind == "variable" and named:
            names.append(token.text[1:])
    return names


def values_rows(tokens: Sequence[SparqlToken]) -> list[ValuesRow]:
    """Every VALUES in parenthesised form with exactly one row."""
    found = []
    for place, token in enumerate(tokens):
        if token.kind == "word" and token.text.upper() == "VALUES":
            row = _values_row(tokens, place + 1)
            if row is not None:
                found.append(row)
    return found


def _after_select(tokens: Sequence[SparqlToken]) -> Sequence[SparqlToken]:
    for place, token in enumerate(tokens):
        if token.text.upper() == "SELECT":
            return tokens[place:]
    return []


def _values_row(tokens: Sequence[SparqlToken], place: int) -> ValuesRow | None:
    names, place = _parenthesised(tokens, place)
    if names is None or not _is(tokens, place, "{"):
        return None
    first = place + 1
    terms, after = _parenthesised(tokens, first)
    if terms is None or not _is(tokens, after, "}"):
        return None
    variables = tuple(token.text[1:] for token in names)
    row = _terms(terms)
    return ValuesRow(variables, row, tokens[first].start, tokens[after - 1].end)


def _terms(tokens: Sequence[SparqlToken]) -> tuple[str, ...]:
    """Whole terms: adjacent tokens are one term, as in ``-5`` and ``"5"^^xsd:byte``."""
    terms: list[str] = []
    end = -1
    for token in tokens:
        if token.start == end:
            terms[-1] += token.text
        else:
            terms.append(token.text)
        end = token.end
    return tuple(terms)


def _parenthesised(
    tokens: Sequence[SparqlToken], place: int
) -> tuple[Sequence[SparqlToken] | None, int]:
    if not _is(tokens, place, "("):
        return None, place
    end = next(at for at in range(place, len(tokens)) if tokens[at].text == ")")
    return tokens[place + 1 : end], end + 1


def _is(tokens: Sequence[SparqlToken], place: int, sign: str) -> bool:
    return place < len(tokens) and tokens[place].text == sign


def _check_brackets(text: str, tokens: Sequence[SparqlToken]) -> None:
    open_: list[SparqlToken] = []
    for token in tokens:
        if token.text in _PAIRS.values():
            open_.append(token)
        elif token.text in _PAIRS and (
            not open_ or open_.pop().text != _PAIRS[token.text]
        ):
            line = _line(text, token.start)
            raise CatalogueError(
                f"line {line}: {token.text!r} closes nothing: remove it"
            )
    if open_:
        line = _line(text, open_[-1].start)
        raise CatalogueError(
            f"line {line}: {open_[-1].text!r} is never closed: close it"
        )


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
