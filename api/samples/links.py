"""The links of telemetry to metric, component and unit, for observations."""

from collections.abc import Mapping, Sequence

from fastapi import Request

from api import formats
from api.query_rows import Bindings, bindings
from api.samples.answer import TelemetryLinks
from api.services import Services
from api.sparql import run
from api.sparql_request import SparqlRequest
from api.threads import computed
from ontology.iris import telemetry_parts
from ontology.terms import PREFIXES, UNIT
from ontology.units import RATES
from queries.sample_calls import SampleCall
from queries.terms import iri_term, text_term

_PREFIXES = "".join(f"PREFIX {p}: <{PREFIXES[p]}>\n" for p in ("st", "qudt"))
# Functions whose values are not in the unit of the metric.
_COUNT, _RATE = "count", "rate"


async def telemetry_links(
    request: Request, services: Services, telemetry: Sequence[str], call: SampleCall
) -> list[TelemetryLinks]:
    """Return the links of telemetry, in its order, with the unit of a call's values.

    Telemetry that is not a node, such as that of a process, has those of its parts.
    """
    found: dict[int, TelemetryLinks] = {}
    for query in (_of_nodes, _of_virtual, _of_parts):
        missing = {n: iri for n, iri in enumerate(telemetry) if n not in found}
        text = query(missing)
        if text:
            asked = SparqlRequest(text)
            body = await run(request, services, asked, formats.RESULTS_JSON)
            rows = await computed(bindings, body)
            found |= {int(row["n"]): _links(row, call) for row in rows}
    return [found.get(n, TelemetryLinks()) for n in range(len(telemetry))]


def _links(row: Bindings, call: SampleCall) -> TelemetryLinks:
    unit = _unit(row.get("unit", ""), call)
    return TelemetryLinks(row.get("metric", ""), row.get("component", ""), unit)


def _unit(unit: str, call: SampleCall) -> str:
    if call.function == _COUNT:
        return str(UNIT["NUM"])
    if call.function == _RATE:
        rates = {str(one): str(rate) for one, rate in RATES.items()}
        return rates.get(unit, "")
    return unit


def _of_nodes(telemetry: Mapping[int, str]) -> str:
    rows = " ".join(f"({n} {iri_term(iri)})" for n, iri in telemetry.items())
    return f"""{_PREFIXES}SELECT ?n ?metric ?component ?unit {{
  VALUES (?n ?telemetry) {{ {rows} }}
  ?telemetry st:ofMetric ?metric .
  OPTIONAL {{ ?telemetry st:ofComponent ?component }}
  OPTIONAL {{ ?metric qudt:hasUnit ?unit }}
}}"""


def _of_virtual(telemetry: Mapping[int, str]) -> str:
    """Return the query for telemetry that is computed; empty if there is none."""
    if not telemetry:
        return ""
    rows = " ".join(f"({n} {iri_term(iri)})" for n, iri in telemetry.items())
    return f"""{_PREFIXES}SELECT ?n ?unit {{
  VALUES (?n ?telemetry) {{ {rows} }}
  ?telemetry a st:VirtualTelemetry .
  OPTIONAL {{ ?telemetry qudt:hasUnit ?unit }}
}}"""


def _of_parts(telemetry: Mapping[int, str]) -> str:
    """Return the query for telemetry that is not a node; empty if there is none."""
    rows = [_row(n, iri) for n, iri in telemetry.items()]
    if not any(rows):
        return ""
    return f"""{_PREFIXES}SELECT ?n ?metric ?component ?unit {{
  VALUES (?n ?host ?name ?instname) {{ {" ".join(rows)} }}
  ?metric st:samplerName ?name .
  ?host st:exposes ?metric .
  OPTIONAL {{ ?metric qudt:hasUnit ?unit }}
  OPTIONAL {{
    ?metric st:instanceDomain ?domain .
    ?instance st:instname ?instname ; st:inInstanceDomain ?domain ; st:ofHost ?host ;
      st:ofComponent ?found
  }}
  BIND (IF(?instname = "", ?host, ?found) AS ?component)
}}"""


def _row(n: int, iri: str) -> str:
    parts = telemetry_parts(iri)
    if parts is None:
        return ""
    host, name, instance = parts
    return f"({n} {iri_term(host)} {text_term(name)} {text_term(instance or '')})"
