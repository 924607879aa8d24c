"""The same SPARQL queries of the same samples in SuperTwin and in chrontext.

chrontext reads the samples from DuckDB and the host's graph from Oxigraph, both in
its own process. It writes its rows as CSV too, but sends them nowhere.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from bench.samples import METRIC, MINUTES, connection, median, sparql
from bench.table import Figure
from core.settings.tools import CHECKOUT, TOOLS
from tests.dashboards.synthetic import big_host
from tests.stack import Stack

HOST, SERIES, CORES = "compared", 128, 64
PACKAGES = TOOLS / "chrontext"
# How many times as long chrontext is to take, and the rows of each answer.
GOALS = {"raw": (1, SERIES * MINUTES * 60), "grouped": (3, CORES)}
_PREFIXES = """PREFIX st: <https://w3id.org/supertwin/ns#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
PREFIX ct: <https://github.com/DataTreehouse/chrontext#>
"""
_RAW = f"""{_PREFIXES} SELECT ?telemetry ?time ?value {{
  ?host st:hostname "{HOST}" .
  ?telemetry st:ofHost ?host ; st:samplerName "{METRIC}" . %s }}"""
_GROUPED = f"""{_PREFIXES} SELECT ?core (AVG(?value) AS ?mean) {{
  ?host st:hostname "{HOST}" .
  ?telemetry st:ofHost ?host ; st:samplerName "{METRIC}" ; st:ofComponent ?thread .
  ?thread st:isPartOf ?core . %s }} GROUP BY ?core"""
# The host's graph; telemetry that has samples is marked as chrontext requires.
_GRAPH = f"""{_PREFIXES} CONSTRUCT {{ ?node ?property ?value .
  ?sampled ct:hasResource "samples" ; ct:hasExternalId ?id }} {{
  ?host st:hostname "{HOST}" .
  {{ ?node st:ofHost ?host ; ?property ?value }} UNION
  {{ ?host ?property ?value BIND(?host AS ?node) }} UNION
  {{ ?sampled st:ofHost ?host ; st:samplerName "{METRIC}" BIND(STR(?sampled) AS ?id) }}
}}"""


def chrontext_figures(stack: Stack) -> Iterator[Figure]:
    """Raw rows and the mean of each core, of 128 threads for an hour at 1 s."""
    if not PACKAGES.is_dir():
        raise SystemExit(f"no chrontext in {PACKAGES}: run make install-bench")
    end = int(time.time())
    span = [_text(end - MINUTES * 60), _text(end)]
    big_host(stack.fuseki, stack.store, stack.base, HOST, MINUTES + 1)
    queries = _queries(*span)
    with httpx.Client(timeout=120) as client:
        ours = {
            name: median(partial(sparql, connection(stack), queries[name], rows))
            for name, (_, rows) in GOALS.items()
        }
        theirs = _chrontext(client, stack, queries["raw"], _their_queries(*span))
    for name, (goal, _) in GOALS.items():
        yield _figure(name, goal, *ours[name], **theirs[name])


def _text(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _figure(
    name: str, goal: int, ours: float, our_rows: int, seconds: float, rows: int
) -> Figure:
    assert our_rows == rows, f"{name}: {our_rows} rows, of chrontext {rows}"
    return Figure(
        f"{SERIES} threads x 1 h at 1 s, {name}, as CSV",
        *(ours * 1000, "ms", seconds * 1000 / goal, seconds * 1000, "chrontext"),
    )


def _queries(start: str, end: str) -> dict[str, str]:
    """SuperTwin's queries: raw samples, and the mean of each core."""
    span = f'"{start}"^^xsd:dateTime "{end}"^^xsd:dateTime'
    return {
        "raw": _RAW % f"?telemetry st:rawSamples ({span} ?time ?value)",
        "grouped": _GROUPED % f"?telemetry st:avg ({span} ?value)",
    }


def _their_queries(start: str, end: str) -> dict[str, str]:
    samples = f"""?telemetry ct:hasDataPoint ?point .
      ?point ct:hasTimestamp ?time ; ct:hasValue ?value .
      FILTER(?time > "{start}"^^xsd:dateTime && ?time <= "{end}"^^xsd:dateTime)"""
    return {"raw": _RAW % samples, "grouped": _GROUPED % samples}


def _chrontext(
    client: httpx.Client, stack: Stack, raw: str, queries: dict[str, str]
) -> dict[str, Any]:
    """Give chrontext SuperTwin's graph and samples, and return what it measures."""
    with tempfile.TemporaryDirectory(prefix="supertwin-chrontext-") as name:
        folder = Path(name)
        for what, query in queries.items():
            (folder / f"{what}.rq").write_text(query)
        for file, query, media in (
            ("graph.nt", _GRAPH, "application/n-triples"),
            ("samples.csv", raw, "text/csv"),
        ):
            form, accept = {"query": query}, {"Accept": media}
            answer = client.post(f"{stack.api}/sparql", data=form, headers=accept)
            (folder / file).write_bytes(answer.raise_for_status().content)
        return _run(folder)


def _run(folder: Path) -> dict[str, Any]:
    printed = subprocess.run(
        [sys.executable, "-m", "bench.chrontext_engine", str(folder)],
        env=os.environ | {"PYTHONPATH": str(PACKAGES)},
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(printed.stdout)
