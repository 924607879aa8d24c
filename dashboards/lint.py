"""Rules for generated dashboards beyond Grafana's schema.

``lint`` returns one line per finding: the place, the rule's id and the problem.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from dashboards import grafana_text
from dashboards.lint_queries import query_findings

Item = Mapping[str, Any]
Finding = tuple[str, str]

#: The finding of each rule, by its id.
RULES: Final = {
    "uid-form": "the uid is not 1 to 40 of A-Z a-z 0-9 _ -",
    "id-unique": "two panels have one id",
    "grid-bounds": "a panel leaves the grid of 24 columns",
    "grid-overlap": "two panels overlap",
    "row-panels": "a row holds panels and is open, or is closed and holds none",
    "title-missing": "a panel or the dashboard has no title",
    "description-missing": "a panel has no description",
    "variable-unknown": "a text contains an undefined variable",
    "variable-unused": "a variable that nothing uses",
    "variable-twice": "two variables have one name",
    "datasource-fixed": "a datasource is not a variable, or one of another kind",
    "html-in-text": "HTML where Grafana draws Markdown",
    "link-not-http": "a link is not http(s)",
    "component-unknown": "a link to a component that the twin does not know",
    "reason-missing": "a picture has no text for missing values",
    "query-missing": "a panel has no query",
    "ref-unique": "two queries of a panel have one refId",
    "expression-empty": "an expression is empty",
    "expression-long": "an expression is longer than VictoriaMetrics takes",
    "legend-unique": "two queries of a panel name their series alike",
    "name-unique": "two series of a panel have one name, or one is named twice",
    "sparql-syntax": "a SPARQL query does not parse",
    "sparql-dollar": "a SPARQL variable is written with a dollar sign",
    "column-missing": "a column that the query does not return",
    "column-order": "a column that the query returns has no place",
    "number-not-converted": "a column with a unit is not made a number",
    "link-on-number": "a column of numbers is a link",
}

_UID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_HTML = re.compile(r"<[A-Za-z!/?]")
_WIDTH = 24


def lint(document: Item, components: Collection[str] = ()) -> list[str]:
    """The findings of a dashboard, one per line; sends no queries.

    ``components`` are the IRIs that a series may link to; if empty, any.
    """
    found = [("dashboard", *one) for one in _dashboard(document)]
    for panel in panels(document):
        where = f"panel {panel.get('id')} {panel.get('title', '')[:60]!r}"
        found += [(where, *one) for one in _panel(panel, document, components)]
    return [f"{where}: {rule}: {text}" for where, rule, text in found]


def panels(document: Item) -> Iterator[Item]:
    """All panels, also those inside collapsed rows, without the rows."""
    for outer in document.get("panels", []):
        if outer.get("type") == "row":
            yield from outer.get("panels", [])
        else:
            yield outer


def variables(document: Item) -> list[Item]:
    """The definitions of the dashboard's variables."""
    found: list[Item] = document.get("templating", {}).get("list", [])
    return found


def _dashboard(document: Item) -> Iterator[Finding]:
    if not _UID.fullmatch(str(document.get("uid", ""))):
        yield "uid-form", repr(document.get("uid"))
    if not document.get("title"):
        yield "title-missing", "the dashboard has none"
    yield from _ids(document)
    yield from _overlaps(document)
    yield from _rows(document)
    yield from _definitions(document)
    yield from _links(document.get("links", []))


def _ids(document: Item) -> Iterator[Finding]:
    outer = [panel.get("id") for panel in document.get("panels", [])]
    rows = [p for p in document.get("panels", []) if p.get("type") == "row"]
    inner = [panel.get("id") for row in rows for panel in row.get("panels", [])]
    for number, times in Counter(outer + inner).items():
        if times > 1:
            yield "id-unique", f"{times} panels have the id {number}"


def _overlaps(document: Item) -> Iterator[Finding]:
    """Overlaps of panels that are visible together: collapsed rows hide panels."""
    outer = document.get("panels", [])
    inside = [row["panels"] for row in outer if row.get("panels")]
    for group in (outer, *inside):
        for one, other in _neighbours(group):
            if _overlap(one.get("gridPos", {}), other.get("gridPos", {})):
                yield "grid-overlap", f"panels {one.get('id')} and {other.get('id')}"


def _neighbours(group: Sequence[Item]) -> Iterator[tuple[Item, Item]]:
    """Each pair of panels that overlap vertically, from the top."""
    open_: list[Item] = []
    for one in sorted(group, key=lambda panel: _top(panel)[0]):
        open_ = [other for other in open_ if sum(_top(other)) > _top(one)[0]]
        yield from ((other, one) for other in open_)
        open_.append(one)


