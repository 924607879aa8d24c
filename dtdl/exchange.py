"""Load documents of other formats into the graph store."""

import time

from rdflib import URIRef

from core.settings.settings import Settings
from core.stores.datasets import Progress, writing
from dtdl.errors import FIX, DtdlDocumentError
from dtdl.named_graphs import METRICS, PLANS, PROBE, TWIN, GraphLocator, with_variants
from dtdl.read import DtdlDocument
from ingest.describe.metrics import Catalogue
from ingest.description import Description
from ingest.hwloc.topology_file import keep_xml
from ingest.load.catalogues import read_catalogues
from ingest.load.publish import publish
from ingest.loading import open_store
from ingest.triples import Triples, digest
from ontology.iris import Iris
from ontology.terms import PROV, ST


def load_dtdl(
    settings: Settings, read: DtdlDocument, progress: Progress, confirm: bool = False
) -> None:
    """Publish a document as the twin of its host, as `supertwin ingest` does."""
    iris, started = Iris(settings.base), time.monotonic()
    if not read.whole:
        progress("the file was changed since its export; it is loaded as it is")
    with writing(settings, read.host, progress), open_store(settings) as store:
        catalogues = read_catalogues(store.twin, iris)
        made = description_of(read, iris, catalogues.metrics)
        published = publish(made, store, iris, confirm, catalogues=catalogues)
        if published.changed:
            keep_xml(settings.home, read.host, None)
    for line in published.warnings:
        progress(line)
    verb = "loaded" if published.changed else "unchanged, nothing loaded"
    seconds = time.monotonic() - started
    progress(f"{len(made)} triples validated and {verb} ({seconds:.1f} s)")


def description_of(read: DtdlDocument, iris: Iris, catalogue: Catalogue) -> Description:
    """A document as a description; ``catalogue`` holds the metrics in the store."""
    host = iris.host(read.host)
    triples = with_variants(read.triples, iris, catalogue)
    places = GraphLocator(triples, iris)
    graphs: dict[URIRef, Triples] = {}
    for triple in triples:
        graphs.setdefault(places.of(triple), Triples()).append(triple)
    own = [graphs.pop(part, Triples()) for part in (TWIN, PROBE, METRICS, PLANS)]
    twin, probe, metrics, plans = own
    recorded_digest = [str(o) for s, p, o in twin if (s, p) == (host, ST.digest)]
    twin = Triples(t for t in twin if (t[0], t[1]) != (host, ST.digest))
    digested = digest([twin, metrics, *graphs.values(), plans])
    if read.whole and recorded_digest and triples == read.triples:
        digested = recorded_digest[0]
    if not any(p == PROV.wasGeneratedBy for _, p, _ in probe):
        raise DtdlDocumentError(f"the file has no probe of {read.host}: {FIX}")
    twin.link(host, {ST.digest: digested})
    return Description(read.host, host, digested, twin, probe, metrics, graphs, plans)
