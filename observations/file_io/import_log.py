"""Adds the file I/O in a log to the graph of the run that the program was part of."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path

from rdflib import Literal, URIRef

from core.stores.endpoint import Endpoint
from ingest.entailed import in_both, with_entailed
from ingest.shape_check import first_fault
from ingest.triples import Triples, Value, insertion, rounded
from observations.comparison.comparing import run_node
from observations.errors import BadLogError, OtherRunLogError, UnknownRunError
from observations.file_io.log import FileIo, IoLog, read_log
from ontology.iris import Iris
from ontology.terms import ST
from queries.run import Row, saved_rows

# The times in logs are whole seconds, and a log is closed after its last process ended.
_TOLERANCE = timedelta(seconds=2)
_DIGEST_DIGITS = 16


def import_log(twin: Endpoint, iris: Iris, id_: str, path: Path) -> IoLog:
    """Add a log to a run, replacing an earlier import of the same log.

    Adds nothing if it raises UnknownRunError, BadLogError, OtherRunLogError or
    NoDarshanError.
    """
    node = run_node(iris, id_)
    rows = saved_rows(twin, "observations/runs", {"id": str(node)})
    if not rows:
        raise UnknownRunError(
            f"no run {id_!r} is recorded: `supertwin query observations/runs` lists "
            "the recorded runs"
        )
    log = read_log(path)
    _check_time(path, log, rows[0])
    triples = describe_log(iris, node.rpartition("/")[2], log)
    if fault := first_fault(triples, twin):
        raise BadLogError(f"{path} cannot be added to the run ({fault})")
    _replace(twin, iris, node, log, triples)
    return log


def describe_log(iris: Iris, id_: str, log: IoLog) -> Triples:
    """Return the triples of a log as a part of the run's description."""
    path = ("io", log.digest[:_DIGEST_DIGITS])
    triples, record = Triples(), iris.observation_part(id_, *path)
    about: Mapping[URIRef, Value | Iterable[Value]] = {
        ST.ioLogDigest: log.digest,
        ST.ioLogFormat: f"Darshan {log.format}",
        ST.ioProcesses: log.processes,
        ST.incompleteInterface: log.incomplete,
    }
    triples.node(record, ST.IoRecord, about)
    for number, one in enumerate(log.files):
        part = iris.observation_part(id_, *path, str(number))
        triples.link(record, {ST.hasFileIo: part})
        triples.node(part, ST.FileIo, _file(one))
    return triples


def _file(one: FileIo) -> Mapping[URIRef, Value]:
    return {
        ST.ioInterface: one.interface,
        ST.filePath: one.path,
        ST.fileCount: one.files,
        ST.ioRanks: one.ranks,
        ST.openCount: one.opens,
        ST.readCount: one.reads,
        ST.writeCount: one.writes,
        ST.bytesRead: one.bytes_read,
        ST.bytesWritten: one.bytes_written,
        ST.readTime: _seconds(one.read_time),
        ST.writeTime: _seconds(one.write_time),
        ST.metadataTime: _seconds(one.metadata_time),
    }


def _seconds(value: float) -> Literal | None:
    return rounded(value, 9)


def _check_time(path: Path, log: IoLog, run: Row) -> None:
    """Raise OtherRunLogError unless the log was written during the run."""
    started = run["started"]
    ended = started + timedelta(seconds=float(run["seconds"] or 0))
    first, last = started.timestamp(), ended.timestamp()
    slack = _TOLERANCE.total_seconds()
    if log.start < first - slack or log.end > last + slack:
        raise OtherRunLogError(
            f"the program of {path} ran from {log.start} to {log.end} (Unix time), but "
            f"the run lasted from {first:.0f} to {last:.0f}: name the run that the "
            "program was part of"
        )


def _replace(
    twin: Endpoint, iris: Iris, node: URIRef, log: IoLog, triples: Triples
) -> None:
    id_ = node.rpartition("/")[2]
    target = iris.observation_graph(id_)
    record = iris.observation_part(id_, "io", log.digest[:_DIGEST_DIGITS])
    of_log = f'FILTER (?s = <{record}> || STRSTARTS(STR(?s), "{record}/"))'
    old = in_both(iris, target, f"?s ?p ?o . {of_log}")
    link = Triples([(node, ST.hasIoRecord, record)])
    added = insertion(with_entailed({target: Triples([*link, *triples])}, iris))
    twin.update(
        f"DELETE {{ GRAPH ?graph {{ ?s ?p ?o }} }} WHERE {{ {old} }} ;\n{added}"
    )
