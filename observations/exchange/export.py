"""Collects and writes everything about a run that can be exported."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from rdflib import PROV, RDF, RDFS, Graph, URIRef
from rdflib.term import Node

from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from observations.comparison.comparing import find_runs, run_node
from observations.comparison.run_series import samples_of, series_of
from observations.environment import is_secret
from observations.errors import UnknownRunError
from observations.events import kept_lines, printed, printed_text
from observations.exchange.crate import RunMetadata, write_crate
from observations.exchange.crates import write_crates
from observations.exchange.tables import csv_bytes, parquet_bytes, table_of
from observations.launch import program
from observations.session.repetition import EVENTS, PROGRAM, REQUEST
from observations.stored_request import without_values
from ontology.iris import Iris, stated
from ontology.terms import QUDT, ST
from queries.run import saved_rows

GRAPH, SERIES = "observation.ttl", "series.csv"
COLUMNS = ("series", "hostname", "instance", "time_ms", "value")
# Properties of other nodes that a reader needs to understand a run elsewhere.
_KNOWN = (
    *(RDF.type, RDFS.label, QUDT.hasUnit, ST.hostname, ST.osIndex),
    *(ST.samplerName, ST.dbName, ST.semantics, ST.valueType),
)


class Point(NamedTuple):
    """One value of a series, as a row of the table; its time in Unix milliseconds."""

    series: str
    hostname: str
    instance: str | None
    time_ms: int
    value: float


class ExportedRun(NamedTuple):
    """A run with everything that is exported."""

    metadata: RunMetadata
    graph: Graph
    points: Sequence[Point]
    files: Mapping[str, bytes]


def export_run(settings: Settings, twin: Endpoint, id_: str) -> ExportedRun:
    """Collect all of a run that can be exported; raises UnknownRunError."""
    iris = Iris(settings.base)
    node = run_node(iris, id_)
    rows = saved_rows(twin, "observations/runs", {"id": str(node)})
    if not rows:
        raise UnknownRunError(
            f"no run {id_!r} is recorded: `supertwin query observations/runs` lists "
            "those that are"
        )
    bare = node.rsplit("/", 1)[1]
    graph = _with_known(twin, twin.get_graph(iris.observation_graph(bare)))
    _describe_removed_host(graph, node)
    metadata = _metadata_of(settings, node, rows[0], graph)
    files = _stored_files(settings.home / "observations" / bare)
    return ExportedRun(metadata, graph, list(_points(settings, twin, node)), files)


def export_runs(settings: Settings, twin: Endpoint, id_: str) -> list[ExportedRun]:
    """Collect the run of an id or IRI, or all repetitions of a group in order.

    Raises UnknownRunError if there is none.
    """
    rows = find_runs(twin, Iris(settings.base), id_)
    ordered = sorted(rows, key=lambda row: row["repetition"] or 0)
    return [export_run(settings, twin, str(row["run"])) for row in ordered]


def write_crates_of(runs: Sequence[ExportedRun], out: Path, license_: str = "") -> None:
    """Write one run as a crate, several as a folder or zip of crates."""
    made = {
        _id(one): (
            replace(one.metadata, license=license_),
            crate_files(one),
        )
        for one in runs
    }
    if len(runs) == 1:
        ((metadata, files),) = made.values()
        write_crate(out, metadata, files)
    else:
        write_crates(out, made)


def samples_csv(runs: Sequence[ExportedRun]) -> bytes:
    """Return the samples as CSV; of several runs with a first column ``run``."""
    if len(runs) == 1:
        return csv_of(runs[0].points)
    named = ((_id(one), *row) for one in runs for row in _rows(one.points))
    return csv_bytes(("run", *COLUMNS), named)


def crate_files(found: ExportedRun) -> dict[str, bytes]:
    """Return the files of a crate."""
    return {
        GRAPH: found.graph.serialize(format="turtle").encode(),
        SERIES: csv_of(found.points),
        **found.files,
    }


def csv_of(points: Sequence[Point]) -> bytes:
    """Return points as CSV; the instance is empty for a series without instances."""
    return csv_bytes(COLUMNS, _rows(points))


def _rows(points: Sequence[Point]) -> Iterator[tuple[object, ...]]:
    for point in points:
        instance = "" if point.instance is None else point.instance
        value = repr(point.value)
        yield point.series, point.hostname, instance, point.time_ms, value


def _id(one: ExportedRun) -> str:
    """Return the id of a run, which its IRI ends with."""
    return one.metadata.node.rpartition("/")[2]


def samples_parquet(runs: Sequence[ExportedRun]) -> bytes:
    """Return the samples as one Parquet table; of several runs with a column ``run``.

    The instance is null for a series without instances.
    """
    points = [(_id(one), *p) for one in runs for p in one.points]
    names = ["run", "series", "hostname", "instance", "time", "value"]
    columns = list(zip(*points, strict=True)) if points else [()] * len(names)
    first = 1 if len(runs) == 1 else 0
    return parquet_bytes(
        table_of(dict(zip(names[first:], columns[first:], strict=True)))
    )


def _with_known(twin: Endpoint, own: Graph) -> Graph:
    """Return a run's graph with the descriptions of the nodes that it names."""
    named = {o for _, _, o in own if isinstance(o, URIRef)} - set(own.subjects())
    nodes = " ".join(f"<{node}>" for node in named)
    properties = " ".join(f"<{iri}>" for iri in _KNOWN)
    return own + twin.construct(
        f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ VALUES ?s {{ {nodes} }} "
        f"VALUES ?p {{ {properties} }} {stated('?s ?p ?o')} }}"
    )


