"""The address of the dashboard that shows a host during a run."""

import math
from datetime import UTC, datetime
from urllib.parse import urlencode

from rdflib import XSD, Literal

from observations.statistics import Span
from ontology.iris import Iris


def dashboard_address(iris: Iris, host: str, span: Span) -> Literal:
    """Return the address of a host's monitor dashboard for the time of a run.

    The start is rounded down and the end up to whole seconds, the resolution of the
    address.
    """
    first, last = math.floor(span.start_ms / 1000), math.ceil(span.end_ms / 1000)
    parameters = {"host": host, "from": _time(first), "to": _time(max(last, first + 1))}
    address = f"{iris.base.rstrip('/')}/dashboards/monitor?{urlencode(parameters)}"
    return Literal(address, datatype=XSD.anyURI)


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
