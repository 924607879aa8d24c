"""Escape texts so that Grafana shows them literally, and expand its variables.

Grafana replaces ``$name``, ``${name:format}`` and ``[[name]]`` in titles, descriptions,
queries and links, and renders some texts as Markdown. Component names may contain
anything. Each function below escapes one kind of text.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote

from queries.tokens import read_tokens

#: Grafana's pattern of variables (its ``variableRegex``).
VARIABLE: Final = re.compile(
    r"\$(?P<plain>\w+)"
    r"|\[\[(?P<bracket>\w+?)(?::(?P<bracket_format>\w+))?\]\]"
    r"|\$\{(?P<brace>\w+)(?:\.[^:^}]+)?(?::(?P<brace_format>[^}]+))?\}",
    re.ASCII,
)
#: The variable for the selected component in an expression.
COMPONENT: Final = "$component"
#: The variable for the selected host in a query.
HOST: Final = "${host:doublequote}"

# Invisible; a preceding `$` or `[` does not begin a variable.
_WORD_JOINER = "\u2060"
_BEGINS_VARIABLE = re.compile(r"\$(?=[\w{])|\[(?=\[)", re.ASCII)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_COMPONENT_MATCHER = f'"{COMPONENT}"'
_NO_MARKDOWN = re.compile(r"[^\w\s,;()'\"=/%+?.:°·–—…→-]|_")
_LINK_BEGINS = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)
# An empty expression would match series that lack the label.
_NOTHING = r"\b\B"
_NO_PATTERN = re.compile(r"[^A-Za-z0-9_/:-]")


def plain(text: str) -> str:
    """Escape a title or label so that Grafana shows it literally."""
    return _BEGINS_VARIABLE.sub(lambda match: match[0] + _WORD_JOINER, text)


def markdown(text: str) -> str:
    """Escape a text so that Markdown shows it literally, on one line."""
    line = " ".join(text.split())
    escaped = _NO_MARKDOWN.sub(_entity, line)
    escaped = _LINK_BEGINS.sub(_entity, escaped)
    # The first character could begin a list or a heading.
    first = escaped[:1]
    return escaped if first.isalpha() or first in "&" else _entities(first, escaped)


def _entities(first: str, escaped: str) -> str:
    # Both the number and the full stop of "1." begin a list.
    return f"&#{ord(first)};{escaped[1:]}" if first else escaped


def _entity(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"


def is_address(text: object) -> bool:
    """Whether it is an address that a browser may open."""
    return isinstance(text, str) and text.startswith(("http://", "https://"))


def link(url: str) -> str:
    """An address without variables."""
    return quote(url, safe="%/:?&=#~+,;@!*'()[]-._").replace("[[", "%5B%5B")


def expression(text: str, narrows: bool) -> str:
    """MetricsQL without variables except ``$component``, and that only if it narrows.

    Labels are in double quotes, where a character may be written by its number.
    """
    return _STRING.sub(lambda match: _literal(match[0], narrows), text)


def _literal(literal: str, narrows: bool) -> str:
    if narrows and literal == _COMPONENT_MATCHER:
        return literal
    return _BEGINS_VARIABLE.sub(lambda match: f"\\x{ord(match[0]):02x}", literal)


def sparql(text: str) -> str:
    """SPARQL without variables of Grafana and without its ``#+`` header.

    ``$x`` becomes the equivalent ``?x``. Elsewhere a character is written as an
    eight-digit code point, since following characters could be taken for more digits.
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
    """A regular expression (RE2) that matches exactly these instances.

    It uses only letters, digits, ``| / : _ -`` and character codes, so nothing in it is
    special in a list of options, in quotes or in an address.
    """
    names = (_NO_PATTERN.sub(_numbered, name) for name in instances)
    return "|".join(names) or _NOTHING


def _numbered(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 0x80 else f"\\x{{{number:x}}}"


def option(label: str, value: str) -> str:
    """One entry of a comma-separated list of options."""
    written = " ".join(plain(label).split()) or value
    return written.replace(",", "\\,") + " : " + value


def interpolate(text: str, values: Mapping[str, str]) -> str:
    """Replace Grafana's variables in a query by the given values.

    Unknown names stay as they are, as in Grafana.
    """

    def chosen(match: re.Match[str]) -> str:
        name = match["plain"] or match["bracket"] or match["brace"]
        return values.get(name, match[0])

    return VARIABLE.sub(chosen, text)


def variables(text: str) -> set[str]:
    """The names of Grafana variables in a text."""
    return {
        match["plain"] or match["bracket"] or match["brace"]
        for match in VARIABLE.finditer(text)
    }
