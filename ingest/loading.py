"""Load a machine's twin: probe, describe, validate, publish."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.settings.settings import Settings
from core.stores.datasets import Progress, dataset, writing
from core.stores.endpoint import Endpoint
from ingest.describe.plan import MONITOR
from ingest.host_name import check_host
from ingest.hwloc.topology_file import keep_xml
from ingest.load.catalogues import read_catalogues
from ingest.load.ontology import publish_ontology
from ingest.load.publish import TwinStores, publish
from ingest.load.register import Registration
from ingest.monitoring import Monitoring
from ingest.pmu.store import publish_roles
from ingest.probe import probe
from ontology.iris import Iris
from queries.run import saved_rows

if TYPE_CHECKING:
    from ingest.schema.schema import ProbeDocument

_COUNTS = ("sockets", "cores", "threads", "metrics")


@dataclass(frozen=True)
class Twin:
    """Figures of a host's graph; `gaps` are the probe's, by source.

    `triples` counts the host's own graphs, `shared` the catalogues that all hosts
    share.
    """

    host: str
    sockets: int
    cores: int
    threads: int
    metrics: int
    monitored: int
    triples: int
    shared: int
    gaps: dict[str, str]


def load_host(
    settings: Settings,
    monitoring: Monitoring,
    pcp_address: str | None,
    progress: Progress,
) -> None:
    """Probe this machine and publish the result as its twin.

    If PCP gives nothing although the stored twin has metrics, keep the stored twin with
    its plan.
    """
    # Imported here because most commands write no host and should start fast.
    from ingest.schema.check import check_document

    document = check_document(probe(check_host(settings.host), pcp_address, progress))
    known = read_twin(settings, settings.host)
    if known and known.metrics and not document.sources["pcp"].ok:
        progress(
            "PCP gave no metrics, so the stored twin and its plan stay: fix PCP, and "
            "probe again with `supertwin ingest`"
        )
        return
    load_document(settings, monitoring, document, progress)


def load_document(
    settings: Settings,
    monitoring: Monitoring,
    document: "ProbeDocument",
    progress: Progress,
    confirm: bool = False,
    registration: Registration | None = None,
) -> None:
    """Publish a probe document as the twin of its host, with alias and partition."""
    iris = Iris(settings.base)
    near = document.host == settings.host
    # A host that was added over ssh is one that the bridge can reach, too.
    if near or (document.address or "").startswith("ssh://"):
        document = monitoring.with_bridge(document, near)
    with writing(settings, document.host, progress), open_store(settings) as store:
        _load(iris, store, document, monitoring, progress, confirm, registration)
    if problem := keep_xml(settings.home, document.host, document.facts.hwloc.xml):
        progress(problem)
    monitoring.notify()


@contextmanager
def open_store(settings: Settings) -> Iterator[TwinStores]:
    """Open the two Fuseki datasets of this installation."""
    with dataset(settings, "twin") as twin, dataset(settings, "history") as history:
        yield TwinStores(twin, history)


def _load(
    iris: Iris,
    store: TwinStores,
    document: "ProbeDocument",
    monitoring: Monitoring,
    progress: Progress,
    confirm: bool,
    registration: Registration | None,
) -> None:
    from ingest.description import describe

    started = time.monotonic()
    publish_ontology(store.twin, iris)
    publish_roles(store.twin, iris)
    catalogues = read_catalogues(store.twin, iris)
    description = describe(
        document,
        iris,
        monitoring.metrics(document, progress),
        catalogues.metrics,
        catalogues.models,
    )
    progress(f"described in {len(description)} triples ({_since(started)})")
    started = time.monotonic()
    published = publish(description, store, iris, confirm, registration, catalogues)
    verb = "loaded" if published.changed else "unchanged, nothing loaded"
    for line in published.warnings:
        progress(line)
    progress(f"validated and {verb} ({_since(started)})")


def read_twin(settings: Settings, host: str) -> Twin | None:
    """Read the figures of a host's stored twin; None without one."""
    with dataset(settings, "twin") as endpoint:
        hosts = _rows(endpoint, "inventory/hosts", host=host)
        if not hosts:
            return None
        gaps = _rows(endpoint, "why/probe-gaps", host=host)
        return Twin(
            host=host,
            **{name: hosts[0][name] for name in _COUNTS},
            monitored=len(_rows(endpoint, "telemetry/plan", host=host, plan=MONITOR)),
            **_triples(Iris(settings.base), host, endpoint),
            gaps={r["source"]: r["reason"] for r in gaps if not r["succeeded"]},
        )


def _rows(endpoint: Endpoint, name: str, **params: str) -> list[dict[str, Any]]:
    return saved_rows(endpoint, name, params)


def _triples(iris: Iris, host: str, endpoint: Endpoint) -> dict[str, int]:
    catalogues = (
        *(str(iris.metrics_graph), str(iris.roles_graph)),
        str(iris.pmu_graph("x"))[:-1],
    )
    own = (str(iris.twin_graph(host)), str(iris.plans_graph(host)))
    sizes = {r["graph"]: r["triples"] for r in _rows(endpoint, "inventory/graphs")}
    return {
        "triples": sum(sizes.get(graph, 0) for graph in own),
        "shared": sum(n for graph, n in sizes.items() if graph.startswith(catalogues)),
    }


def _since(started: float) -> str:
    return f"{time.monotonic() - started:.1f} s"
