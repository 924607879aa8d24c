"""Rules for a panel's queries and for the names of its series."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rdflib.plugins.sparql import prepareQuery

from dashboards import grafana_text
from dashboards.grafana_targets import LONGEST
from queries.check import PARSER
from queries.sparql_text import projection, tokenise

Item = Mapping[str, Any]
Finding = tuple[str, str]


def chosen(variables: Sequence[Item]) -> dict[str, str]:
    """The value of each variable when everything is selected."""
    found = {}
    for one in variables:
        current = one.get("current", {}).get("value", "")
        value = one.get("allValue") if current == "$__all" else current
        found[str(one.get("name"))] = str(value or "")
    return found


def choices(variable: Item) -> list[str]:
    """The values of a list of options, parsed as Grafana does."""
    entries = str(variable.get("query", "")).replace("\\,", "\0").split(",")
    return [entry.rpartition(" : ")[2].strip() for entry in entries]


def in_string(value: str) -> str:
    """A value as the Prometheus datasource writes it between double quotes."""
    return value.replace("\\", "\\\\")


def query_findings(panel: Item, variables: Sequence[Item]) -> Iterator[Finding]:
    """The findings for the queries of a panel."""
    targets = panel.get("targets", [])
    if panel.get("type") == "text":
        return
    if not targets:
        yield "query-missing", "it has no query"
    for name, times in Counter(str(one.get("refId")) for one in targets).items():
        if times > 1 or not name:
            yield "ref-unique", f"{times} queries are called {name!r}"
    for target in targets:
        if "queryText" not in target:
            yield from _expression(target, variables)
    texts = [one["queryText"] for one in targets if "queryText" in one]
    if texts:
        yield from _sparql(panel, texts, variables)
    if panel.get("type") != "table":
        yield from _names(panel, targets)


def _expression(target: Item, variables: Sequence[Item]) -> Iterator[Finding]:
    text = str(target.get("expr", ""))
    if not text.strip():
        yield "expression-empty", f"query {target.get('refId')}"
    component = [one for one in variables if one.get("name") == "component"]
    values = [in_string(value) for one in component for value in choices(one)]
    longest = max(values, key=len, default="")
    expanded = grafana_text.interpolate(text, {"component": longest})
    if len(expanded.encode()) > LONGEST:
        yield "expression-long", f"{len(expanded.encode())} bytes of {LONGEST}"


def _names(panel: Item, targets: Sequence[Item]) -> Iterator[Finding]:
    series = [one for one in targets if "queryText" not in one]
    legends = Counter(str(one.get("legendFormat", "")) for one in series)
    for legend, times in legends.items():
        if times > 1 or not legend:
            yield "legend-unique", f"{times} queries have the legend {legend!r}"
    config = panel.get("fieldConfig", {})
    if not config.get("defaults", {}).get("noValue"):
        yield "reason-missing", "it has no noValue"
    overrides = config.get("overrides", [])
    fields = Counter(one["matcher"].get("options") for one in overrides)
    shown = Counter(
        one.get("value")
        for override in overrides
        for one in override["properties"]
        if one["id"] == "displayName"
    )
    for name, times in [*fields.items(), *shown.items()]:
        if times > 1:
            yield "name-unique", f"{name!r} occurs {times} times"


def _sparql(
    panel: Item, texts: Sequence[str], variables: Sequence[Item]
) -> Iterator[Finding]:
    returned: list[str] = []
    for text in texts:
        expanded = grafana_text.interpolate(text, chosen(variables))
        try:
            with PARSER:
                prepareQuery(expanded)
            tokens = tokenise(expanded)
            returned += projection(tokens)
        except Exception as error:
            # rdflib raises plain exceptions for prefixes and scopes.
            yield "sparql-syntax", " ".join(str(error).split())[:160]
            return
        for token in tokens:
            if token.kind == "variable" and token.text.startswith("$"):
                yield "sparql-dollar", token.text
    yield from _columns(panel, returned)


def _columns(panel: Item, returned: Sequence[str]) -> Iterator[Finding]:
    steps = {one.get("id"): one.get("options", {}) for one in _steps(panel)}
    numbers = [
        one.get("targetField")
        for one in steps.get("convertFieldType", {}).get("conversions", [])
        if one.get("destinationType") == "number"
    ]
    split = [name for one in _steps(panel) for name in one["options"].get("fields", ())]
    placed = steps.get("organize", {}).get("indexByName", {})
    overrides = panel.get("fieldConfig", {}).get("overrides", [])
    named = [one["matcher"].get("options") for one in overrides]
    for name in dict.fromkeys([*numbers, *placed, *named, *split]):
        if name not in returned:
            yield "column-missing", f"{name!r}; it returns {', '.join(returned)}"
    is_table = panel.get("type") == "table"
    for name in returned:
        if name not in placed and is_table:
            yield "column-order", repr(name)
    # A chart has no cells: it opens the link of a point.
    for override in overrides:
        yield from _column(override, numbers, is_table=is_table)


def _column(
    override: Item, numbers: Sequence[Any], *, is_table: bool
) -> Iterator[Finding]:
    name = override["matcher"].get("options")
    ids = {one["id"] for one in override["properties"]}
    if "unit" in ids and name not in numbers:
        yield "number-not-converted", repr(name)
    if "links" in ids and name in numbers and is_table:
        yield "link-on-number", repr(name)


def _steps(panel: Item) -> list[Item]:
    found: list[Item] = panel.get("transformations", [])
    return found
