"""An external store: under a path, with an account, or as a cluster."""

import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from sampler_bridge.errors import StoreDownError
from sampler_bridge.sending.store import StoreConnection, StoreRun
from tests.api.servers import Api
from tests.ports import LOOPBACK
from tests.sampler_bridge.servers import BridgeProcess, closes
from tests.sampler_bridge.wire import request
from tests.servers import Fuseki, Pmcd, VictoriaMetrics, wait_until

METRIC = "kernel.all.pswitch"
ACCOUNT = ("ada", "pass:word")
INSERT, SELECT = "/insert/7/prometheus", "/select/7/prometheus"


class Prefixed(VictoriaMetrics):
    """A store under a path."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "-http.pathPrefix=/deep/store")
        self.url += "/deep/store"


_KEPT = ("Content-Type", "Content-Encoding")


class Cluster(BaseHTTPRequestHandler):
    """Serves only the paths of vminsert and vmselect under a tenant."""

    protocol_version = "HTTP/1.1"
    store = ""
    account: tuple[str, str] | None = None

    def do_GET(self) -> None:
        self._pass_on()

    def do_POST(self) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self._path_within()
        if not self._let_in():
            self._reply(401, b"no account")
        elif path is None:
            self._reply(400, b"unsupported path requested")
        else:
            kept = {name: self.headers[name] for name in _KEPT if name in self.headers}
            answer = httpx.request(
                self.command, self.store + path, content=body, headers=kept
            )
            self._reply(answer.status_code, answer.content)

    def _let_in(self) -> bool:
        sent = self.headers.get("Authorization", "").removeprefix("Basic ")
        return self.account is None or b64decode(sent).decode() == ":".join(
            self.account
        )

    def _path_within(self) -> str | None:
        if self.path == f"{INSERT}/api/v1/write":
            return self.path.removeprefix(INSERT)
        if self.path.startswith(f"{SELECT}/api/v1/query"):
            return self.path.removeprefix(SELECT)
        return None

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def cluster(store: str, account: tuple[str, str] | None = None) -> Iterator[str]:
    handler = type("Tenant", (Cluster,), {"store": store, "account": account})
    with ThreadingHTTPServer((LOOPBACK, 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://{LOOPBACK}:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def pmcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pmcd]:
    with Pmcd(tmp_path_factory.mktemp("pmcd")) as server:
        yield server


@pytest.fixture(scope="module")
def graph(emptied_fuseki: Fuseki) -> str:
    return emptied_fuseki.url


@pytest.fixture
def sampled(tmp_path: Path, pmcd: Pmcd) -> Iterator[Callable[[str], BridgeProcess]]:
    bridges = []

    def start(write_url: str) -> BridgeProcess:
        bridge = BridgeProcess(tmp_path / "bridge", pmcd.address, write_url)
        bridges.append(bridge)
        bridge.sample([METRIC], 1.0)
        bridge.wait_for(lambda status: status["written"] > 1 and closes(status))
        return bridge

    yield start
    for bridge in bridges:
        bridge.clean()


def store_of(api: Api) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{api.url}/health").json()["services"]["store"]
    return found


def has_series(store: VictoriaMetrics) -> bool:
    """Whether sampled series have arrived; a cluster shows them after a delay."""
    return "kernel_all_pswitch" in store.label_values("__name__")


def test_store_below_a_path_is_used(
    tmp_path: Path, graph: str, sampled: Callable[[str], BridgeProcess]
) -> None:
    with (
        Prefixed(tmp_path / "store") as store,
        Api(tmp_path / "api", fuseki_url=graph, store_read_url=store.url) as api,
    ):
        sampled(store.url)
        wait_until(lambda: has_series(store))
        assert store_of(api)["ok"]


def test_cluster_is_written_and_read_at_different_urls(
    tmp_path: Path, graph: str, sampled: Callable[[str], BridgeProcess]
) -> None:
    with (
        VictoriaMetrics(tmp_path / "store") as store,
        cluster(store.url, ACCOUNT) as front,
    ):
        with_account = front.replace("//", f"//{':'.join(ACCOUNT)}@")
        with Api(
            tmp_path / "api",
            fuseki_url=graph,
            store_read_url=f"{front}{SELECT}",
            store_write_url=f"{front}{INSERT}",
            store_user=ACCOUNT[0],
            store_password=ACCOUNT[1],
        ) as api:
            sampled(f"{with_account}{INSERT}")
            assert store_of(api)["ok"]
        wait_until(lambda: has_series(store))


def test_refused_account_is_reported(tmp_path: Path, graph: str) -> None:
    with (
        VictoriaMetrics(tmp_path / "store") as store,
        cluster(store.url, ACCOUNT) as front,
        Api(
            tmp_path / "api", fuseki_url=graph, store_read_url=f"{front}{SELECT}"
        ) as api,
    ):
        reason = store_of(api)["reason"]
        assert "refuses the account (401)" in reason
        assert "SUPERTWIN_STORE_PASSWORD" in reason
        client = StoreConnection(f"{front}{INSERT}", ("ada", "wrong"))
        for call in (client.run, lambda: client.write(request("a", 1, 0))):
            with pytest.raises(
                StoreDownError, match=r"account \(401\).*STORE_PASSWORD"
            ):
                call()
        client.close()


def test_path_without_a_store_is_reported(tmp_path: Path) -> None:
    with (
        VictoriaMetrics(tmp_path / "store") as store,
        cluster(store.url) as front,
    ):
        for path in ("", SELECT, "/insert/7"):
            client = StoreConnection(f"{front}{path}")
            with pytest.raises(StoreDownError, match="HTTP 400"):
                client.run()
            client.close()


def test_cluster_does_not_report_its_start(tmp_path: Path) -> None:
    with (
        VictoriaMetrics(tmp_path / "store") as store,
        cluster(store.url) as front,
    ):
        client = StoreConnection(f"{front}{INSERT}")
        assert client.run() == StoreRun(None, None)
        client.show()
        assert client.write(request("after", 1, int(time.time() * 1000))) is None
        client.close()
        wait_until(lambda: "after" in store.label_values("__name__"))
