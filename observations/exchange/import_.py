"""Imports the run of a crate under this installation's IRIs."""

import csv
import math
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from rdflib import PROV, RDF, BNode, Graph, Literal, URIRef

from core.linux.private_folder import make_private
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ingest.entailed import with_entailed
from ingest.shape_check import first_fault
from ingest.triples import Triples, insertion
from observations.describe import dashboard_address
from observations.environment import is_secret
from observations.errors import CrateError, RunnerEventError
from observations.events import event_of
from observations.exchange.crate import METADATA, base_of
from observations.exchange.crate_reader import read_whole
from observations.exchange.export import COLUMNS, GRAPH, SERIES, Point
from observations.exchange.imported_host import (
    check_machine,
    host_of,
    name_of_host,
    rebased,
    renamed,
)
from observations.exchange.restore_series import restore_series
from observations.session.repetition import EVENTS, RECORDED, REQUEST
from observations.statistics import Span
from observations.stored_request import without_values
from ontology.iris import IdError, Iris, stated
from ontology.terms import ST
from queries.binding import Param, convert
from queries.errors import ParameterError

FILES = frozenset({GRAPH, SERIES, REQUEST, EVENTS})
_IRI = Param("iri", "iri")
_FIX = "export the run again"


def import_run(
    settings: Settings,
    twin: Endpoint,
    files: Mapping[str, Path],
    host: str = "",
    confirm: bool = False,
) -> URIRef:
    """Import a crate's run and return its node.

    ``host`` renames its host. ``confirm`` treats a known host of that name as the same
    machine, whatever the signs say. Nodes that are already described here stay as they
    are. Raises CrateError, and writes nothing, if the crate holds no valid run, a run
    that is recorded here and differs, or a run of another machine.
    """
    iris = Iris(settings.base)
    graph = rebased(
        _parsed(files), base_of(read_whole(files[METADATA], METADATA)), settings.base
    )
    node = _run_of(graph)
    _check_points(graph, node, files)
    id_ = _id_of(iris, node)
    _check_events(files)
    _check_request(files)
    name = host_of(graph, node, iris)
    if host:
        graph, name = renamed(graph, node, iris, host), host
    _move_dashboard(graph, node, iris, name)
    target = iris.observation_graph(id_)
    here = twin.get_graph(target)
    if len(here) and _of(here, node) != _of(graph, node):
        raise CrateError(
            f"{node} is recorded here already, and is another run: "
            "`supertwin forget` it first"
        )
    if not len(here) and not confirm:
        check_machine(twin, graph, node, iris.host(name))
    triples = Triples() if len(here) else _checked(twin, graph, node)
    points = _from_csv(files[SERIES])
    restore_series(
        settings, (one._replace(hostname=host or one.hostname) for one in points)
    )
    if triples:
        twin.update(insertion(with_entailed({target: triples}, iris)))
        _keep(settings.home / "observations" / id_, files)
    return node


def _parsed(files: Mapping[str, Path]) -> Graph:
    try:
        text = read_whole(files[GRAPH], GRAPH)
    except KeyError:
        raise CrateError(f"the crate has no {GRAPH}: {_FIX}") from None
    try:
        graph = Graph().parse(data=text, format="turtle")
    except Exception as error:  # rdflib's parser raises many kinds of exceptions
        raise CrateError(
            f"the crate's {GRAPH} is not Turtle ({error}): {_FIX}"
        ) from None
    for term in {term for triple in graph for term in triple}:
        _check_term(term)
    return graph


def _check_term(term: Any) -> None:
    """Raise CrateError for an IRI that is valid in Turtle but not in SPARQL."""
    iri = term.datatype if isinstance(term, Literal) else term
    try:
        if isinstance(iri, BNode) or (iri is not None and not convert(_IRI, str(iri))):
            raise CrateError(f"the crate's {GRAPH} has a node without an IRI: {_FIX}")
    except ParameterError:
        raise CrateError(
            f"the crate's {GRAPH} has a malformed IRI {iri!r}: {_FIX}"
        ) from None


def _run_of(graph: Graph) -> URIRef:
    runs = list(graph.subjects(RDF.type, ST.ObservationInterface))
    if len(runs) != 1 or not isinstance(runs[0], URIRef):
        raise CrateError(
            f"the crate's {GRAPH} is of {len(runs)} runs, not of one: {_FIX}"
        )
    return runs[0]


def _id_of(iris: Iris, node: URIRef) -> str:
    id_ = str(node).rpartition("/")[2]
    try:
        if node == iris.observation(id_):
            return id_
    except IdError:
        pass
    raise CrateError(f"the crate's run {node} has no IRI of a run: {_FIX}")


def _is_of(term: Any, node: URIRef) -> bool:
    """Whether a term is the run or a part of it."""
    return term == node or str(term).startswith(f"{node}/")


def _of(graph: Graph, node: URIRef) -> set[tuple[Any, ...]]:
    """Return a run's triples, with figures compared by value, not by spelling."""
    return {
        (s, p, o.toPython() if isinstance(o, Literal) else o)
        for s, p, o in graph
        if _is_of(s, node)
    }


