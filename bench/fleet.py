"""Many hosts: loaded one by one, in bulk, and one host replaced a thousand times.

Each case runs on a graph store of its own that has just taken ten hosts. A JVM that has
not compiled anything yet is measured as `first call ever`.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from bench.table import Figure
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ingest.description import describe
from ingest.load.catalogues import Catalogues, read_catalogues
from ingest.load.publish import TwinStores, publish
from ingest.machine_files import hwloc_file, probe_file
from ingest.pmu.store import publish_roles
from ingest.probe import probe
from ingest.schema.check import check_document
from ingest.schema.schema import ProbeDocument
from ontology.iris import Iris
from sampling.plan_file.monitor import load_monitor, plan_names
from supertwin.stack.compaction import bytes_on_disk
from tests.dashboards.synthetic_facts import scaled_document, topology
from tests.dtdl.twins import MACHINES
from tests.ports import free_port
from tests.servers import ROOT, Server, answers
from tests.stack import Stack

HOSTS, WARM_UP, ROUNDS = 100, 10, 5
ZEN4 = MACHINES / "AMD-19h-Zen4-2xEpyc-9654.xml"
LIKE_ZEN4 = "pack:2 numa:1 l3:12 l2:8 l1d:1 l1i:1 core:1 pu:2(indexes=2*192:1*2)"


class OwnFuseki(Server):
    """Fuseki as `supertwin run fuseki` runs it, with datasets of its own."""

    def __init__(self, folder: Path, series: str = "") -> None:
        super().__init__(folder)
        self.port = free_port()
        kept = {k: v for k, v in os.environ.items() if not k.startswith("SUPERTWIN_")}
        self.env = kept | {
            "SUPERTWIN_HOME": str(folder),
            "SUPERTWIN_FUSEKI_PORT": str(self.port),
            "SUPERTWIN_STORE_READ_URL": series,
        }

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def password(self) -> str:
        return (self.folder / "fuseki/password").read_text().strip()

    @property
    def url(self) -> str:
        return f"http://supertwin:{self.password}@127.0.0.1:{self.port}"

    @property
    def settings(self) -> Settings:
        return Settings(home=self.folder, fuseki_port=self.port)

    @property
    def disk(self) -> int:
        """Bytes of both datasets on disk."""
        return sum(
            bytes_on_disk(self.folder / "fuseki" / name) for name in ("twin", "history")
        )

    def start(self) -> None:
        command = [sys.executable, "-m", "supertwin", "run", "fuseki"]
        self.launch(command, ROOT, **self.env)
        password = self.folder / "fuseki/password"
        self.ready(lambda: password.exists() and answers(f"{self.url}/$/ping"), 60.0)

    def clean(self) -> None:
        if self.ended() is None:
            self.end()


@contextmanager
def own_store() -> Iterator[tuple[OwnFuseki, TwinStores]]:
    with (
        tempfile.TemporaryDirectory(prefix="supertwin-bench-") as folder,
        OwnFuseki(Path(folder)) as server,
        Endpoint(f"{server.url}/twin") as twin,
        Endpoint(f"{server.url}/history") as history,
    ):
        yield server, TwinStores(twin, history)


def zen4_figures(stack: Stack) -> list[Figure]:
    """A host of 384 threads, from the file of a real one if available."""
    with tempfile.TemporaryDirectory() as folder, own_store() as (_, store):
        path, what = ZEN4, "Zen 4, its hwloc file"
        if not path.exists():
            path, what = Path(folder) / "like.xml", "384 threads, made up"
            path.write_bytes(topology(LIKE_ZEN4))
        runs = [_from_file(store, path, f"zen4-{n}") for n in range(ROUNDS)]
        facts = probe("zen4", stack.bridge()["pcp"]["address"])
        full = [_full(store, facts, path, f"full-{n}") for n in range(ROUNDS)]
    figures = []
    for title, found in ((what, runs), (f"{what}, and PCP's facts", full)):
        seconds = statistics.median(seconds for seconds, _ in found)
        title_ = f"{title}: parse + describe + SHACL + load"
        figures.append(Figure(title_, seconds, "s", 6))
        figures.append(Figure(f"{title}: the host's graph", found[0][1], "", 40000))
    return figures


def _from_file(store: TwinStores, path: Path, host: str) -> tuple[float, int]:
    started = time.monotonic()
    load(store, hwloc_file(path, host), None)
    return time.monotonic() - started, _own(store, host)


def _full(
    store: TwinStores, facts: dict[str, Any], path: Path, host: str
) -> tuple[float, int]:
    started = time.monotonic()
    document = scaled_document(facts | {"host": host}, path.read_bytes())
    load(store, check_document(document), None)
    return time.monotonic() - started, _own(store, host)


def _own(store: TwinStores, host: str) -> int:
    graph = Iris(Settings().base).twin_graph(host)
    text = f"SELECT (COUNT(*) AS ?n) {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}"
    return int(store.twin.select(text).values()[0][0])


def load(
    store: TwinStores, document: ProbeDocument, known: Catalogues | None
) -> Catalogues:
    """Load a document as `supertwin ingest` does."""
    iris = Iris(Settings().base)
    if known is None:
        publish_roles(store.twin, iris)
    known = read_catalogues(store.twin, iris, known)
    exposed = [metric.name for metric in document.facts.metrics]
    names = plan_names(load_monitor(), exposed)
    made = describe(document, iris, names, known.metrics, known.models)
    publish(made, store, iris, catalogues=known)
    return known


@dataclass(frozen=True)
class Fleet:
    """Probe files of hosts of 128 threads; `first` are loaded to warm up."""

    first: list[Path]
    files: list[Path]


def fleet_figures(stack: Stack) -> list[Figure]:
    """100 hosts with this machine's PCP catalogue, loaded in three ways."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = _fleet(Path(folder), stack)
        alone, body = _one_by_one(fleet)
        bare = _bare(body)
        bulk, start = _bulk(fleet)
    against = "the same triples as one body of N-Quads"
    return [
        Figure(
            f"{HOSTS} hosts one after another: triples/s",
            alone, "", 30000, bare, against, at_least=True,
        ),
        Figure(
            f"{HOSTS} hosts, supertwin ingest --bulk: triples/s",
            bulk, "", 60000, bare, against, at_least=True,
        ),
        Figure("  start of the command, counted neither here nor there", start, "s"),
    ]  # fmt: skip


