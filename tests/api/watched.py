"""A graph with two hosts, a store that the tests fill, and an API that uses them."""

import copy
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx

from ontology.selectors import escaped
from tests.api.servers import Api
from tests.dashboards.synthetic import publish_document
from tests.dashboards.synthetic_facts import big_document, topology
from tests.servers import Fuseki, VictoriaMetrics

BASE = "http://twin.example:8000"
SMALL, LARGE = "small", "large"
HOSTILE = "</script><b onload=x>"
THREADS = 4
LOAD, IDLE = "kernel_all_load", "kernel_percpu_cpu_idle"
LOADS = ("1 minute", "5 minute", "15 minute")
CPUS = tuple(f"cpu{number}" for number in range(THREADS))


@dataclass
class Watched:
    """The servers, with a client of the API."""

    fuseki: Fuseki
    store: VictoriaMetrics
    api: Api
    client: httpx.Client

    def spec(self, name: str = "monitor", **query: str) -> dict[str, Any]:
        """Return a dashboard as JSON."""
        query = {"host": SMALL, **query}
        answer = self.client.get(f"/dashboards/{name}", params=query)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def series(self, panel: str, **query: Any) -> dict[str, Any]:
        """Return the points of a panel of the small host."""
        answer = self.ask(panel=panel, **query)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def ask(self, **query: Any) -> httpx.Response:
        query = {"host": SMALL, **query}
        return self.client.get("/dashboards/monitor/series", params=query)

    def write(self, name: str, instance: str | None, points: dict[float, Any]) -> None:
        """Write points of a series of the small host, by Unix second."""
        write(self.store.url, name, {instance: points})


@contextmanager
def watched(folder: Path, fuseki: Fuseki, **settings: str) -> Iterator[Watched]:
    """Start a store, and an API that uses it."""
    with (
        VictoriaMetrics(folder / "store") as store,
        watching(folder, fuseki, store, **settings) as found,
    ):
        yield found


@contextmanager
def watching(
    folder: Path, fuseki: Fuseki, store: VictoriaMetrics, **settings: str
) -> Iterator[Watched]:
    """Start an API that uses both stores."""
    options = {
        "base": BASE,
        "host": "elsewhere",
        "home": str(folder / "home"),
        "fuseki_url": fuseki.url,
        "store_read_url": store.url,
        **settings,
    }
    with (
        Api(folder / "api", **options) as api,
        httpx.Client(base_url=api.url, timeout=120, trust_env=False) as client,
    ):
        yield Watched(fuseki, store, api, client)


def small_document(disk: str = HOSTILE) -> dict[str, Any]:
    """Describe a host of four threads; the name of one disk contains `</script>`."""
    document = copy.deepcopy(
        big_document(SMALL, topology("pack:1 l3:1 l2:2 l1d:1 core:1 pu:2"))
    )
    facts = document["facts"]
    old = facts["disks"][0]["name"]
    facts["disks"][0]["name"] = disk
    for domain in facts["pcp"]["indoms"].values():
        domain["instances"] = [
            [disk if name == old else name, number]
            for name, number in domain["instances"]
        ]
    return document


_AHEAD = 10  # seconds


def publish(fuseki: Fuseki, document: dict[str, Any]) -> None:
    publish_document(fuseki.url, BASE, document)


def write(
    store: str, name: str, points: dict[str | None, dict[float, Any]], host: str = SMALL
) -> None:
    """Write points by instance and Unix second, and make them visible at once."""
    lines = []
    for instance, values in points.items():
        label = f',instname="{escaped(instance)}"' if instance is not None else ""
        lines += [
            f'{name}{{hostname="{host}"{label}}} {value} {round(at * 1000)}'
            for at, value in values.items()
        ]
    body = "\n".join(lines) + "\n"
    httpx.post(f"{store}/api/v1/import/prometheus", content=body).raise_for_status()
    httpx.get(f"{store}/internal/force_flush").raise_for_status()


@contextmanager
def fed(store: VictoriaMetrics) -> Iterator[None]:
    """Write load and idle time of the small host for each second, some seconds ahead.

    So the points are there even if the machine delays the writer; future points are not
    shown. Points are lost while the store is unreachable.
    """
    done, begun = Event(), Event()

    def feed() -> None:
        second = int(time.time())
        _write_seconds(store.url, range(second - 30, second))
        while not done.is_set():
            if second > time.time() + _AHEAD:
                begun.set()
                done.wait(0.05)
                continue
            try:
                _write_seconds(store.url, range(second, second + 1))
            except httpx.HTTPError:
                done.wait(0.2)
            second += 1

    thread = Thread(target=feed)
    thread.start()
    try:
        assert begun.wait(120)
        yield
    finally:
        done.set()
        thread.join()


def _write_seconds(store: str, seconds: range) -> None:
    for name, instances in ((LOAD, LOADS), (IDLE, CPUS)):
        points: dict[str | None, dict[float, Any]] = {
            instance: {second: value(instance, second) for second in seconds}
            for instance in instances
        }
        write(store, name, points)


def value(instance: str, second: int) -> int:
    """Return a different number per instance and second that grows like a counter."""
    return second % 100_000 * 100 + sum(instance.encode()) % 97


@dataclass(frozen=True)
class Sent:
    """One server-sent event; comments have the name ''."""

    name: str
    data: Any


def events(response: httpx.Response) -> Iterator[Sent]:
    """Return the events of a stream as they arrive."""
    name, data = "", ""
    for line in response.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            data += line.removeprefix("data: ")
        elif line.startswith(":"):
            yield Sent("", line)
        elif not line and name:
            yield Sent(name, json.loads(data))
            name, data = "", ""
