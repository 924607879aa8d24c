"""Markdown as HTML, with the heading anchors that GitHub uses."""

import re
from collections import Counter
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table")
_NOT_SLUG = re.compile(r"[^\w\- ]")


@dataclass(frozen=True)
class MarkdownPage:
    """A page of the documentation; ``sections`` are its anchors and their titles."""

    title: str
    body: Markup
    sections: tuple[tuple[str, str], ...]


def paragraphs(text: str) -> Markup:
    """Render a short text as HTML; HTML in it is escaped."""
    return Markup(_PARSER.render(text))  # noqa: S704


def document(text: str, *, prefix: str = "") -> MarkdownPage:
    """Render a whole document; the ``prefix`` of links is removed."""
    tokens = _PARSER.parse(text)
    headings = _headings(tokens)
    for token in tokens:
        for child in token.children or []:
            _relink(child, prefix)
    body = _PARSER.renderer.render(tokens, _PARSER.options, {})
    titles = [title for level, _, title in headings if level == "h1"]
    sections = tuple((slug, title) for level, slug, title in headings if level == "h2")
    return MarkdownPage(titles[0] if titles else "", Markup(body), sections)  # noqa: S704


def _headings(tokens: list[Token]) -> list[tuple[str, str, str]]:
    """Return level, anchor and title of each heading; sets the anchor as its ``id``."""
    found, used = [], Counter[str]()
    for token, inline in zip(tokens, tokens[1:], strict=False):
        if token.type != "heading_open":
            continue
        title = "".join(child.content for child in inline.children or [])
        slug = _NOT_SLUG.sub("", title.lower()).replace(" ", "-")
        number = used[slug]
        used[slug] += 1
        anchor = f"{slug}-{number}" if number else slug
        token.attrSet("id", anchor)
        found.append((token.tag, anchor, title))
    return found


def _relink(token: Token, prefix: str) -> None:
    for name in ("href", "src"):
        value = token.attrGet(name)
        if isinstance(value, str):
            token.attrSet(name, value.removeprefix(prefix))
