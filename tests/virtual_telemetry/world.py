"""A small twin for virtual telemetry, and its samples as numbers."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from core.stores.results import read_table
from core.stores.sparql_dataset import JSON_RESULTS, Answer
from ontology.iris import Iris
from ontology.load import ontology_graph
from ontology.terms import ST
from tests.servers import Fuseki, VictoriaMetrics
from virtual_telemetry.definitions import VirtualRequest, add, remove
from virtual_telemetry.dependencies import VirtualTelemetry

BASE = "http://twin.example:8000"
SECONDS = 1200
# Metric: its unit, its semantics, and the seconds between two samples.
METRICS = {
    "cpu.user": ("MilliSEC", "Counter", 1),
    "page.faults": ("NUM", "Counter", 1),
    "context.switches": ("NUM", "Counter", 10),
    "power": ("W", "Instant", 1),
    "heat": ("KiloW", "Instant", 10),
    "slow.power": ("W", "Instant", 3),
    "mem.used": ("BYTE", "Instant", 1),
    "mem.cached": ("KibiBYTE", "Instant", 1),
    "room": ("DEG_C", "Instant", 1),
    "bare": ("", "Instant", 1),
    "version": ("", "Discrete", 1),
    "unplanned": ("W", "Instant", 5),
}
OF_CPUS, CPUS, HOSTS = ("cpu.user",), range(4), ("n1", "n2")


def instances(metric: str) -> list[str | None]:
    return [f"cpu{n}" for n in CPUS] if metric in OF_CPUS else [None]


def value(metric: str, host: str, instance: str | None, second: int) -> float:
    """The sample of a series; different for each of them."""
    place = HOSTS.index(host) + (int(instance[3:]) if instance else 0)
    if METRICS[metric][1] == "Counter":
        return second * (10 + place) + (second * second) // 100
    return 100 + 50 * place + second % 37 * 0.5


def is_there(metric: str, host: str, instance: str | None, second: int) -> bool:
    """Whether a sample exists: some series have gaps."""
    gaps: Mapping[tuple[str, str, str | None], range] = {
        ("cpu.user", "n1", "cpu3"): range(300, 331),
        ("power", "n2", None): range(400, 405),
        ("heat", "n1", None): range(500, 521),
        ("mem.used", "n1", None): range(600, 602),
    }
    return second not in gaps.get((metric, host, instance), ())


def series(metric: str, host: str, instance: str | None) -> dict[int, float]:
    """The samples of a series by their second."""
    period = METRICS[metric][2]
    return {
        second: value(metric, host, instance, second)
        for second in range(1, SECONDS + 1)
        if second % period == 0 and is_there(metric, host, instance, second)
    }


def points(start: int) -> Iterator[str]:
    for metric in METRICS:
        for host in HOSTS:
            for instance in instances(metric):
                name = metric.replace(".", "_")
                labels = f'hostname="{host}"'
                labels += f',instname="{instance}"' if instance else ""
                if metric == "version":
                    labels += ',value="1"'
                # The start is a multiple of all periods.
                for second, number in series(metric, host, instance).items():
                    yield f"{name}{{{labels}}} {number} {(start + second) * 1000}\n"


def telemetry(metric: str, host: str = "n1", instance: str | None = None) -> str:
    """The IRI of a series, relative to the base."""
    return f"twin/{host}/telemetry/{metric}/{instance or '~'}"


def _metrics() -> Iterator[str]:
    for metric, (unit, semantics, _) in METRICS.items():
        has_unit = f"; qudt:hasUnit unit:{unit} " if unit else ""
        of_cpus = (
            f"; st:instanceDomain <{BASE}/indom/60.0> " if metric in OF_CPUS else ""
        )
        kind = "string" if metric == "version" else "double"
        yield (
            f'<{BASE}/metric/{metric}> a st:Metric ; st:samplerName "{metric}" ; '
            f'st:dbName "{metric.replace(".", "_")}" ; st:semantics st:{semantics} ; '
            f'st:valueType "{kind}" {has_unit}{of_cpus}.'
        )


def _host(host: str) -> Iterator[str]:
    node = f"{BASE}/twin/{host}"
    yield f'<{node}> a st:ComputeNode ; st:hostname "{host}" ; rdfs:label "{host}" .'
    yield f"<{node}/socket/socket-0> a st:Socket ; st:isPartOf <{node}> ."
    for cpu in CPUS:
        yield (
            f"<{node}/thread/{cpu}> a st:HardwareThread ; st:osIndex {cpu} ; "
            f"st:isPartOf <{node}/socket/socket-0> ."
        )
    for metric, (_, _, period) in METRICS.items():
        plan = f"<{node}/plan/p.{metric}>"
        yield f"<{node}> st:exposes <{BASE}/metric/{metric}> ."
        if metric != "unplanned":
            yield (
                f'{plan} a st:SamplingPlan ; st:planName "p" ; st:ofHost <{node}> ; '
                f"st:samples <{BASE}/metric/{metric}> ; st:period {period}.0 ."
            )
        for instance in instances(metric):
            named = f'; st:instname "{instance}" ' if instance else ""
            of = f"thread/{instance[3:]}" if instance else ""
            yield (
                f"<{BASE}/{telemetry(metric, host, instance)}> a st:SWTelemetry ; "
                f'st:ofMetric <{BASE}/metric/{metric}> ; st:samplerName "{metric}" ; '
                f'st:dbName "{metric.replace(".", "_")}" ; st:ofHost <{node}> ; '
                f"st:ofComponent <{node}{'/' if of else ''}{of}> {named}"
                f"{'' if metric == 'unplanned' else f'; st:sampledBy {plan} '}."
            )


TWIN = f"""
PREFIX st: <https://w3id.org/supertwin/ns#>
PREFIX qudt: <http://qudt.org/schema/qudt/>
PREFIX unit: <http://qudt.org/vocab/unit/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
INSERT DATA {{
GRAPH <{BASE}/graph/metrics> {{ {" ".join(_metrics())} }}
{" ".join(f"GRAPH <{BASE}/graph/twin/{h}> {{ {' '.join(_host(h))} }}" for h in HOSTS)}
}}"""


@dataclass(frozen=True)
class World:
    """Both stores; times are seconds after the start of the samples."""

    settings: Settings
    fuseki: str
    store: str
    start: int

    def twin(self) -> Endpoint:
        return Endpoint(f"{self.fuseki}/twin")

    def add(
        self, name: str, expression: str, unit: str = "", label: str = ""
    ) -> VirtualTelemetry:
        request = VirtualRequest(expression, unit, label)
        return add(self.settings, name, request, lambda _: None)[0]

    def rewrite(self, name: str, link: str, value: str) -> None:
        """Change a definition behind the back of its checks; a value as in SPARQL."""
        node = f"<{BASE}/virtual/{name}> <{link}>"
        with self.twin() as twin:
            twin.update(
                f"DELETE {{ GRAPH ?g {{ {node} ?old }} }} "
                f"INSERT {{ GRAPH ?g {{ {node} {value} }} }} "
                f"WHERE {{ GRAPH ?g {{ {node} ?old }} }}"
            )

    def remove(self, name: str) -> None:
        remove(self.settings, name, lambda _: None)

    def range(self, first: int, last: int) -> str:
        """The two arguments of a range in SPARQL."""
        ends = (datetime.fromtimestamp(self.start + at, UTC) for at in (first, last))
        return " ".join(f'"{end.isoformat()}"^^xsd:dateTime' for end in ends)

    def sample(self, metric: str, period: float, points: Mapping[int, float]) -> None:
        """Add a metric of n1 with samples by milliseconds; period 0 for no plan."""
        lines = (f'{metric}{{hostname="n1"}} {v} {at}\n' for at, v in points.items())
        url = f"{self.store}/api/v1/import/prometheus"
        httpx.post(url, content="".join(lines)).raise_for_status()
        httpx.get(f"{self.store}/internal/force_flush").raise_for_status()
        node, of_metric = f"<{BASE}/twin/n1>", f"<{BASE}/metric/{metric}>"
        plan = f"<{BASE}/twin/n1/plan/p.{metric}>"
        planned = f"{plan} st:ofHost {node} ; st:samples {of_metric} ; "
        with self.twin() as twin:
            twin.update(
                f"PREFIX st: <{ST}> INSERT DATA {{ GRAPH <{BASE}/graph/twin/n1> {{ "
                f'{of_metric} a st:Metric ; st:samplerName "{metric}" ; '
                f'st:dbName "{metric}" ; st:semantics st:Instant ; '
                f'st:valueType "double" . {node} st:exposes {of_metric} . '
                f"{planned + f'st:period {period:.3f}' if period else ''} }} }}"
            )

    def rows(self, pattern: str, select: str = "*") -> list[dict[str, Any]]:
        with self.twin() as twin:
            return twin.select(_query(pattern, select)).records()

    def rows_in_scope(self, pattern: str, **kinds: list[str]) -> list[list[Any]]:
        """The rows for a token that is limited to some hosts or metrics."""
        scope = json.dumps({"base": BASE, **kinds})
        with self.twin() as twin:
            form, headers = twin.query_form(
                _query(pattern, "*"), JSON_RESULTS, [("scope", scope)]
            )
            answer = httpx.post(
                f"{self.fuseki}/twin/sparql", content=form, headers=dict(headers)
            )
            content = twin.body(
                Answer(answer.status_code, JSON_RESULTS, answer.content),
                JSON_RESULTS,
            )
        return read_table(content).rows

    def requests(self, pattern: str) -> list[dict[str, str]]:
        """What a query asks the series store."""
        url = f"{self.fuseki}/twin/sparql"
        form = {"query": _query(pattern, "*"), "explain": "true"}
        found: list[dict[str, str]] = (
            httpx.post(url, data=form).raise_for_status().json()
        )
        return found

    def values(
        self, name: str, first: int = 0, last: int = SECONDS
    ) -> dict[int, float]:
        """The raw samples of virtual telemetry by their second."""
        call = (
            f"<virtual/{name}> st:rawSamples ({self.range(first, last)} ?time ?value)"
        )
        return {
            round(row["time"].timestamp()) - self.start: float(row["value"])
            for row in self.rows(call)
        }


def _query(pattern: str, select: str) -> str:
    return f"""BASE <{BASE}/> PREFIX st: <https://w3id.org/supertwin/ns#>
    PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
    SELECT {select} {{ {pattern} }}"""


@contextmanager
def running(folder: Path) -> Iterator[World]:
    """Start both stores, with twenty minutes of samples that ended a while ago."""
    start = int(time.time()) // 60 * 60 - 2400
    with (
        VictoriaMetrics(folder / "store") as store,
        Fuseki(folder / "fuseki", store.url) as fuseki,
    ):
        url = f"{store.url}/api/v1/import/prometheus"
        httpx.post(url, content="".join(points(start))).raise_for_status()
        httpx.get(f"{store.url}/internal/force_flush").raise_for_status()
        sent = httpx.post(f"{fuseki.url}/twin/update", data={"update": TWIN})
        assert sent.is_success, sent.text
        with Endpoint(f"{fuseki.url}/twin") as twin:
            twin.put_graph(str(Iris(BASE).ontology_graph), ontology_graph())
        settings = Settings(
            home=folder / "home",
            base=BASE,
            fuseki_url=fuseki.url,
            store_read_url=store.url,
        )
        yield World(settings, fuseki.url, store.url, start)
