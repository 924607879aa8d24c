"""This machine → its twin: probe, describe, validate, publish."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from ingest.describe import Description, describe
from ingest.probe import check_host, probe
from ingest.publish import Store, publish, read_catalogue
from ontology.iris import Iris
from ontology.terms import ST
from queries.endpoint import Endpoint
from sampler_bridge.monitor import load_monitor, plan_names
from supertwin.settings import Settings

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Loaded:
    """What a load found: counts of the host, and whether its twin changed."""

    host: str
    sockets: int
    cores: int
    threads: int
    metrics: int
    monitored: int
    triples: int
    changed: bool
    gaps: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def load_host(
    settings: Settings, pcp_address: str | None, progress: Progress
) -> Loaded:
    """Probe this machine and make the answer its twin."""
    document = probe(check_host(settings.host), pcp_address, progress)
    return load_document(settings, document, progress)


def load_document(
    settings: Settings,
    document: dict[str, Any],
    progress: Progress,
    confirm: bool = False,
) -> Loaded:
    """Make a probe document the twin of its host."""
    iris = Iris(settings.base)
    with open_store(settings) as store:
        return _load(iris, store, document, progress, confirm)


@contextmanager
def open_store(settings: Settings) -> Iterator[Store]:
    """The two Fuseki datasets of this installation."""
    url = settings.fuseki
    with Endpoint(f"{url}/twin") as twin, Endpoint(f"{url}/history") as history:
        yield Store(twin, history)


def _load(
    iris: Iris,
    store: Store,
    document: dict[str, Any],
    progress: Progress,
    confirm: bool,
) -> Loaded:
    catalogue = read_catalogue(store.twin, iris)
    exposed = [
        m["name"] for m in (document["facts"].get("pcp") or {}).get("metrics", [])
    ]
    started = time.monotonic()
    description = describe(
        document, iris, plan_names(load_monitor(), exposed), catalogue
    )
    progress(f"described in {len(description)} triples ({_since(started)})")
    started = time.monotonic()
    published = publish(description, store, iris, confirm)
    verb = "loaded" if published.changed else "unchanged, nothing loaded"
    for line in published.warnings:
        progress(line)
    progress(f"validated and {verb} ({_since(started)})")
    return _loaded(document, description, published.changed)


def _loaded(
    document: dict[str, Any], description: Description, changed: bool
) -> Loaded:
    topology = document["facts"].get("hwloc") or {}
    plans = sum(o == ST.SamplingPlan for _, _, o in description.plans)
    return Loaded(
        host=description.host,
        sockets=len(topology.get("sockets", [])),
        cores=len(topology.get("cores", [])),
        threads=len(topology.get("threads", [])),
        metrics=sum(o == ST.Metric for _, _, o in description.metrics),
        monitored=plans,
        triples=len(description),
        changed=changed,
        gaps={
            name: source["reason"]
            for name, source in document["sources"].items()
            if not source["ok"]
        },
    )


def _since(started: float) -> str:
    return f"{time.monotonic() - started:.1f} s"