def _top(panel: Item) -> tuple[int, int]:
    """The position of its top edge, and its height."""
    at = panel.get("gridPos", {})
    return at.get("y", 0), at.get("h", 0)


def _overlap(one: Item, other: Item) -> bool:
    return all(
        one.get(start, 0) < other.get(start, 0) + other.get(size, 0)
        and other.get(start, 0) < one.get(start, 0) + one.get(size, 0)
        for start, size in (("x", "w"), ("y", "h"))
    )


def _rows(document: Item) -> Iterator[Finding]:
    for row in document.get("panels", []):
        if row.get("type") == "row" and bool(row.get("panels")) != row["collapsed"]:
            yield "row-panels", f"row {row.get('title')!r}: Grafana drops its panels"


def _definitions(document: Item) -> Iterator[Finding]:
    names = Counter(str(one.get("name")) for one in variables(document))
    used = set().union(*(grafana_text.variables(text) for text in _texts(document)))
    for name, times in names.items():
        if times > 1:
            yield "variable-twice", name
        if name not in used:
            yield "variable-unused", name
    for name in sorted(used - names.keys()):
        if not name.startswith("__"):
            yield "variable-unknown", f"${name}"


def _texts(item: Any, key: str = "") -> Iterator[str]:
    """Every text in which Grafana may replace variables, without names of fields."""
    if isinstance(item, str):
        yield item
    elif isinstance(item, Mapping):
        for name, value in item.items():
            if name != "matcher":
                yield from _texts(value, name)
    elif isinstance(item, list):
        for value in item:
            yield from _texts(value, key)


def _panel(
    panel: Item, document: Item, components: Collection[str]
) -> Iterator[Finding]:
    at = panel.get("gridPos", {})
    left, width = at.get("x", 0), at.get("w", 0)
    if left < 0 or at.get("y", 0) < 0 or width < 1 or left + width > _WIDTH:
        yield "grid-bounds", f"x {left}, width {width} of {_WIDTH}"
    if at.get("h", 0) < 1:
        yield "grid-bounds", f"height {at.get('h')}"
    if not panel.get("title"):
        yield "title-missing", "it has none"
    if not panel.get("description"):
        yield "description-missing", "it has none"
    yield from _markdown(panel)
    yield from _links(panel.get("links", []))
    yield from _field_links(panel, components)
    yield from _datasources(panel, document)
    yield from query_findings(panel, variables(document))


def _markdown(panel: Item) -> Iterator[Finding]:
    options = panel.get("options", {})
    texts = {"description": panel.get("description", "")}
    if panel.get("type") == "text":
        texts["content"] = options.get("content", "")
        if options.get("mode") == "html":
            yield "html-in-text", "its mode is html"
    for name, text in texts.items():
        if match := _HTML.search(text):
            yield "html-in-text", f"{name} holds {text[match.start() :][:40]!r}"


def _links(links: list[Item]) -> Iterator[Finding]:
    for one in links:
        if one.get("type", "link") == "link":
            yield from _address(str(one.get("url", "")))


def _address(url: str) -> Iterator[Finding]:
    if not url.startswith(("http://", "https://")):
        yield "link-not-http", repr(url[:80])


def _field_links(panel: Item, components: Collection[str]) -> Iterator[Finding]:
    for override in panel.get("fieldConfig", {}).get("overrides", []):
        for url in _urls(override):
            if url in ("${__value.raw}", "${__data.fields.run}"):
                continue
            yield from _address(url)
            is_component = "/telemetry/" not in url
            if components and is_component and url not in components:
                yield "component-unknown", url


def _urls(override: Item) -> Iterator[str]:
    for one in override.get("properties", []):
        if one.get("id") == "links":
            yield from (str(link.get("url", "")) for link in one["value"])


def _datasources(panel: Item, document: Item) -> Iterator[Finding]:
    kinds = {
        f"${{{one['name']}}}": one.get("query")
        for one in variables(document)
        if one.get("type") == "datasource"
    }
    datasources = [target.get("datasource") for target in panel.get("targets", [])]
    own = [panel["datasource"]] if panel.get("datasource") else []
    for one in [*own, *datasources]:
        reference = one or {}
        if kinds.get(str(reference.get("uid")), "") != reference.get("type"):
            yield "datasource-fixed", repr(one)
