"""The host of a crate's run: its name here, and whether it is the same machine."""

from collections.abc import Callable
from typing import Any

from rdflib import RDFS, Graph, Literal, URIRef

from core.stores.endpoint import Endpoint
from ingest.errors import HostNameError
from ingest.host_name import check_host
from ingest.sign import SignMatch, judge
from observations.errors import CrateError
from observations.store import signs_of_host, signs_of_runs
from ontology.iris import Iris, stated
from ontology.terms import ST


def name_of_host(graph: Graph, node: URIRef) -> str:
    """Return the name of the host that a run was on; raises CrateError."""
    name = graph.value(node, ST.ranOn)
    # Runs of old versions do not state the name themselves.
    name = name or graph.value(graph.value(node, ST.ofHost), ST.hostname)
    if name is None:
        raise CrateError("the crate does not name the host of its run: export it again")
    return str(name)


def host_of(graph: Graph, node: URIRef, iris: Iris) -> str:
    """Return the same name if the run and its threads match it; raises CrateError."""
    try:
        name = check_host(name_of_host(graph, node))
    except HostNameError as error:
        raise CrateError(f"the crate's run: {error}") from None
    host = iris.host(name)
    threads = graph.objects(node, ST.involvesThread)
    others = [one for one in threads if not str(one).startswith(f"{host}/thread/")]
    if graph.value(node, ST.ofHost) != host or others:
        raise CrateError(
            f"the crate's run was on {name} and is of another host, too: export it "
            "again"
        )
    return name


def check_machine(twin: Endpoint, graph: Graph, node: URIRef, host: URIRef) -> None:
    """Raise CrateError if a known host may not be the machine of a run."""
    if not _is_known(twin, host):
        return
    known = [*signs_of_host(twin, host), *signs_of_runs(twin, host)]
    judged = judge(known, map(str, graph.objects(node, ST.hostSign)))
    if judged.verdict is SignMatch.SAME:
        return
    why = "known here, and may be another machine"
    if judged.verdict is SignMatch.OTHER:
        why = f"another machine here, by its {judged.differ[0]}"
    name = str(host).rpartition("/")[2]
    raise CrateError(
        f"{name} is {why}: `--host NAME` imports the run as one of another host, "
        "`--confirm` as one of this"
    )


def rebased(graph: Graph, old_base: str, new_base: str) -> Graph:
    """Return the same triples with another installation's IRIs replaced by ours."""
    old, new = old_base.rstrip("/") + "/", new_base.rstrip("/") + "/"
    return _mapped(graph, lambda iri: _replaced(iri, old, new))


def renamed(graph: Graph, node: URIRef, iris: Iris, name: str) -> Graph:
    """Return the same triples with a run's host and its components renamed."""
    old, new = iris.host(name_of_host(graph, node)), iris.host(name)

    def own(iri: str) -> str:
        return str(new) if iri == str(old) else _replaced(iri, f"{old}/", f"{new}/")

    found = _mapped(graph, own)
    for subject, term in ((new, ST.hostname), (new, RDFS.label), (node, ST.ranOn)):
        if (subject, term, None) in found:
            found.set((subject, term, Literal(name)))
    return found


def _is_known(twin: Endpoint, host: URIRef) -> bool:
    """Whether the host is described here, or has recorded runs."""
    return twin.ask(
        f"ASK {{ {{ <{host}> a <{ST.ComputeNode}> }} "
        f"UNION {{ {stated(f'?run <{ST.ofHost}> <{host}>')} }} }}"
    )


def _mapped(graph: Graph, own: Callable[[str], str]) -> Graph:
    def term(one: Any) -> Any:
        return URIRef(own(str(one))) if isinstance(one, URIRef) else one

    found = Graph()
    for triple in graph:
        found.add(tuple(map(term, triple)))
    return found


def _replaced(text: str, old: str, new: str) -> str:
    return new + text[len(old) :] if text.startswith(old) else text