def _describe_removed_host(graph: Graph, node: URIRef) -> None:
    """Describe a removed host from what the run says: its name and its threads."""
    host, name = graph.value(node, ST.ofHost), graph.value(node, ST.ranOn)
    if host and name and (host, RDF.type, None) not in graph:
        graph.add((host, RDF.type, ST.ComputeNode))
        graph.add((host, ST.hostname, name))
        for thread in list(graph.objects(node, ST.involvesThread)):
            graph.add((thread, RDF.type, ST.HardwareThread))


def _metadata_of(
    settings: Settings, node: URIRef, row: Mapping[str, Any], graph: Graph
) -> RunMetadata:
    def first(term: URIRef, of: Node | None = None) -> str:
        return str(next(graph.objects(of, term), ""))

    started = first(PROV.startedAtTime, node)
    return RunMetadata(
        str(node),
        settings.base,
        row["command"],
        row["host"],
        started,
        first(PROV.endedAtTime, node) or started,
        row["outcome"] or "",
        argv=first(ST.argumentVector, node),
        program=first(ST.programPath),
        digest=first(ST.programDigest),
        build=first(ST.buildId),
        user=first(ST.userName),
        asked_by=sorted(_people(graph, node)),
        environment=_variables(graph),
    )


def _people(graph: Graph, node: URIRef) -> Iterator[tuple[str, str]]:
    """Yield who asked for a run; software agents have another class."""
    for who in graph.objects(node, PROV.wasAssociatedWith):
        if (who, RDF.type, PROV.Agent) in graph:
            yield str(who), str(graph.value(who, RDFS.label))


def _variables(graph: Graph) -> list[str]:
    """Return the recorded and the added variables, without secrets."""
    terms = (ST.environmentVariable, ST.addedVariable)
    found = {str(one) for term in terms for one in graph.objects(None, term)}
    return sorted(one for one in found if "=" in one)


def _points(settings: Settings, twin: Endpoint, node: URIRef) -> Iterator[Point]:
    """Yield the samples of all series that the run summarises, within its time."""
    for series, points in samples_of(settings, series_of(twin, [str(node)])):
        name, instance = series.key
        for stamp, value in zip(
            points.stamps.tolist(), points.values.tolist(), strict=True
        ):
            yield Point(name, series.host, instance, stamp, value)


def _stored_files(folder: Path) -> dict[str, bytes]:
    """Return the program without secrets, the events and the output, if stored here."""
    try:
        lines = list(kept_lines((folder / EVENTS).read_bytes()))
    except OSError:
        return {}
    found = _program_files(folder)
    found[EVENTS] = b"".join(line.text + b"\n" for line in lines)
    for stream, kept in printed(line.event for line in lines).items():
        text = printed_text(kept)
        found |= {f"{stream}.txt": text} if text else {}
    return found


def _program_files(folder: Path) -> dict[str, bytes]:
    try:
        request = without_values((folder / REQUEST).read_bytes(), is_secret)
    except (OSError, ValueError):  # an older build recorded the run
        return {}
    text = json.dumps(request, sort_keys=True)
    return {REQUEST: text.encode(), PROGRAM: program(request)}
