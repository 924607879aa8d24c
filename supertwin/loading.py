"""This machine → its twin: probe, describe, validate, publish."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ingest.describe.plan import MONITOR
from ingest.host_name import check_host
from ingest.hwloc.topology_file import keep_topology
from ingest.load.catalogues import read_catalogues
from ingest.load.publish import Store, publish
from ingest.load.register import Registration
from ingest.pmu.store import publish_roles
from ingest.probe import probe
from ontology.iris import Iris, encode_id
from queries.asking import saved_rows
from queries.endpoint import Endpoint
from sampler_bridge.plan.monitor import load_monitor, plan_names
from sampler_bridge.plan.nudge import nudge
from sampler_bridge.sources.local_metrics import PREFIXES, with_local
from supertwin.access.accounts import fuseki_account
from supertwin.settings import Settings
from supertwin.stack.lock import turn

Progress = Callable[[str], None]

_COUNTS = ("sockets", "cores", "threads", "metrics")


@dataclass(frozen=True)
class Twin:
    """What the graph says of a host, in numbers; `gaps` are the probe's, by source.

    `triples` are those of the host's own graphs, `shared` those of the catalogues that
    all hosts share.
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


def load_host(settings: Settings, pcp_address: str | None, progress: Progress) -> None:
    """Probe this machine and make the answer its twin.

    A PMCD that is away for the moment does not cost the twin its metrics and plan.
    """
    document = probe(check_host(settings.host), pcp_address, progress)
    known = read_twin(settings, settings.host)
    if known and known.metrics and not document["sources"]["pcp"]["ok"]:
        progress("PCP gave nothing, so the old twin stays, with its plan")
        return
    load_document(settings, document, progress)


def load_document(
    settings: Settings,
    document: dict[str, Any],
    progress: Progress,
    confirm: bool = False,
    registration: Registration | None = None,
) -> None:
    """Make a probe document the twin of its host, known by what people call it."""
    iris = Iris(settings.base)
    near = document["host"] == settings.host
    if near or _is_far(document):
        document = with_bridge(document, near)
    with writing(settings, document["host"], progress), open_store(settings) as store:
        _load(iris, store, document, progress, confirm, registration)
    if problem := keep_topology(settings.home, document):
        progress(problem)
    nudge(settings.home / "bridge")


def with_bridge(document: dict[str, Any], near: bool = True) -> dict[str, Any]:
    """The facts of a host that the bridge samples: beside PCP's metrics its own.

    On the bridge's own machine, ``near``, these are of control groups, too.

    Raises DocumentError for facts of another form than a probe's.
    """
    from ingest.form.check import check_document

    check_document(document)
    facts = document["facts"]
    if not facts.get("pcp"):
        return document
    return {**document, "facts": {**facts, "pcp": with_local(facts["pcp"], near)}}


def _is_far(document: dict[str, Any]) -> bool:
    """Whether facts come from where the bridge can go, too."""
    return str(document.get("address", "")).startswith("ssh://")


@contextmanager
def writing(settings: Settings, host: str, progress: Progress) -> Iterator[None]:
    """Let one command at a time write a host: two would put its past out of order."""

    def wait() -> None:
        progress(f"another command writes {host}: waiting until it is done")

    with turn(settings.home / "turns", wait, encode_id(host)):
        yield


@contextmanager
def open_store(settings: Settings) -> Iterator[Store]:
    """The two Fuseki datasets of this installation."""
    with dataset(settings, "twin") as twin, dataset(settings, "history") as history:
        yield Store(twin, history)


def dataset(settings: Settings, name: str, timeout: float = 30.0) -> Endpoint:
    """A client of one of the two, with our account."""
    url = f"{settings.fuseki}/{name}"
    return Endpoint(url, timeout=timeout, account=fuseki_account(settings))


def _load(
    iris: Iris,
    store: Store,
    document: dict[str, Any],
    progress: Progress,
    confirm: bool,
    registration: Registration | None,
) -> None:
    # Most commands write no host, and need not wait for what describes one.
    from ingest.description import describe

    started = time.monotonic()
    publish_roles(store.twin, iris)
    catalogues = read_catalogues(store.twin, iris)
    description = describe(
        document,
        iris,
        monitored(document, progress),
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


def monitored(document: dict[str, Any], progress: Progress) -> list[str]:
    """The part of the monitor set that the host exposes; the rest is named.

    What a bridge counts of itself, and control groups, are sampled wherever one is.
    """
    metrics = (document["facts"].get("pcp") or {}).get("metrics", [])
    exposed, monitor = [metric["name"] for metric in metrics], load_monitor()
    absent = [name for name in monitor if not plan_names([name], exposed)]
    if exposed and absent:
        progress(f"of the monitor set, not on this host: {', '.join(absent)}")
    return plan_names([*monitor, *(f"{name}*" for name in PREFIXES)], exposed)


def read_twin(settings: Settings, host: str) -> Twin | None:
    """The twin of a host as it stands in the graph; None where there is none."""
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
