"""Fuseki with a small twin, a store with a few points, and an API that uses them."""

import getpass
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api.access.tokens import TokenRole
from tests.api import graph
from tests.api import watched as watching
from tests.api.added_query import added, send
from tests.api.servers import Api, Closed, own_api
from tests.api.two_hosts import HOST, TwoHosts, two_hosts
from tests.dashboards.synthetic_facts import big_document, topology
from tests.servers import Fuseki, VictoriaMetrics

PAST = Path(__file__).parents[1] / "queries" / "hosts" / "history.trig"


@pytest.fixture(scope="module", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the apps of this process away from the checkout's state."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SUPERTWIN_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def base() -> str:
    """Return the start of instance IRIs, which differs from the API's address."""
    return str(graph.BASE)


@pytest.fixture(scope="session")
def fuseki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with Fuseki(tmp_path_factory.mktemp("fuseki")) as server:
        sent = httpx.post(f"{server.url}/twin/update", data={"update": graph.TWIN})
        assert sent.is_success, sent.text
        yield server.url


@pytest.fixture(scope="session")
def stored_at() -> float:
    """Return the time of the newest points in the store; tests may come much later."""
    return time.time()


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory, stored_at: float) -> Iterator[str]:
    now = int(stored_at * 1000)
    points = (
        'kernel_percpu_cpu_user{hostname="n1",instname="cpu0"} '
        f"18014398509481984 {now - 1000}\n"
        'kernel_percpu_cpu_user{hostname="n1",instname="cpu0"} '
        f"18014398509481986 {now}\n"
        'kernel_percpu_cpu_user{hostname="n1",instname="cpu1"} '
        f"7 {now - 3_600_000}\n"
        f'mem_util_free{{hostname="n1"}} 0.1 {now - 5000}\n'
        f'proc_psinfo_utime{{hostname="n1",instname="1 init"}} 3 {now}\n'
        f'kernel_uname_release{{hostname="n1",value="6.1.0"}} 1 {now - 60_000}\n'
        f'kernel_uname_release{{hostname="n1",value="6.2.0"}} 1 {now}\n'
    )
    with VictoriaMetrics(tmp_path_factory.mktemp("store")) as server:
        url = server.url
        httpx.post(f"{url}/api/v1/import/prometheus", content=points).raise_for_status()
        httpx.get(f"{url}/internal/force_flush").raise_for_status()
        yield url


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the state folder of the API under test."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "bridge").mkdir()
    return folder


@pytest.fixture(scope="session")
def api_url(
    tmp_path_factory: pytest.TempPathFactory,
    fuseki: str,
    store: str,
    home: Path,
    base: str,
) -> Iterator[str]:
    with Api(
        tmp_path_factory.mktemp("api"),
        base=base + "/",
        host="n1",
        home=str(home),
        fuseki_url=fuseki,
        store_read_url=store,
        query_timeout="2",
        query_max_bytes="200000",
        run_as=getpass.getuser(),
    ) as server:
        yield server.url


@pytest.fixture(scope="session")
def api(api_url: str) -> Iterator[httpx.Client]:
    """Return a client of the API that accepts any media type by default."""
    with httpx.Client(base_url=api_url, timeout=120, trust_env=False) as client:
        yield client


@pytest.fixture(scope="session")
def opened(api_url: str, home: Path) -> Iterator[Closed]:
    """Return the API on loopback, which everyone may read, and its state folder."""
    with httpx.Client(timeout=120, trust_env=False) as client:
        yield Closed(api_url, home, client)


@pytest.fixture(scope="session")
def closed(
    tmp_path_factory: pytest.TempPathFactory, fuseki: str, store: str, base: str
) -> Iterator[Closed]:
    """Start an API that only token holders may read, even on loopback."""
    home = tmp_path_factory.mktemp("closed")
    with own_api(home, base, fuseki, store, read_access="token") as found:
        yield found


@pytest.fixture(scope="session")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuseki]:
    """Start a graph store with a host of four threads and one of 128."""
    with Fuseki(tmp_path_factory.mktemp("hosts")) as server:
        watching.publish(server, watching.small_document())
        watching.publish(server, big_document(watching.LARGE, topology()))
        yield server


@pytest.fixture(scope="session")
def watched(
    tmp_path_factory: pytest.TempPathFactory, hosts: Fuseki
) -> Iterator[watching.Watched]:
    """Start an API for these hosts, with a series store that is empty at first."""
    with watching.watched(tmp_path_factory.mktemp("watched"), hosts) as found:
        yield found


@pytest.fixture(scope="session")
def sampled(
    tmp_path_factory: pytest.TempPathFactory, store: str, base: str
) -> Iterator[httpx.Client]:
    """Return a client of an API whose Fuseki reads samples and has a history."""
    home = tmp_path_factory.mktemp("sampled")
    with Fuseki(home / "fuseki", store) as fuseki:
        url = f"{fuseki.url}/twin/update"
        httpx.post(url, data={"update": graph.TWIN}).raise_for_status()
        past = PAST.read_text().replace("http://localhost:8000", base)
        headers = {"Content-Type": "application/trig"}
        url = f"{fuseki.url}/history/data"
        httpx.post(url, content=past, headers=headers).raise_for_status()
        settings = {"home": str(home), "base": base, "host": "n1"}
        stores = {"fuseki_url": fuseki.url, "store_read_url": store}
        with (
            Api(home / "api", **settings, **stores) as server,
            httpx.Client(base_url=server.url, timeout=120, trust_env=False) as client,
        ):
            yield client


@pytest.fixture(scope="session")
def operator(opened: Closed) -> str:
    """Return the token of an operator."""
    return opened.add("author", TokenRole.OPERATOR)


@pytest.fixture
def no_added_queries(opened: Closed, operator: str) -> Iterator[None]:
    """Remove the queries that a test added."""
    yield
    for name in added(opened):
        assert send(opened, "DELETE", operator, f"/queries/{name}").is_success


@pytest.fixture
def span(stored_at: float) -> dict[str, str]:
    """Return a range of two hours that ends with the newest samples."""
    end = int(stored_at * 1000) / 1000
    return {"from": f"{end - 7200:.3f}", "to": f"{end:.3f}"}


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoHosts]:
    """Start an API for two hosts, for tokens that are limited to one of them."""
    with two_hosts(tmp_path_factory.mktemp("two")) as found:
        yield found


@pytest.fixture(scope="session")
def everything(two: TwoHosts) -> str:
    """Return a token without a scope."""
    return two.token()


@pytest.fixture(scope="session")
def limited(two: TwoHosts) -> str:
    """Return a token that is limited to the first host."""
    return two.token(hosts=[HOST])
