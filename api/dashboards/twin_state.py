"""A small query that shows whether the data behind a dashboard have changed."""

from dataclasses import dataclass, field

from core.stores.fuseki import GraphStore, Row
from ontology.iris import Iris
from ontology.terms import PREFIXES
from queries.natural_order import natural
from queries.terms import iri_term

_PREFIXES = "".join(
    f"PREFIX {p}: <{PREFIXES[p]}>\n" for p in ("st", "prov", "rdfs", "qudt")
)


@dataclass(frozen=True)
class TwinState:
    """Changes whenever the twin of a host, or the list of hosts, is published.

    ``hosts``: for each host, its name, its last probe and the digest of the results.
    ``plans``: of one host, the sampled metrics, their periods in seconds, and whether
    only some instances are sampled. ``sizes``: the number of sampled series and of
    metrics in the catalogue, and each virtual telemetry with a digest of it.
    """

    hosts: tuple[tuple[str, str, str], ...]
    plans: frozenset[tuple[str, float, bool]] = field(default=frozenset())
    sizes: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The known hosts, in natural order."""
        return sorted({name for name, _, _ in self.hosts}, key=natural)

    def periods(self) -> dict[str, float]:
        """Return the seconds between two samples that all series of a metric have.

        This is the shortest period of the plans for all instances; some instances may
        have a shorter one. If all plans are for some instances, it is the longest.
        """
        finest: dict[str, float] = {}
        coarsest: dict[str, float] = {}
        for metric, period, some in self.plans:
            if some:
                coarsest[metric] = max(period, coarsest.get(metric, period))
            else:
                finest[metric] = min(period, finest.get(metric, period))
        return coarsest | finest


async def read_state(graph: GraphStore, iris: Iris, host: str) -> TwinState:
    """Read the state for dashboards about one host, or about all if it is empty.

    With one host, only the names of the others are included.
    """
    rows = await graph.rows(_query(iris, host))
    hosts = sorted({_host(row, host) for row in rows if "name" in row})
    return TwinState(
        hosts=tuple(hosts),
        plans=frozenset(_plan(row) for row in rows if "metric" in row),
        sizes=tuple(sorted(row["size"].value for row in rows if "size" in row)),
    )


def _plan(row: Row) -> tuple[str, float, bool]:
    metric, period, some = (row[key].value for key in ("metric", "period", "some"))
    return metric, float(period), some == "true"


def _host(row: Row, host: str) -> tuple[str, str, str]:
    name = row["name"].value
    if host not in ("", name):
        return name, "", ""
    found = (row[key].value if key in row else "" for key in ("probe", "digest"))
    return name, *found  # type: ignore[return-value]


def _query(iris: Iris, host: str) -> str:
    parts = [
        "{ ?host a st:ComputeNode ; st:hostname ?name "
        "OPTIONAL { ?host prov:wasGeneratedBy ?probe } "
        "OPTIONAL { ?host st:digest ?digest } }"
    ]
    if host:
        node, plans = iri_term(iris.host(host)), iri_term(iris.plans_graph(host))
        parts += [
            f"{{ ?plan st:ofHost {node} ; st:samples/st:samplerName ?metric ; "
            "st:period ?period "
            "BIND (EXISTS { ?plan st:samplesInstance ?name0 } AS ?some) }",
            _size("sampled", f"GRAPH {plans} {{ ?series st:sampledBy ?plan }}"),
            _size("metrics", "?one a st:Metric"),
            # Their expressions also change with plans and components of other hosts.
            "{ ?virtual a st:VirtualTelemetry ; st:virtualName ?virtualName "
            "OPTIONAL { ?virtual rdfs:label ?label } "
            "OPTIONAL { ?virtual qudt:hasUnit ?unit } "
            "OPTIONAL { ?virtual st:metricsQl ?text } "
            'BIND (CONCAT(?virtualName, " ", SHA1(CONCAT(COALESCE(?text, ""), " ", '
            'COALESCE(STR(?unit), ""), " ", COALESCE(?label, "")))) AS ?size) }',
        ]
    return (
        f"{_PREFIXES}SELECT ?name ?probe ?digest ?metric ?period ?some ?size "
        f"{{ {' UNION '.join(parts)} }}"
    )


def _size(name: str, what: str) -> str:
    count = f'CONCAT("{name} ", STR(COUNT(*)))'
    return f"{{ SELECT ({count} AS ?size) {{ {what} }} }}"
