"""A host of 128 threads in a given Fuseki, its series in a given VictoriaMetrics.

Needs no PCP: facts, plans and values are made up, so that every panel has data.
"""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from core.stores.endpoint import Endpoint
from ingest.load.catalogues import read_catalogues
from ingest.load.publish import TwinStores, publish
from ontology.iris import Iris
from ontology.selectors import escaped, series_name
from sampling.plan_file.monitor import load_monitor, plan_names
from tests.dashboards.synthetic_facts import big_document, topology
from tests.ingest.documents import describe_json

Values = NDArray[np.float64]

# Threads of one cache behave alike; metrics that no panel shows are less frequent.
_THREADS_PER_CACHE = 8
_COARSE_SECONDS = 5
_COARSE = ("kernel.percpu.", "hinv.")
_FINE = "kernel.percpu.cpu.idle"
_KIB_PER_DOMAIN = 64 * 2**20


def big_host(
    fuseki_url: str,
    store_url: str,
    base: str,
    host: str = "big",
    minutes: float = 15,
    ahead: int = 0,
) -> None:
    """Publish the host, and write its series of the last minutes.

    ``ahead`` further seconds after now are written, so that a live page moves.
    """
    document = big_document(host, topology())
    publish_document(fuseki_url, base, document)
    write_series(store_url, document, minutes, ahead)


def publish_document(fuseki_url: str, base: str, document: dict[str, Any]) -> None:
    """Describe a probe document, with the monitor plan, and publish it."""
    iris = Iris(base)
    names = [m["name"] for m in document["facts"].get("pcp", {}).get("metrics", [])]
    with (
        Endpoint(f"{fuseki_url}/twin") as twin,
        Endpoint(f"{fuseki_url}/history") as history,
    ):
        monitored = plan_names(load_monitor(), names)
        known = read_catalogues(twin, iris)
        description = describe_json(document, iris, monitored, known.metrics)
        publish(description, TwinStores(twin, history), iris, confirm=True)


def write_series(
    store_url: str, document: dict[str, Any], minutes: float = 15, ahead: int = 0
) -> None:
    """Write the metrics of a document's monitor plan, one point a second."""
    end = int(time.time()) + ahead
    times = np.arange(end - int(minutes * 60) - ahead, end + 1)
    body = "\n".join(_lines(document, times)).encode()
    for path, content in (("/api/v1/import", body), ("/internal/force_flush", b"")):
        httpx.post(store_url + path, content=content, timeout=120).raise_for_status()


def _lines(document: dict[str, Any], times: NDArray[np.int64]) -> Iterator[str]:
    """VictoriaMetrics' JSON lines, one per series."""
    pcp, host = document["facts"]["pcp"], document["host"]
    written = {m["name"]: m for m in pcp["metrics"]}
    for name in plan_names(load_monitor(), written):
        metric = written[name]
        coarse = name.startswith(_COARSE) and name != _FINE
        at = times[::_COARSE_SECONDS] if coarse else times
        stamps = ",".join(map(str, (at * 1000).tolist()))
        domain = pcp["indoms"].get(metric["indom"], {"instances": [[None, 0]]})
        for place, (instance, _) in enumerate(domain["instances"]):
            labels = f'"__name__":"{series_name(name)}","hostname":"{escaped(host)}"'
            if instance is not None:
                labels += f',"instname":"{escaped(instance)}"'
            values = np.char.mod("%.10g", _values(metric, place, at))
            yield (
                f'{{"metric":{{{labels}}},"values":[{",".join(values)}],'
                f'"timestamps":[{stamps}]}}'
            )


def _values(metric: dict[str, Any], place: int, at: NDArray[np.int64]) -> Values:
    """Plausible values of a metric at these Unix seconds, for one instance's number."""
    name, level = metric["name"], _level(metric["name"])
    seed = sum(name.encode()) + 7 * place
    busy = _busy(name, place, at)
    if metric["semantics"] == "counter":
        step = float(at[1] - at[0]) if len(at) > 1 else 1.0
        share = 1 - busy if name.endswith(".idle") else busy
        start = level * float(at[0] % 86400 + seed)
        counted: Values = np.floor(start + np.cumsum(level * share * step))
        return counted
    drawn: Values = level * (0.6 + 0.4 * busy)
    return np.round(drawn, 2) if level < 1000 else np.floor(drawn)


def _busy(name: str, place: int, at: NDArray[np.int64]) -> Values:
    """A slowly changing share of time, similar for instances that share a cache."""
    percpu = name.startswith(_COARSE)
    core = place % 64 if percpu else place
    group = core // (_THREADS_PER_CACHE // 2) if percpu else place
    seed = sum(name.encode()) % 97 if not name.startswith("kernel.percpu.cpu") else 0
    wave = np.sin(at / (40.0 + 5 * (group % 7)) + group + seed)
    ripple = 0.1 * np.sin(at / 5.0 + core * 1.7 + seed)
    sibling = 0.15 if percpu and place >= 64 else 0.0
    shares: Values = np.clip(0.5 + 0.45 * wave + ripple - sibling, 0.01, 0.99)
    return shares


def _level(name: str) -> float:
    """The maximum growth of a metric in a second, or its maximum value."""
    levels = {
        "kernel.all.cpu.idle": 64_000.0,
        "kernel.all.cpu.user": 48_000.0,
        "kernel.all.cpu.": 4_000.0,
        "kernel.percpu.cpu.idle": 1_000.0,
        "kernel.percpu.cpu.": 250.0,
        "kernel.all.pressure.": 200_000.0,
        "kernel.all.load": 90.0,
        "kernel.all.nprocs": 1_900.0,
        "kernel.all.runnable": 96.0,
        "kernel.all.blocked": 4.0,
        "mem.util.": 8.0 * _KIB_PER_DOMAIN / 4,
        "mem.numa.util.": _KIB_PER_DOMAIN / 2,
        "mem.numa.alloc.hit": 250_000.0,
        "mem.numa.alloc.local_node": 240_000.0,
        "mem.numa.alloc.": 3_000.0,
        "mem.vmstat.pgfault": 400_000.0,
        "mem.vmstat.oom_kill": 0.0,
        "disk.dev.avactive": 800.0,
        "disk.dev.inflight": 12.0,
        "disk.dev.read_bytes": 900_000.0,
        "disk.dev.write_bytes": 500_000.0,
        "network.interface.in.bytes": 1.4e9,
        "network.interface.out.bytes": 9e8,
        "network.interface.in.packets": 1e6,
        "network.interface.out.packets": 8e5,
        "network.interface.": 0.02,
        "lmsensors.": 82.0,
        "denki.rapl.": 270.0,
        "hinv.": 0.05,
    }
    found = [prefix for prefix in levels if name.startswith(prefix)]
    return levels[max(found, key=len)] if found else 5_000.0
