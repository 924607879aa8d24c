"""Why the metrics that a panel needs are not drawn, according to the graph."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dashboards.questions import Answer, BoundQuery
from queries.diagnosis import MetricFacts, finding, of_host, read_known

_QUERY = "why/no-data"
_PATTERN_QUERY = "telemetry/names"


def host_question(host: str) -> BoundQuery:
    """The query about PCP on a host, for any metric."""
    return BoundQuery.of(_QUERY, {"host": host})


def host_reason(answer: Answer, host: str) -> str:
    """Why a host has no series at all; empty if no reason is known."""
    if isinstance(answer, str) or not answer.rows:
        return ""
    found = of_host(read_known(answer), host)
    return found.reason if found else ""


def metric_question(host: str, pattern: str) -> BoundQuery:
    """The query about a metric, or about all metrics of a pattern such as a.*."""
    if "*" in pattern:
        return BoundQuery.of(_PATTERN_QUERY, {"host": host, "pattern": pattern})
    return BoundQuery.of(_QUERY, {"host": host, "metric": pattern})


def reasons(
    host: str, patterns: Iterable[str], answers: Mapping[str, Answer]
) -> tuple[str, ...]:
    """One line per reason, with all patterns that share it."""
    alike: dict[MetricFacts | str, list[str]] = {}
    for pattern in patterns:
        alike.setdefault(_known(answers[pattern], pattern), []).append(pattern)
    return tuple(_reason(host, known, names) for known, names in alike.items())


def _known(answer: Answer, pattern: str) -> MetricFacts | str:
    if isinstance(answer, str):
        return answer
    if "*" in pattern:
        return _known_of_pattern(answer.records())
    return read_known(answer)


def _known_of_pattern(rows: Sequence[Mapping[str, Any]]) -> MetricFacts:
    """The facts that hold for at least one metric of a pattern."""
    return MetricFacts(
        host=True,
        pcp_asked=True,
        metric=bool(rows),
        exposed=any(row["exposed"] for row in rows),
        plans=("any",) if any(row["sampled"] for row in rows) else (),
    )


def _reason(host: str, known: MetricFacts | str, names: Sequence[str]) -> str:
    if isinstance(known, str):
        return f"{', '.join(names)}: {known}"
    found = finding(known, host, names)
    if found:
        return found.reason
    return f"{', '.join(names)}: sampled, but not for anything that this picture shows"
