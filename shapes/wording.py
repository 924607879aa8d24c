"""Format SHACL results as one line each, in plain words."""

import json
import re
from collections.abc import Iterator

from rdflib import RDF, SH, Graph, Literal
from rdflib.term import Node

from ontology.terms import PREFIXES

# The significant part of a twin's IRI; the base before it is a setting.
_TWIN_PATH = re.compile(r"/((?:twin|metric|indom|pmu)/.+)$")
_LONGEST_VALUE = 80


def lines(report: Graph) -> list[str]:
    """The results of a report, violations first, each line once."""
    found = {
        (_severity(report, result) == SH.Warning, _line(report, result))
        for result in report.subjects(RDF.type, SH.ValidationResult)
    }
    return [text for _, text in sorted(found)]


def short(node: Node | None) -> str:
    """A node in short form: ``twin/n1/thread/0``, ``st:Core``, ``"text"``."""
    if isinstance(node, Literal):
        return _shortened(json.dumps(str(node), ensure_ascii=False))
    text = str(node)
    path = _TWIN_PATH.search(text)
    if path:
        return path[1]
    return next(_curies(text), f"<{text}>")


def _line(report: Graph, result: Node) -> str:
    focus = report.value(result, SH.focusNode)
    value = report.value(result, SH.value)
    message = report.value(result, SH.resultMessage)
    warning = _severity(report, result) == SH.Warning
    found = f" (found {short(value)})" if value not in (None, focus) else ""
    return f"{'warning: ' if warning else ''}{short(focus)} {message}{found}"


def _severity(report: Graph, result: Node) -> Node | None:
    return report.value(result, SH.resultSeverity)


def _curies(text: str) -> Iterator[str]:
    for prefix, namespace in PREFIXES.items():
        if text.startswith(namespace):
            yield f"{prefix}:{text.removeprefix(namespace)}"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