def _checked(twin: Endpoint, graph: Graph, node: URIRef) -> Triples:
    """Return the run's triples and those of unknown nodes; raises CrateError."""
    others = {s for s in graph.subjects() if not _is_of(s, node)}
    known = _described(twin, others)
    found = sorted(triple for triple in graph if triple[0] not in known)
    triples = Triples(found)  # type: ignore[arg-type]
    if fault := first_fault(triples, twin, node):
        raise CrateError(f"the crate's run cannot be recorded ({fault}): {_FIX}")
    return triples


def _described(twin: Endpoint, nodes: set[Any]) -> set[Any]:
    """Return the nodes that already have a class here."""
    values = " ".join(f"<{node}>" for node in nodes)
    found = twin.construct(
        f"CONSTRUCT {{ ?s a ?c }} {{ VALUES ?s {{ {values} }} {stated('?s a ?c')} }}"
    )
    return set(found.subjects())


def _check_points(graph: Graph, node: URIRef, files: Mapping[str, Path]) -> None:
    """Raise CrateError if there are samples that are not the run's."""
    if SERIES not in files:
        raise CrateError(f"the crate has no {SERIES}: {_FIX}")
    host = name_of_host(graph, node)
    known = {(*key, host) for key in _keys(graph, node)}
    first, last = _span(graph, node)
    for point in _from_csv(files[SERIES]):
        key = (point.series, point.instance, point.hostname)
        if key not in known or not first <= point.time_ms <= last:
            raise CrateError(
                f"the crate's {SERIES} has {point.series} of {point.hostname} at "
                f"{point.time_ms}, which the run did not measure: {_FIX}"
            )


def _from_csv(path: Path) -> Iterator[Point]:
    """Read lazily what `csv_of` wrote; raises CrateError with the line number."""
    with path.open(encoding="utf-8", errors="replace", newline="") as text:
        yield from _points(text)


def _points(text: IO[str]) -> Iterator[Point]:
    rows, wrong = csv.DictReader(text), f"the crate's {SERIES} is not as it was"
    if tuple(rows.fieldnames or ()) != COLUMNS:
        raise CrateError(f"{wrong}: its first line is not {','.join(COLUMNS)}: {_FIX}")
    while True:
        try:
            yield _point(next(rows))
        except StopIteration:
            return
        except (ValueError, TypeError, OverflowError, csv.Error):
            raise CrateError(
                f"{wrong}: line {rows.line_num} is not a sample: {_FIX}"
            ) from None


def _point(row: dict[str, str]) -> Point:
    value = float(row["value"])
    if not row["series"] or not row["hostname"] or not math.isfinite(value):
        raise ValueError
    instance = row["instance"] or None
    return Point(row["series"], row["hostname"], instance, int(row["time_ms"]), value)


def _keys(graph: Graph, node: URIRef) -> set[tuple[str, str | None]]:
    """Return the series that the run has summaries of."""
    found = set()
    for summary in graph.objects(node, ST.hasSummary):
        name = graph.value(graph.value(summary, ST.ofMetric), ST.dbName)
        instance = graph.value(summary, ST.instname)
        found.add((str(name), None if instance is None else str(instance)))
    return found


def _span(graph: Graph, node: URIRef) -> tuple[int, int]:
    """Return start and end of the run (Unix ms); raises CrateError."""
    times = [graph.value(node, term) for term in (PROV.startedAtTime, PROV.endedAtTime)]
    try:
        first, last = (time.toPython().timestamp() for time in times)  # type: ignore[union-attr]
    except AttributeError:
        raise CrateError(
            f"the crate's {GRAPH} has no times of its run: {_FIX}"
        ) from None
    return int(first * 1000), int(last * 1000) + 1


def _move_dashboard(graph: Graph, node: URIRef, iris: Iris, host: str) -> None:
    """Point the run's dashboard to this installation."""
    address = dashboard_address(iris, host, Span(*_span(graph, node)))
    graph.set((node, ST.dashboard, address))


def _check_events(files: Mapping[str, Path]) -> None:
    """Validate the stored events: the run's page and later exports read them."""
    if EVENTS not in files:
        return
    with files[EVENTS].open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                if line != b"\n":
                    event_of(line)
            except RunnerEventError as error:
                wrong = f"the crate's {EVENTS}, line {number}: {error}"
                raise CrateError(wrong) from None


def _check_request(files: Mapping[str, Path]) -> None:
    """Validate the stored request: the API makes the run's program of it."""
    if REQUEST in files:
        try:
            without_values(read_whole(files[REQUEST], REQUEST), is_secret)
        except ValueError as error:
            raise CrateError(f"the crate's {REQUEST}: {error}") from None


def _keep(folder: Path, files: Mapping[str, Path]) -> None:
    """Store the request and the events, unless the run's folder exists already."""
    kept = {REQUEST, EVENTS} & files.keys()
    if folder.exists() or EVENTS not in kept:
        return
    make_private(folder)
    for name in kept:
        shutil.copyfile(files[name], folder / name)
    (folder / RECORDED).touch()
