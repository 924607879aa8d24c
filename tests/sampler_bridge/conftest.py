"""Servers that the tests share."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sampler_bridge.account.cost import Latency
from sampler_bridge.sending.store import Store
from sampler_bridge.sending.writer import Writer
from sampler_bridge.sources.pcp_source import PcpSource
from tests.sampler_bridge.heartbeat import Heartbeat
from tests.sampler_bridge.servers import NOWHERE, BridgeProcess
from tests.servers import Pmcd, VictoriaMetrics


@pytest.fixture(scope="session")
def pmcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pmcd]:
    """A PMCD for all tests that leave it running."""
    with Pmcd(tmp_path_factory.mktemp("pmcd"), sample=True) as server:
        yield server


@pytest.fixture
def own_pmcd(tmp_path: Path) -> Iterator[Pmcd]:
    """A PMCD that a test may kill."""
    with Pmcd(tmp_path / "own", sample=True) as server:
        yield server
    for log in (server.folder / "log").glob("*.log"):
        # Shown where the test fails.
        print(f"{log.name}: {log.read_text(errors='replace')}")


@pytest.fixture
def source(pmcd: Pmcd) -> Iterator[PcpSource]:
    """The PMCD of all, fetched from."""
    source = PcpSource(pmcd.address)
    source.connect()
    yield source
    source.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VictoriaMetrics]:
    """An empty VictoriaMetrics."""
    with VictoriaMetrics(tmp_path / "store") as server:
        yield server


@pytest.fixture
def heartbeat(tmp_path: Path) -> Iterator[Heartbeat]:
    """Tells at which ticks the machine was held up."""
    with Heartbeat(tmp_path / "heartbeat") as control:
        yield control


@pytest.fixture
def new_bridge(tmp_path: Path) -> Iterator[Callable[..., BridgeProcess]]:
    """Makes bridges, not yet started, that end with the test."""
    with ExitStack() as stack:

        def make(pmcd: str, store: str, **options: str) -> BridgeProcess:
            bridge = BridgeProcess(tmp_path / "bridge", pmcd, store, **options)
            stack.callback(bridge.clean)
            return bridge

        yield make


@pytest.fixture
def writer() -> Iterator[Writer]:
    """A sender whose store is away."""
    writer = Writer(Store(NOWHERE), Latency())
    writer.start()
    yield writer
    writer.stop(1.0)