def _fleet(folder: Path, stack: Stack) -> Fleet:
    facts = probe("node", stack.bridge()["pcp"]["address"])
    document, paths = scaled_document(facts, topology()), []
    for number in range(WARM_UP + HOSTS):
        host = f"node{number}"
        own = {"hostname": host, "machine_id": f"{number + 1:032x}", "kernel": "6.1"}
        text = json.dumps(
            document | {"host": host, "facts": document["facts"] | {"os": own}}
        )
        place = folder / ("first" if number < WARM_UP else "files")
        place.mkdir(exist_ok=True)
        paths.append(place / f"{host}.json")
        paths[-1].write_text(text)
    return Fleet(paths[:WARM_UP], paths[WARM_UP:])


def _one_by_one(fleet: Fleet) -> tuple[float, tuple[bytes, bytes]]:
    """Triples a second; the store's content as N-Quads, before and after."""
    with own_store() as (server, store):
        known = _each(store, fleet.first, None)
        before = _content(server)
        started = time.monotonic()
        _each(store, fleet.files, known)
        seconds = time.monotonic() - started
        every = _content(server)
    more = b"".join(sorted({*every.splitlines(True)} - {*before.splitlines(True)}))
    return more.count(b"\n") / seconds, (before, more)


def _each(
    store: TwinStores, paths: Sequence[Path], known: Catalogues | None
) -> Catalogues | None:
    for path in paths:
        known = load(store, probe_file(path), known)
    return known


def _content(server: OwnFuseki) -> bytes:
    headers = {"Accept": "application/n-quads"}
    return httpx.get(f"{server.url}/twin/data", headers=headers, timeout=300).content


def _bare(bodies: tuple[bytes, bytes]) -> float:
    """Triples a second that Fuseki accepts when it has no other work."""
    with own_store() as (server, _):
        for body in bodies:
            started = time.monotonic()
            headers = {"Content-Type": "application/n-quads"}
            address = f"{server.url}/twin/data"
            httpx.post(
                address, content=body, headers=headers, timeout=300
            ).raise_for_status()
            seconds = time.monotonic() - started
    return bodies[1].count(b"\n") / seconds


def _bulk(fleet: Fleet) -> tuple[float, float]:
    """Triples a second as the command reports, and the seconds it takes to start."""
    with own_store() as (server, _):
        _command(server, fleet.first[0].parent)
        started = time.monotonic()
        output = _command(server, fleet.files[0].parent)
        seconds = time.monotonic() - started
    found = re.fullmatch(
        rf"{HOSTS} hosts loaded, .* 0 refused: ([\d,]+) triples in ([\d.]+) s .*",
        output,
    )
    assert found, output
    took = float(found[2])
    return int(found[1].replace(",", "")) / took, seconds - took


def _command(server: OwnFuseki, folder: Path) -> str:
    return subprocess.run(
        [sys.executable, "-m", "supertwin", "ingest", "--bulk", str(folder)],
        cwd=ROOT,
        env=server.env,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    ).stdout.strip()


def local_probe_figures(stack: Stack) -> list[Figure]:
    """A probe of this machine, without describing or loading it."""
    address, seconds = stack.bridge()["pcp"]["address"], []
    for _ in range(ROUNDS):
        started = time.monotonic()
        probe("probed", address)
        seconds.append(time.monotonic() - started)
    title = "local probe, PMU and PCP catalogues included"
    return [Figure(title, statistics.median(seconds), "s", 2)]
