"""Run the queries of a generated dashboard against a store and a graph."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dashboards import grafana_text
from dashboards.lint import panels, variables
from dashboards.lint_queries import choices, chosen, in_string

Item = Mapping[str, Any]

#: Runs MetricsQL over a range and returns the number of series, or an error text.
AskStore = Callable[[str, float, float], int | str]
#: Runs SPARQL and returns the names of the columns, or an error text.
AskGraph = Callable[[str], Sequence[str] | str]

_SPAN = 60.0


@dataclass
class LiveCheckResult:
    """The number of queries and of empty results, and the problems found."""

    panels: int = 0
    expressions: int = 0
    empty: int = 0
    queries: int = 0
    findings: list[str] = field(default_factory=list)


def check(document: Item, ask_store: AskStore, ask_graph: AskGraph) -> LiveCheckResult:
    """Run every query of a dashboard, for all components and for the largest one.

    An expression without series is counted but is not a finding: the host may be off.
    """
    checked = LiveCheckResult()
    defined = variables(document)
    for panel in panels(document):
        checked.panels += 1
        where = f"panel {panel.get('id')} {panel.get('title', '')[:60]!r}"
        for target in panel.get("targets", []):
            if "queryText" in target:
                line = _query(target, panel, defined, ask_graph)
                checked.queries += 1
            else:
                line = _expression(target, defined, ask_store, checked)
            if line:
                checked.findings.append(f"{where}: {line}")
    return checked


def _expression(
    target: Item, defined: Sequence[Item], ask: AskStore, checked: LiveCheckResult
) -> str:
    end = time.time()
    for place, expression in enumerate(expressions(target, defined)):
        checked.expressions += 1
        answer = ask(expression, end - _SPAN, end)
        if isinstance(answer, str):
            return f"expression-fails: {answer}"
        # A component may lack these series.
        checked.empty += answer == 0 and place == 0
    return ""


def expressions(target: Item, defined: Sequence[Item]) -> Iterator[str]:
    """An expression as Grafana would send it: for all, and the largest component."""
    text = str(target["expr"])
    values = chosen(defined)
    yield _filled(text, values)
    if "component" in grafana_text.variables(text):
        offered = [one for one in defined if one.get("name") == "component"]
        largest = max((value for one in offered for value in choices(one)), key=len)
        yield _filled(text, {**values, "component": largest})


def _filled(text: str, values: Mapping[str, str]) -> str:
    written = {name: in_string(value) for name, value in values.items()}
    return grafana_text.interpolate(text, written)


def _query(target: Item, panel: Item, defined: Sequence[Item], ask: AskGraph) -> str:
    answer = ask(sparql(target, defined))
    if isinstance(answer, str):
        return f"query-fails: {answer}"
    missing = [name for name in needed(panel) if name not in answer]
    return f"column-missing: {', '.join(missing)}" if missing else ""


def sparql(target: Item, defined: Sequence[Item]) -> str:
    """A query as Grafana would send it, for all hosts if one can be selected."""
    return grafana_text.interpolate(str(target["queryText"]), chosen(defined))


def needed(panel: Item) -> list[str]:
    """The columns to which a table gives a position."""
    for step in panel.get("transformations", []):
        if step.get("id") == "organize":
            return list(step["options"]["indexByName"])
    return []
