"""Finds the inputs of an expression in the graph."""

from collections.abc import Sequence
from urllib.parse import urljoin

from core.stores.endpoint import Endpoint
from core.stores.errors import QuerySyntaxError
from ontology.iris import telemetry_parts
from ontology.terms import PREFIXES
from queries.errors import ParameterError
from queries.terms import iri_term, text_term
from virtual_telemetry.check import InputFacts
from virtual_telemetry.errors import ExpressionError

MOST_MEMBERS = 5000
_PREFIXES = "".join(
    f"PREFIX {name}: <{PREFIXES[name]}>\n"
    for name in ("st", "qudt", "unit", "prov", "rdf", "rdfs", "xsd")
)
_COLUMNS = "?telemetry ?host ?unit ?counter ?type"
_OF_METRIC = """OPTIONAL { ?metric qudt:hasUnit ?unit }
    OPTIONAL { ?metric st:valueType ?type }
    OPTIONAL { ?metric st:semantics ?semantics }
    BIND (COALESCE(?semantics = st:Counter, false) AS ?counter)"""


class GraphInputs:
    """The inputs of an expression, as the graph has them now."""

    def __init__(self, twin: Endpoint, base: str) -> None:
        self._twin, self._base = twin, f"{base.rstrip('/')}/"

    def one(self, iri: str) -> InputFacts:
        """Return the facts of telemetry; raises ExpressionError if it is unknown."""
        try:
            term = iri_term(urljoin(self._base, iri))
        except (ParameterError, ValueError):
            raise ExpressionError(f"<{iri[:200]}> is not an IRI") from None
        found = self._found(f"VALUES ?telemetry {{ {term} }}") or self._of_parts(term)
        if not found:
            raise ExpressionError(
                f"{term} is not telemetry of the twin; `supertwin query "
                "telemetry/sampled` lists what is sampled"
            )
        return found[0]

    def members(self, pattern: str) -> tuple[str, Sequence[InputFacts]]:
        """Return the query for a pattern, and its telemetry; raises ExpressionError."""
        query = self._query(pattern)
        try:
            found = self._found(f"{{ {query} LIMIT {MOST_MEMBERS + 1} }}")
        except QuerySyntaxError as error:
            raise ExpressionError(
                f"{{ {pattern[:200]} }} is not a pattern of SPARQL: {error.detail}"
            ) from None
        if len(found) > MOST_MEMBERS:
            raise ExpressionError(
                f"over {MOST_MEMBERS} series match {{ {pattern[:200]} }}: narrow it"
            )
        return f"BASE <{self._base}>\n{_PREFIXES}{query}", found

    def _query(self, pattern: str) -> str:
        if "?telemetry" not in pattern:
            raise ExpressionError(
                f"{{ {pattern[:200]} }} does not bind ?telemetry: name the series so"
            )
        # Metrics have names too. Virtual telemetry is an input by its IRI only, so that
        # a new one changes no sum.
        end = "" if pattern.endswith(".") else " ."
        return (
            f"SELECT DISTINCT ?telemetry WHERE {{\n{pattern}\n{end}"
            "?telemetry st:ofMetric ?supertwinMetric ; st:dbName ?supertwinName }"
        )

    def _found(self, which: str) -> list[InputFacts]:
        # In this order, so that the metric is looked up for each series.
        rows = self._twin.table(
            f"BASE <{self._base}>\n{_PREFIXES}SELECT DISTINCT {_COLUMNS} {{ {which}\n"
            f"  {{ ?telemetry st:ofMetric ?metric ; st:ofHost ?host . {_OF_METRIC} }}\n"
            "  UNION {\n"
            "    ?telemetry a st:VirtualTelemetry .\n"
            "    OPTIONAL { ?telemetry qudt:hasUnit ?unit } }\n"
            "} ORDER BY ?telemetry"
        ).rows
        return [_facts(*row) for row in rows]

    def _of_parts(self, term: str) -> list[InputFacts]:
        """Look up telemetry without a node by the parts of its IRI."""
        parts = telemetry_parts(term[1:-1])
        if parts is None:
            return []
        host, name = iri_term(parts[0]), text_term(parts[1])
        return [
            _facts(*row)
            for row in self._twin.table(
                f"{_PREFIXES}SELECT {_COLUMNS} {{ BIND ({term} AS ?telemetry) "
                f"BIND ({host} AS ?host) {host} st:exposes ?metric . "
                f"?metric st:samplerName {name} . "
                f"{_OF_METRIC} }}"
            ).rows
        ]


def _facts(
    telemetry: str, host: str | None, unit: str | None, counter: object, type_: object
) -> InputFacts:
    return InputFacts(
        telemetry, host or "", unit or "", counter is True, type_ == "string"
    )
