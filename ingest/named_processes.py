"""Names for programs that end and start again, bound to each new process.

A name and all its bindings are in a graph of their own, which a probe of the host does
not replace. The caller runs `rebind` regularly. A binding lasts from the start of its
process until its end was noticed.
"""

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rdflib import URIRef

from core.stores.endpoint import Endpoint
from ingest.describe.process import process_iri, time_literal
from ingest.entailed import in_both, with_entailed
from ingest.errors import ProcessNameError
from ingest.sources.processes import (
    Identity,
    command_of,
    find_processes,
    identify,
    parse_identity,
    read_process,
)
from ingest.triples import Triples, insertion, term
from ontology.iris import Iris
from ontology.terms import ST

TEXTS = ("name", "command")
_NAME = re.compile(r"[^\W\d][\w. +-]{0,63}")
_LONGEST = 512


@dataclass(frozen=True)
class NamedProcess:
    """A name, the expression that finds its process, and its current process."""

    name: str
    expression: str
    text: str
    bound: Identity | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name != self.name.strip():
            raise ProcessNameError(
                f"{self.name[:64]!r} is not a valid process name: use a letter, then "
                "up to 63 letters, digits, spaces, '.', '_', '+' and '-'"
            )
        if self.text not in TEXTS:
            raise ProcessNameError(f"{self.text!r}: expected one of {', '.join(TEXTS)}")
        _check(self.expression)


def name_process(twin: Endpoint, iris: Iris, host: str, named: NamedProcess) -> None:
    """Store a name; an existing name gets the new expression and keeps its bindings."""
    iri = named_iri(iris, host, named.name)
    graph = iris.processes_graph(host)
    triples = Triples()
    triples.node(
        iri,
        ST.NamedProcess,
        {
            ST.isPartOf: iris.host(host),
            ST.processName: named.name,
            ST.matches: named.expression,
            ST.matchedText: named.text,
        },
        label=named.name,
    )
    twin.update(
        f"""DELETE WHERE {{ GRAPH <{graph}> {{ <{iri}> <{ST.matches}> ?e }} }} ;
        DELETE WHERE {{ GRAPH <{graph}> {{ <{iri}> <{ST.matchedText}> ?t }} }} ;
        {insertion(with_entailed({graph: triples}, iris))}"""
    )


def forget_process(twin: Endpoint, iris: Iris, host: str, name: str) -> bool:
    """Remove a name and its bindings; return whether it existed."""
    if all(found.name != name for found in read_named(twin, iris, host)):
        return False
    iri, graph = named_iri(iris, host, name), iris.processes_graph(host)
    twin.update(
        f"""DELETE {{ GRAPH ?graph {{ ?s ?p ?o }} }} WHERE {{
          {{ BIND (<{iri}> AS ?s) }} UNION
          {{ GRAPH <{graph}> {{ ?s <{ST.bindingOf}> <{iri}> }} }}
          {in_both(iris, graph, "?s ?p ?o")} }}"""
    )
    return True


def read_named(twin: Endpoint, iris: Iris, host: str) -> list[NamedProcess]:
    """Return all names of a host, with their current processes."""
    rows = twin.select(
        f"""SELECT ?name ?expression ?text ?bound {{
          GRAPH <{iris.processes_graph(host)}> {{
            ?named <{ST.processName}> ?name ; <{ST.matches}> ?expression ;
                   <{ST.matchedText}> ?text .
            OPTIONAL {{ ?named <{ST.boundTo}> ?bound }} }} }} ORDER BY ?name"""
    ).values()
    return [
        NamedProcess(name, expression, text, _identity(bound))
        for name, expression, text, bound in rows
    ]


def rebind(
    twin: Endpoint,
    iris: Iris,
    host: str,
    named: Iterable[NamedProcess],
    now: datetime,
    root: Path = Path("/"),
) -> list[NamedProcess]:
    """Rebind each name after the end of its process; return the new state.

    If several processes match, take the one that started first, with the lowest number.
    Raises ProbeSourceError, and EndpointError if the graph store is unreachable:
    nothing is lost then, since the next call does the work.
    """
    result, running = [], None
    for one in named:
        if _is_same_process(one, root):
            result.append(one)
            continue
        running = list(find_processes(root)) if running is None else running
        found = _first(one, running, root)
        if found != one.bound:
            twin.update(_bind(iris, host, one, found, now, root))
        result.append(NamedProcess(one.name, one.expression, one.text, found))
    return result


def named_iri(iris: Iris, host: str, name: str) -> URIRef:
    """``process/slurmd``: the same path as process ids, which look different."""
    return iris.component(host, "process", name)


def _check(expression: str) -> None:
    try:
        if 0 < len(expression) <= _LONGEST:
            with warnings.catch_warnings():
                # A pattern that a later Python will read differently is still valid
                # today.
                warnings.simplefilter("ignore", FutureWarning)
                re.compile(expression)
            return
        reason = f"{len(expression)} characters; 1 to {_LONGEST} are allowed"
    except (re.error, OverflowError, RecursionError) as error:
        reason = str(error)
    raise ProcessNameError(
        f"{expression[:60]!r} is not a regular expression ({reason}): use the syntax "
        "of Python's re module"
    )


def _identity(bound: str | None) -> Identity | None:
    return parse_identity(bound.rpartition("/")[2]) if bound else None


def _is_same_process(named: NamedProcess, root: Path) -> bool:
    """Whether the bound process runs and still matches the name's expression."""
    if named.bound is None:
        return False
    found = identify(named.bound.pid, root)
    return found is not None and found[0] == named.bound and _fits(named, *found, root)


def _fits(named: NamedProcess, identity: Identity, name: str, root: Path) -> bool:
    text = name if named.text == "name" else command_of(identity.pid, root)
    return re.search(named.expression, text or "") is not None


def _first(
    named: NamedProcess, running: list[tuple[Identity, str]], root: Path
) -> Identity | None:
    fitting = (one for one, name in running if _fits(named, one, name, root))
    return min(fitting, key=lambda one: (one.start, one.pid), default=None)


def _bind(
    iris: Iris,
    host: str,
    named: NamedProcess,
    found: Identity | None,
    now: datetime,
    root: Path,
) -> str:
    """The update that ends the old binding and begins the new one."""
    iri, graph = named_iri(iris, host, named.name), iris.processes_graph(host)
    ended = term(time_literal(now)).n3()
    process = read_process(found.pid, root) if found else None
    triples = Triples()
    if found and process and process.identity == found:
        bound = process_iri(iris, host, found)
        triples.link(iri, {ST.boundTo: bound})
        triples.node(
            URIRef(f"{iri}/binding-{found}"),
            ST.ProcessBinding,
            {
                ST.bindingOf: iri,
                ST.bound: bound,
                ST.boundFrom: time_literal(process.started),
            },
        )
    return f"""WITH <{graph}> DELETE {{ <{iri}> <{ST.boundTo}> ?old }}
    INSERT {{ ?binding <{ST.boundUntil}> {ended} }}
    WHERE {{ <{iri}> <{ST.boundTo}> ?old .
      OPTIONAL {{ ?binding <{ST.bindingOf}> <{iri}> ; <{ST.bound}> ?old
        FILTER NOT EXISTS {{ ?binding <{ST.boundUntil}> ?known }} }} }} ;
    {insertion(with_entailed({graph: triples}, iris))}"""
