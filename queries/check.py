"""The rules for a saved query beyond those of loading it; they apply to all queries.

Loading checks what a start can afford. The rest takes rdflib up to some seconds.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from threading import Lock
from typing import Final

from pyparsing import ParseBaseException
from rdflib.plugins.sparql import prepareQuery

from ontology.load import ontology_graph
from ontology.terms import PREFIXES, ST
from queries.catalogue import LONGEST_VALUE, SavedQuery
from queries.errors import CatalogueError, EndlessParameterError
from queries.sparql_text import tokenise
from queries.tokens import SparqlToken

MOST_PARAMETERS: Final = 50
# rdflib takes about a millisecond for each.
_MOST_TOKENS: Final = 2000
# Their rows are hosts, found by other facts.
_FIND_HOSTS: Final = frozenset({"fleet/find"})
# What may follow WHERE.
_MODIFIERS: Final = frozenset({"GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES"})
# rdflib's parser keeps its state in globals.
PARSER: Final = Lock()


def check_query(query: SavedQuery) -> None:
    """Raise CatalogueError for the first rule that a loaded query breaks."""
    tokens = tokenise(query.text)
    _check_size(query, tokens)
    _check_service(query.text, tokens)
    _check_sparql(query)
    _check_parameters(query, tokens)
    declared = dict(_prefixes(tokens))
    _check_prefixes(declared, tokens)
    _check_terms(declared, tokens)


def _check_size(query: SavedQuery, tokens: Sequence[SparqlToken]) -> None:
    if len(tokens) > _MOST_TOKENS:
        raise CatalogueError(
            f"has {len(tokens)} words and signs, at most {_MOST_TOKENS} fit: split it"
        )
    if len(query.params) > MOST_PARAMETERS:
        raise EndlessParameterError(
            f"has {len(query.params)} parameters, at most {MOST_PARAMETERS} fit"
        )


def _check_service(text: str, tokens: Sequence[SparqlToken]) -> None:
    for token in tokens:
        if token.kind == "word" and token.text.upper() == "SERVICE":
            line = text.count("\n", 0, token.start) + 1
            raise CatalogueError(
                f"line {line}: SERVICE asks another endpoint, which is not allowed: "
                "remove it"
            )


def _check_parameters(query: SavedQuery, tokens: Sequence[SparqlToken]) -> None:
    for param in query.params.values():
        if not param.description:
            raise CatalogueError(
                f"parameter {param.name} has no description: say what it selects"
            )
        values = [str(one) for one in (param.default, *param.enum)]
        if max(map(len, values)) > LONGEST_VALUE:
            raise EndlessParameterError(
                f"parameter {param.name} has a default or choice of more than "
                f"{LONGEST_VALUE} characters: shorten it"
            )
    has_hosts = "host" in query.returns and query.name not in _FIND_HOSTS
    if has_hosts and "host" not in query.params:
        raise CatalogueError(
            "returns the column host, but has no parameter host: add it, so that one "
            "host can be chosen"
        )
    _check_restricts(query, tokens)


def _check_restricts(query: SavedQuery, tokens: Sequence[SparqlToken]) -> None:
    """Refuse a parameter that only the head and the end of the query mention."""
    if query.row is None:
        return
    restricting = _restricting(query, tokens)
    matched = {token.text[1:] for token in restricting if token.kind == "variable"}
    for variable in query.row.variables:
        if variable not in matched:
            raise EndlessParameterError(
                f"no pattern or filter uses the parameter ?{variable}, so every value "
                "matches everything: use or remove it"
            )


def _restricting(
    query: SavedQuery, tokens: Sequence[SparqlToken]
) -> Iterator[SparqlToken]:
    """The tokens of WHERE without the row of parameters, and those of HAVING."""
    # A CONSTRUCT has its template before WHERE; a DESCRIBE may have no WHERE.
    groups = [*_outer_groups(tokens)][query.form == "construct" :]
    if not groups:
        return
    first, last = groups[0]
    row = _row_span(query, tokens)
    yield from (tokens[at] for at in range(first, last) if at not in row)
    yield from _having(tokens[last + 1 :])


def _having(tokens: Sequence[SparqlToken]) -> Iterator[SparqlToken]:
    is_having = False
    for token in tokens:
        word = token.text.upper() if token.kind == "word" else ""
        is_having = word == "HAVING" if word in _MODIFIERS else is_having
        if is_having:
            yield token


def _outer_groups(tokens: Sequence[SparqlToken]) -> Iterator[tuple[int, int]]:
    """First and last token of the braces at the top, without those of VALUES."""
    depth, first = 0, 0
    for at, token in enumerate(tokens):
        if token.text == "{":
            first = first if depth else at
            depth += 1
        elif token.text == "}":
            depth -= 1
            if depth == 0 and not _is_of_values(tokens, first):
                yield first, at


def _is_of_values(tokens: Sequence[SparqlToken], brace: int) -> bool:
    """Whether an opening brace begins the rows of a VALUES."""
    at = brace - 1
    while at > 0 and (tokens[at].kind == "variable" or tokens[at].text in "()"):
        at -= 1
    return tokens[at].text.upper() == "VALUES"


def _row_span(query: SavedQuery, tokens: Sequence[SparqlToken]) -> range:
    """The tokens of the parameters' VALUES, from the word to the closing brace."""
    assert query.row  # noqa: S101
    end = next(at for at, token in enumerate(tokens) if token.end >= query.row.end)
    start = end
    while tokens[start].text.upper() != "VALUES":
        start -= 1
    return range(start, end + 1)


