"""Facts about a host that outlive its probes, in a graph of their own.

Users give it an alias, an address and a partition. A sign that only a probe with root
rights could see is kept when a later probe cannot see it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdflib import Literal, URIRef

from core.stores.endpoint import Endpoint
from ingest.entailed import drop
from ingest.errors import OtherMachineError
from ingest.sign import SignMatch, by_kind, judge, unseen_signs
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import ST
from queries.natural_order import natural

if TYPE_CHECKING:
    from ingest.description import Description


@dataclass(frozen=True)
class RegisteredTwin:
    """The signs and the digest of the stored twin; empty without one.

    `whole` is false if two processes wrote it at the same moment, so that it has two
    digests.
    """

    signs: tuple[str, ...] = ()
    digest: str | None = None
    whole: bool = True


@dataclass(frozen=True)
class Registration:
    """What users say about a host; an empty field leaves the stored value."""

    alias: str = ""
    address: str = ""
    partition: str = ""

    def update(self, iris: Iris, host: str) -> str:
        """The SPARQL Update that replaces the stored value of each given fact."""
        given = {
            ST.alias: self.alias,
            ST.address: self.address,
            ST["partition"]: self.partition,
        }
        return "".join(
            _replaced(iris, host, link, [value])
            for link, value in given.items()
            if value
        )


def read_known(twin: Endpoint, node: URIRef) -> RegisteredTwin:
    """Read the stored signs and digest of a host."""
    rows = twin.select(
        f"""PREFIX st: <{ST}>
        SELECT ?sign ?digest WHERE {{
          {node.n3()} st:digest ?digest . OPTIONAL {{ {node.n3()} st:sign ?sign }}
        }}"""
    ).values()
    signs = tuple(sorted({sign for sign, _ in rows if sign}))
    digests = sorted({digest for _, digest in rows})
    return RegisteredTwin(signs, digests[0] if digests else None, len(digests) < 2)


def signs_of(description: "Description") -> list[str]:
    """The signs in a description, the strongest first."""
    return [str(o) for _, p, o in description.twin if p == ST.sign]


def check_signs(description: "Description", known: RegisteredTwin) -> None:
    """Raise OtherMachineError if the description is of another machine than the twin.

    A twin with a sign is not replaced by a description without one: a topology file
    would otherwise remove everything else that is known of the machine.
    """
    seen = signs_of(description)
    if known.signs and not seen:
        raise OtherMachineError(description.host, known.signs[0], "no sign")
    judged = judge(known.signs, seen)
    if judged.verdict is SignMatch.OTHER:
        kind = judged.differ[0]
        raise OtherMachineError(
            description.host,
            _sign_texts(kind, known.signs),
            _sign_texts(kind, seen),
            " and ".join(judged.agree),
        )


def _sign_texts(kind: str, signs: Iterable[str]) -> str:
    return f"{kind}:{' '.join(sorted(by_kind(signs)[kind]))}"


Signs = dict[str, list[str]]


def read_signs(twin: Endpoint, shared: Iterable[str] = ()) -> Signs:
    """The signs of every host by name, or of hosts with one of the `shared` signs."""
    values = " ".join(Literal(sign).n3() for sign in shared)
    among = f"VALUES ?shared {{ {values} }} ?node st:sign ?shared ." if values else ""
    rows = twin.select(
        f"""PREFIX st: <{ST}>
        SELECT DISTINCT ?host ?sign WHERE {{
          {among} ?node st:sign ?sign ; st:hostname ?host }}"""
    ).values()
    signs: Signs = {}
    for host, sign in rows:
        signs.setdefault(host, []).append(sign)
    return signs


def same_machine_warnings(host: str, seen: Sequence[str], known: Signs) -> list[str]:
    """Return a warning for every other name of a machine with these signs.

    It is not an error: a machine may be renamed, and a container sees the board of its
    host.
    """
    return [
        warning
        for other in sorted(known.keys() - {host}, key=natural)
        if not set(seen).isdisjoint(known[other])
        if (warning := _duplicate_warning(host, other, known[other], seen))
    ]


def _duplicate_warning(
    host: str, other: str, known: Sequence[str], seen: Sequence[str]
) -> str:
    judged = judge(known, seen)
    if judged.verdict is not SignMatch.SAME:
        return ""
    return (
        f"warning: {host} is the same machine as {other} (same {judged.agree[0]}): "
        "remove one of the two twins with `supertwin remove`"
    )


def registration_insert(
    iris: Iris, description: "Description", known: RegisteredTwin, confirm: bool
) -> str:
    """The SPARQL Update with signs that this probe could not see; none if confirmed."""
    signs = [] if confirm else unseen_signs(known.signs, signs_of(description))
    return _replaced(iris, description.host, ST.sign, signs)


def registration_delete(iris: Iris, host: str) -> str:
    """The SPARQL Update that removes a host from the twin."""
    kinds = (
        *(iris.twin_graph, iris.plans_graph, iris.register_graph),
        *(iris.cgroups_graph, iris.counters_graph, iris.agents_graph),
    )
    drops = drop(iris, *(graph(host) for graph in kinds))
    # Added plans have their own graphs, below that of the host's plans.
    start = f"{iris.plans_graph(host)}/"
    follows = iris.entailed_graph(URIRef(start))
    return f"""DELETE {{ GRAPH ?graph {{ ?s ?p ?o }} }} WHERE {{
      {{ SELECT DISTINCT ?plan {{
        GRAPH ?plan {{ ?each <{ST.ofHost}> <{iris.host(host)}> ; <{ST.planName}> ?n }}
        FILTER (STRSTARTS(STR(?plan), "{start}")) }} }}
      BIND (STRAFTER(STR(?plan), "{start}") AS ?name)
      VALUES ?start {{ "{start}" "{follows}" }}
      BIND (IRI(CONCAT(?start, ?name)) AS ?graph)
      GRAPH ?graph {{ ?s ?p ?o }} }} ;
    {drops}"""


def _replaced(iris: Iris, host: str, link: URIRef, values: list[str]) -> str:
    graph, node = iris.register_graph(host), iris.host(host)
    facts = Triples()
    facts.link(node, {link: values})
    old = f"DELETE WHERE {{ GRAPH <{graph}> {{ <{node}> <{link}> ?old }} }} ;\n"
    new = f"INSERT DATA {{ GRAPH <{graph}> {{\n{facts.ntriples()}}} }} ;\n"
    return old + (new if values else "")
