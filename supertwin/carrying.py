"""Runs taken away and brought elsewhere: graph, series, program and output."""

import csv
import io
import json
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from rdflib import RDF, Graph, URIRef

from ingest.triples import Triples, insertion
from observations.crate import Told, base_of
from observations.errors import CrateError, SeriesError
from observations.series import SeriesKey, read_points
from ontology.iris import Iris
from ontology.terms import ST
from queries.catalogue import saved_query
from queries.endpoint import Endpoint
from supertwin.access.accounts import store_account
from supertwin.errors import MendableError
from supertwin.observing.repetition import EVENTS, PROGRAM
from supertwin.settings import Settings

GRAPH, SERIES = "observation.ttl", "series.csv"
_COLUMNS = ("series", "hostname", "instance", "time_ms", "value")
# What of others a run needs to be understood elsewhere.
_KNOWN = (
    "rdf:type st:hostname st:samplerName st:dbName st:semantics st:valueType "
    "st:osIndex rdfs:label qudt:hasUnit"
)
_PREFIXES = (
    "PREFIX st: <https://w3id.org/supertwin/ns#> "
    "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
    "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
    "PREFIX qudt: <http://qudt.org/schema/qudt/> "
)
_TIMEOUT = httpx.Timeout(60.0, connect=2.0)


class Point(NamedTuple):
    """One value of a series, as a row of `series.csv`."""

    series: str
    hostname: str
    instance: str | None
    time_ms: int
    value: float


class Carried(NamedTuple):
    """A run as it is taken away."""

    told: Told
    graph: Graph
    points: Sequence[Point]
    files: Mapping[str, bytes]


def carried(settings: Settings, twin: Endpoint, id_: str) -> Carried:
    """All of a run that can be taken away; raises MendableError where there is none."""
    iris = Iris(settings.base)
    bare = id_.rsplit("/", 1)[-1]
    node = iris.observation(bare)
    rows = _rows(twin, "observations/runs", {"id": str(node)})
    if not rows:
        raise MendableError(
            f"no run {id_!r} is recorded: `supertwin query observations/runs` lists "
            "those that are"
        )
    graph = _graph(twin, iris.observation_graph(bare))
    told = _told(settings, node, rows[0], graph)
    points = list(_points(settings, twin, node, graph, rows[0]["host"]))
    return Carried(told, graph, points, _kept(settings.home / "observations" / bare))


def crate_files(found: Carried) -> dict[str, bytes]:
    """The files of a crate."""
    return {
        GRAPH: found.graph.serialize(format="turtle").encode(),
        SERIES: csv_of(found.points),
        **found.files,
    }


def csv_of(points: Sequence[Point]) -> bytes:
    """Points as CSV; a series that has no instances has an empty one."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for point in points:
        instance = "" if point.instance is None else point.instance
        value = repr(point.value)
        writer.writerow((point.series, point.hostname, instance, point.time_ms, value))
    return text.getvalue().encode()


def bring(settings: Settings, twin: Endpoint, files: Mapping[str, bytes]) -> URIRef:
    """Take a crate's run up here, under this installation's IRIs; its node.

    Raises CrateError, and for a run that is here already and differs; nothing is
    written then.
    """
    there, iris = base_of(files), Iris(settings.base)
    graph = _moved(_parsed(files), there, settings.base)
    points = _read_points(files)
    node = _run_of(graph)
    target = iris.observation_graph(str(node).rsplit("/", 1)[-1])
    here = _graph(twin, target, alone=True)
    if len(here) and not _same_run(here, graph, node):
        raise CrateError(f"{node} is recorded here already, and is another run")
    _write_points(settings, points)
    triples = Triples((s, p, o) for s, p, o in graph)  # type: ignore[misc]
    twin.update(f"DROP SILENT GRAPH <{target}> ;\n{insertion({target: triples})}")
    return node


def _graph(twin: Endpoint, name: URIRef, alone: bool = False) -> Graph:
    """A run's graph, and what is known of the nodes that it names."""
    own = twin.construct(
        f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH <{name}> {{ ?s ?p ?o }} }}"
    )
    if alone or not len(own):
        return own
    named = {o for _, _, o in own if isinstance(o, URIRef)} - set(own.subjects())
    values = " ".join(f"<{node}>" for node in named)
    others = twin.construct(
        f"{_PREFIXES} CONSTRUCT {{ ?s ?p ?o }} WHERE {{ VALUES ?s {{ {values} }} "
        f"VALUES ?p {{ {_KNOWN} }} ?s ?p ?o }}"
    )
    for triple in others:
        own.add(triple)
    return own


def _told(
    settings: Settings, node: URIRef, row: Mapping[str, Any], graph: Graph
) -> Told:
    def first(term: URIRef) -> str:
        return str(next(graph.objects(None, term), ""))

    started, ended = _times(graph, node)
    return Told(
        str(node),
        settings.base,
        row["command"],
        row["host"],
        started,
        ended,
        row["outcome"] or "",
        first(ST.programPath),
        first(ST.programDigest),
    )


def _times(graph: Graph, node: URIRef) -> tuple[str, str]:
    prov = "http://www.w3.org/ns/prov#"
    found = [graph.value(node, URIRef(prov + n)) for n in _TIMES]
    return str(found[0]), str(found[1] or found[0])


