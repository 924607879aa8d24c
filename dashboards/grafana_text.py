"""Texts that Grafana leaves as they are, and what it makes of its variables.

Grafana replaces ``$name``, ``${name:format}`` and ``[[name]]`` in titles, descriptions,
queries and links, and draws some texts as Markdown. Names of components are anything:
each function below keeps them from being taken for either, in its own kind of text.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote

from queries.tokens import read_tokens

#: What Grafana takes for a variable (its ``variableRegex``).
VARIABLE: Final = re.compile(
    r"\$(?P<plain>\w+)"
    r"|\[\[(?P<bracket>\w+?)(?::(?P<bracket_format>\w+))?\]\]"
    r"|\$\{(?P<brace>\w+)(?:\.[^:^}]+)?(?::(?P<brace_format>[^}]+))?\}",
    re.ASCII,
)
#: How an expression asks for the component that is chosen.
COMPONENT: Final = "$component"
#: How a query asks for the host that is chosen.
HOST: Final = "${host:doublequote}"

# Invisible; behind it a `$` or `[` begins no variable.
_WORD_JOINER = "\u2060"
_BEGINS_VARIABLE = re.compile(r"\$(?=[\w{])|\[(?=\[)", re.ASCII)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_COMPONENT_MATCHER = f'"{COMPONENT}"'
_NO_MARKDOWN = re.compile(r"[^\w\s,;()'\"=/%+?.:°·–—…→-]|_")
_LINK_BEGINS = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)
# An empty expression would find the series that lack the label.
_NOTHING = r"\b\B"
_NO_PATTERN = re.compile(r"[^A-Za-z0-9_/:-]")


def plain(text: str) -> str:
    """A title or label that Grafana shows as it is."""
    return _BEGINS_VARIABLE.sub(lambda match: match[0] + _WORD_JOINER, text)


def markdown(text: str) -> str:
    """A text that, drawn as Markdown, shows as it is, on one line."""
    line = " ".join(text.split())
    escaped = _NO_MARKDOWN.sub(_entity, line)
    escaped = _LINK_BEGINS.sub(_entity, escaped)
    # A line may begin with what makes a list or a heading of it.
    first = escaped[:1]
    return escaped if first.isalpha() or first in "&" else _entities(first, escaped)


def _entities(first: str, escaped: str) -> str:
    # Both the number and the full stop of "1." stand for a list.
    return f"&#{ord(first)};{escaped[1:]}" if first else escaped


def _entity(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"


def is_address(text: object) -> bool:
    """Whether it is an address that a browser may be led to."""
    return isinstance(text, str) and text.startswith(("http://", "https://"))


def link(url: str) -> str:
    """An address in which nothing is a variable."""
    return quote(url, safe="%/:?&=#~+,;@!*'()[]-._").replace("[[", "%5B%5B")


def expression(text: str, narrows: bool) -> str:
    """MetricsQL in which nothing but ``$component``, where it narrows, is a variable.

    Labels stand in double quotes, where a character may be written by its number.
    """
    return _STRING.sub(lambda match: _literal(match[0], narrows), text)


def _literal(literal: str, narrows: bool) -> str:
    if narrows and literal == _COMPONENT_MATCHER:
        return literal
    return _BEGINS_VARIABLE.sub(lambda match: f"\\x{ord(match[0]):02x}", literal)


def sparql(text: str) -> str:
    """SPARQL in which nothing is a variable of Grafana, without its ``#+`` header.

    ``$x`` becomes ``?x``, which means the same; elsewhere a character is written by its
    code point, of eight digits, as what follows could be taken for more of them.
    """
    lines = text.splitlines(keepends=True)
    body = "".join(line for line in lines if not line.startswith("#+"))
    parts: list[str] = []
    end = 0
    for token in read_tokens(body):
        parts.append(_code_points(body[end : token.start]))
        parts.append(_sparql_token(token.kind, token.text, parts))
        end = token.end
    return "".join([*parts, _code_points(body[end:])])


def _sparql_token(kind: str, text: str, before: list[str]) -> str:
    if kind == "variable":
        return f"?{text[1:]}"
    if text == "[" and "".join(before[-2:]) == "[":
        return " ["
    return _code_points(text)


def _code_points(text: str) -> str:
    return _BEGINS_VARIABLE.sub(lambda match: f"\\U{ord(match[0]):08X}", text)


def pattern(instances: Iterable[str]) -> str:
    """A regular expression (RE2) that finds these instances and no others.

    It is written with letters, digits, ``| / : _ -`` and numbers of characters alone:
    nothing in it has a meaning in a list of options, in quotes or in an address.
    """
    names = (_NO_PATTERN.sub(_numbered, name) for name in instances)
    return "|".join(names) or _NOTHING


def _numbered(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 0x80 else f"\\x{{{number:x}}}"


def option(label: str, value: str) -> str:
    """One entry of a list of options, which a comma divides."""
    written = " ".join(plain(label).split()) or value
    return written.replace(",", "\\,") + " : " + value


def interpolate(text: str, values: Mapping[str, str]) -> str:
    """What Grafana makes of a query, given the text that each variable stands for.

    Names that it does not know stay as they are, as they do in Grafana.
    """

    def chosen(match: re.Match[str]) -> str:
        name = match["plain"] or match["bracket"] or match["brace"]
        return values.get(name, match[0])

    return VARIABLE.sub(chosen, text)


def variables(text: str) -> set[str]:
    """The names of what Grafana takes for variables in a text."""
    return {
        match["plain"] or match["bracket"] or match["brace"]
        for match in VARIABLE.finditer(text)
    }
