"""Finds in the text of a query what the catalogue needs: its form, what it projects,
its VALUES rows.

Light on purpose: the catalogue is loaded at every start, and a full SPARQL parser takes
a hundred times longer. The full parse of every saved query is done by the tests.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

from queries.errors import CatalogueError

_TOKEN = re.compile(
    r"""
    (?P<skip>\s+|\#[^\n]*)
    |(?P<iri><[^<>"{}|^`\\\x00-\x20]*>)
    |(?P<string>(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''
        |"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
        (?:@[A-Za-z-]+|\^\^(?:<[^<>\s]*>|[\w-]*:[\w.-]*))?)
    |(?P<variable>[?$]\w+)
    |(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[^\W\d][\w.-]*(?:(?<!\.):[\w.%-]*)?|:[\w.%-]*)
    |(?P<other>\^\^|&&|\|\||[!<>]=|[-+*/^|!=<>(){}\[\];,.?@&$%~])
    """,
    re.VERBOSE | re.DOTALL,
)
_PAIRS = {")": "(", "}": "{", "]": "["}
_FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")


@dataclass(frozen=True)
class Token:
    """One token and where it stands."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True)
class ValuesRow:
    """A ``VALUES (?a ?b) { (…) }`` with one row: its variables, terms and place."""

    variables: tuple[str, ...]
    terms: tuple[str, ...]
    start: int
    end: int


def tokenise(text: str) -> list[Token]:
    """All tokens but blanks and comments; raises CatalogueError where there is none."""
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise CatalogueError(f"line {_line(text, position)} is not SPARQL")
        if match.lastgroup != "skip":
            tokens.append(Token(match.lastgroup or "", match[0], position))
        position = match.end()
    _check_brackets(text, tokens)
    return tokens


def check_prefixes(tokens: list[Token]) -> None:
    """Raises CatalogueError for a prefix that is used and not declared."""
    declared: set[str] = set()
    for before, token in pairwise(tokens):
        if token.kind != "name" or ":" not in token.text:
            continue
        prefix = token.text.partition(":")[0]
        if before.text.upper() == "PREFIX":
            declared.add(prefix)
        elif prefix not in declared:
            raise CatalogueError(f"prefix {prefix}: is not declared")


def query_form(tokens: list[Token]) -> str:
    """``select``, ``ask``, ``construct`` or ``describe``."""
    for token in tokens:
        if token.kind == "name" and token.text.upper() in _FORMS:
            return token.text.lower()
        if token.kind == "other":
            break
    raise CatalogueError(f"is no query: it needs one of {', '.join(_FORMS)}")


def projection(tokens: list[Token]) -> list[str]:
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


def values_rows(tokens: list[Token]) -> list[ValuesRow]:
    """Every VALUES of the parenthesised form that has exactly one row."""
    found = []
    for place, token in enumerate(tokens):
        if token.kind == "name" and token.text.upper() == "VALUES":
            row = _values_row(tokens, place + 1)
            if row is not None:
                found.append(row)
    return found


def _after_select(tokens: list[Token]) -> list[Token]:
    for place, token in enumerate(tokens):
        if token.text.upper() == "SELECT":
            return tokens[place:]
    return []


def _values_row(tokens: list[Token], place: int) -> ValuesRow | None:
    names, place = _parenthesised(tokens, place)
    if names is None or tokens[place].text != "{":
        return None
    first = place + 1
    terms, after = _parenthesised(tokens, first)
    if terms is None or tokens[after].text != "}":
        return None
    variables = tuple(token.text[1:] for token in names)
    written = tuple(token.text for token in terms)
    return ValuesRow(variables, written, tokens[first].start, tokens[after - 1].end)


def _parenthesised(tokens: list[Token], place: int) -> tuple[list[Token] | None, int]:
    if tokens[place].text != "(":
        return None, place
    end = next(at for at in range(place, len(tokens)) if tokens[at].text == ")")
    return tokens[place + 1 : end], end + 1


def _check_brackets(text: str, tokens: list[Token]) -> None:
    open_: list[Token] = []
    for token in tokens:
        if token.text in _PAIRS.values():
            open_.append(token)
        elif token.text in _PAIRS and (
            not open_ or open_.pop().text != _PAIRS[token.text]
        ):
            line = _line(text, token.start)
            raise CatalogueError(f"line {line}: {token.text!r} closes nothing")
    if open_:
        line = _line(text, open_[-1].start)
        raise CatalogueError(f"line {line}: {open_[-1].text!r} is never closed")


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