_TIMES = ("startedAtTime", "endedAtTime")


def _points(
    settings: Settings, twin: Endpoint, node: URIRef, graph: Graph, host: str
) -> Iterator[Point]:
    """The points of all series that the run has a summary of, within its time."""
    wanted = set(_keys(twin, node, graph))
    if not wanted:
        return
    start, end = (_ms(text) for text in _times(graph, node))
    names = sorted({key.name for key in wanted})
    with httpx.Client(auth=store_account(settings), trust_env=False) as client:
        found = read_points(client, settings.store_read, host, names, start, end)
    for key in sorted(wanted & found.keys(), key=str):
        points = found[key]
        for stamp, value in zip(
            points.stamps.tolist(), points.values.tolist(), strict=True
        ):
            yield Point(key.name, host, key.instance, stamp, value)


def _keys(twin: Endpoint, node: URIRef, graph: Graph) -> Iterator[SeriesKey]:
    for summary in graph.objects(node, ST.hasSummary):
        metric = graph.value(summary, ST.ofMetric)
        name = graph.value(metric, ST.dbName)
        instance = graph.value(summary, ST.instname)
        yield SeriesKey(str(name), None if instance is None else str(instance))


def _ms(text: str) -> int:
    from datetime import datetime

    return int(datetime.fromisoformat(text).timestamp() * 1000)


def _kept(folder: Path) -> dict[str, bytes]:
    """The program, what it said, what the command printed, where it ran from here."""
    try:
        said = (folder / EVENTS).read_bytes()
        found = {PROGRAM: (folder / PROGRAM).read_bytes(), EVENTS: said}
    except OSError:
        return {}
    for line in said.splitlines():
        event = json.loads(line)
        if event["event"] == "ended":
            for name, kept in event["output"].items():
                text = b64decode(kept["head"]) + b64decode(kept["tail"])
                found |= {f"{name}.txt": text} if text else {}
    return found


def _parsed(files: Mapping[str, bytes]) -> Graph:
    try:
        return Graph().parse(data=files[GRAPH], format="turtle")
    except KeyError:
        raise CrateError(f"the crate has no {GRAPH}") from None
    except Exception as error:  # rdflib's parser raises whatever it stumbles over
        raise CrateError(f"the crate's {GRAPH} is no Turtle: {error}") from None


def _moved(graph: Graph, there: str, here: str) -> Graph:
    """The same triples, with IRIs of another installation made ours."""
    old, new = there.rstrip("/") + "/", here.rstrip("/") + "/"

    def own(term: Any) -> Any:
        if isinstance(term, URIRef) and term.startswith(old):
            return URIRef(new + term[len(old) :])
        return term

    moved = Graph()
    for triple in graph:
        moved.add(tuple(map(own, triple)))
    return moved


def _run_of(graph: Graph) -> URIRef:
    runs = list(graph.subjects(RDF.type, ST.ObservationInterface))
    if len(runs) != 1 or not isinstance(runs[0], URIRef):
        raise CrateError(f"the crate's {GRAPH} is of {len(runs)} runs: one is needed")
    return runs[0]


def _same_run(here: Graph, brought: Graph, node: URIRef) -> bool:
    return set(here.triples((node, None, None))) == set(
        brought.triples((node, None, None))
    )


def _read_points(files: Mapping[str, bytes]) -> list[Point]:
    try:
        rows = csv.DictReader(io.StringIO(files[SERIES].decode()))
        return [
            Point(
                row["series"],
                row["hostname"],
                row["instance"] or None,
                int(row["time_ms"]),
                float(row["value"]),
            )
            for row in rows
        ]
    except (KeyError, ValueError, TypeError) as error:
        raise CrateError(f"the crate's {SERIES} is not as it was: {error}") from None


def _write_points(settings: Settings, points: Sequence[Point]) -> None:
    """Write points as they were; raises SeriesError."""
    lines = "\n".join(_import_lines(points))
    if not lines:
        return
    url = settings.store_write
    try:
        with httpx.Client(auth=store_account(settings), trust_env=False) as client:
            answer = client.post(
                f"{url}/api/v1/import", content=lines.encode(), timeout=_TIMEOUT
            )
            answer.raise_for_status()
    except httpx.HTTPError as error:
        raise SeriesError(
            f"the series store at {url} takes nothing ({error}): `make status` tells "
            "more"
        ) from None


def _import_lines(points: Sequence[Point]) -> Iterator[str]:
    found: dict[tuple[str, str, str | None], list[Point]] = {}
    for point in points:
        found.setdefault((point.series, point.hostname, point.instance), []).append(
            point
        )
    for (name, host, instance), series in found.items():
        labels = {"__name__": name, "hostname": host}
        labels |= {} if instance is None else {"instname": instance}
        yield json.dumps(
            {
                "metric": labels,
                "values": [point.value for point in series],
                "timestamps": [point.time_ms for point in series],
            }
        )


def _rows(twin: Endpoint, name: str, values: Mapping[str, str]) -> list[dict[str, Any]]:
    rows = twin.select(saved_query(name).bind(values))
    return [dict(zip(rows.columns, row, strict=True)) for row in rows.values()]
