"""The named graph of each triple of an imported twin, as in ingest."""

from collections import defaultdict
from collections.abc import Sequence

from rdflib import RDF, URIRef

from dtdl.errors import FIX, DtdlDocumentError
from dtdl.nodes import Object, Triple
from ingest.describe.metrics import SEMANTICS, Catalogue, MetricSignature, variant_iri
from ontology.iris import IdError, Iris, decode_id
from ontology.terms import PROV, ST

# Not names of graphs, but the parts of a description.
TWIN, PROBE, METRICS, PLANS = map(URIRef, ("twin", "probe", "metrics", "plans"))
_PARTS = {
    ST.Probe: PROBE,
    ST.ProbeSource: PROBE,
    ST.SamplingPlan: PLANS,
    ST.SWTelemetry: PLANS,
    ST.HWTelemetry: PLANS,
}
_NAMES = {term: name for name, term in SEMANTICS.items()}


class GraphLocator:
    """Finds the part, or the graph of a catalogue or run, that triples belong to."""

    def __init__(self, triples: Sequence[Triple], iris: Iris) -> None:
        self._iris = iris
        self._kinds: dict[Object, set[Object]] = defaultdict(set)
        for subject, property_, value in triples:
            if property_ == RDF.type:
                self._kinds[subject].add(value)
        self._benchmarks = {s: o for s, p, o in triples if p == ST.ofBenchmark}

    def of(self, triple: Triple) -> URIRef:
        """The part of the description, else the graph, that a triple belongs to."""
        subject, property_, _ = triple
        if property_ == PROV.wasGeneratedBy:
            return PROBE
        return self._catalogue(subject) or self._run(subject) or self._part(subject)

    def _part(self, subject: URIRef) -> URIRef:
        kinds = self._kinds.get(subject, set())
        return next((part for kind, part in _PARTS.items() if kind in kinds), TWIN)

    def _catalogue(self, subject: URIRef) -> URIRef | None:
        path = subject.removeprefix(f"{self._iris.base.rstrip('/')}/").split("/")
        if path[0] == "pmu":
            return self._iris.pmu_graph(_decoded(path[1:2], subject))
        return METRICS if path[0] in ("metric", "indom") else None

    def _run(self, subject: URIRef) -> URIRef | None:
        """The graph of an observation, or of a benchmark with its results."""
        run = self._benchmarks.get(subject, subject)
        kinds, id_ = self._kinds.get(run, set()), run.rpartition("/")[2:]
        if ST.ObservationInterface in kinds:
            return self._iris.observation_graph(_decoded(id_, subject))
        if ST.BenchmarkInterface in kinds:
            return self._iris.benchmark_graph(_decoded(id_, subject))
        return None


def with_variants(
    triples: list[Triple], iris: Iris, catalogue: Catalogue
) -> list[Triple]:
    """The triples, with a new IRI for each metric that differs from the store's."""
    facts: dict[URIRef, dict[URIRef, Object]] = defaultdict(dict)
    for subject, property_, value in triples:
        facts[subject][property_] = value
    moved: dict[Object, URIRef] = {}
    for subject, known in facts.items():
        name = str(known.get(ST.samplerName, ""))
        if known.get(RDF.type) == ST.Metric and name in catalogue:
            found = _descriptor(known, facts)
            if subject == iris.metric(name) and found != catalogue[name]:
                moved[subject] = variant_iri(iris, name, found)
    if not moved:
        return triples
    return [(moved.get(s, s), p, moved.get(o, o)) for s, p, o in triples]


def _descriptor(
    metric: dict[URIRef, Object], facts: dict[URIRef, dict[URIRef, Object]]
) -> MetricSignature:
    domain = metric.get(ST.instanceDomain)
    id_ = facts.get(URIRef(domain), {}).get(ST.domainId) if domain else None
    return MetricSignature(
        str(metric.get(ST.valueType, "")),
        _NAMES.get(URIRef(metric.get(ST.semantics, "")), ""),
        str(metric.get(ST.pcpUnits, "")),
        str(id_) if id_ else None,
    )


def _decoded(segments: Sequence[str], subject: URIRef) -> str:
    try:
        return decode_id(segments[0] if segments else "")
    except IdError:
        raise DtdlDocumentError(
            f"{subject} is not an IRI that SuperTwin writes: {FIX}"
        ) from None
