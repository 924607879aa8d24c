"""The address of the dashboard that shows a run's host during the run."""

import math
from datetime import UTC, datetime
from urllib.parse import urlencode

from rdflib import XSD, Literal

from observations.statistics import Span
from ontology.iris import Iris


def dashboard_address(iris: Iris, host: str, span: Span) -> Literal:
    """The monitor dashboard of a host from the start to the end of a run.

    It begins and ends at whole seconds, which the page's address has.
    """
    first, last = math.floor(span.start_ms / 1000), math.ceil(span.end_ms / 1000)
    asked = {"host": host, "from": _time(first), "to": _time(max(last, first + 1))}
    address = f"{iris.base.rstrip('/')}/dashboards/monitor?{urlencode(asked)}"
    return Literal(address, datatype=XSD.anyURI)


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