def _prefixes(tokens: Sequence[SparqlToken]) -> Iterator[tuple[str, str]]:
    """Each declared prefix with its IRI."""
    for word, (name, iri) in zip(tokens, pairwise(tokens[1:]), strict=False):
        if word.text.upper() == "PREFIX" and name.kind == "name" and iri.kind == "iri":
            yield name.text.rstrip(":"), iri.text[1:-1]


def _check_prefixes(declared: dict[str, str], tokens: Sequence[SparqlToken]) -> None:
    used = {
        token.text.partition(":")[0]
        for before, token in pairwise(tokens)
        if token.kind == "name" and before.text.upper() != "PREFIX"
    }
    for prefix, iri in declared.items():
        if PREFIXES.get(prefix, iri) != iri:
            raise CatalogueError(
                f"prefix {prefix}: is <{PREFIXES[prefix]}> in every other query: "
                "declare that, or take another prefix"
            )
        if prefix not in used:
            raise CatalogueError(f"never uses its prefix {prefix}: remove it")


def _check_terms(declared: dict[str, str], tokens: Sequence[SparqlToken]) -> None:
    ours = {prefix for prefix, iri in declared.items() if iri == str(ST)}
    known = ontology_graph()
    for token in tokens:
        prefix, _, local = token.text.partition(":")
        if token.kind != "name" or prefix not in ours or not local:
            continue
        if (ST[local], None, None) not in known:
            raise CatalogueError(
                f"{token.text} is not in the ontology: /ontology lists its terms"
            )


def _check_sparql(query: SavedQuery) -> None:
    """Parse it completely, as any other SPARQL engine does."""
    try:
        with PARSER:
            prepared = prepareQuery(query.text)
    except RecursionError:
        raise CatalogueError("is nested too deeply, or has too long a group") from None
    except ParseBaseException as error:
        reason = error.msg[:200].removeprefix("Expected ")
        raise CatalogueError(f"line {error.lineno}: expected {reason}") from None
    except Exception as error:  # rdflib raises plain exceptions for scopes
        reason = " ".join(str(error).split())[:200]
        raise CatalogueError(f"is not SPARQL: {reason}") from None
    columns = [str(name) for name in prepared.algebra.PV or ()]
    if query.form == "select" and columns != query.returns:
        raise CatalogueError(f"returns {query.returns} but projects {columns}")
    if query.row and query.bind({}) != query.text:
        defaults = " ".join(query.row.terms)
        raise CatalogueError(f"write the row of its parameters as ({defaults})")
