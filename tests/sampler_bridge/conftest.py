"""Fixtures that the bridge tests share."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from core.settings.tools import PROCESS_READER
from sampler_bridge.sending.store import StoreConnection
from sampler_bridge.sending.writer import Writer
from sampler_bridge.sources.processes.source import ProcessSource
from sampling.account.cost import Latency
from tests.pmcds import own_pmcd, pmcd, source
from tests.probed_program import compile_program
from tests.sampler_bridge.heartbeat import Heartbeat
from tests.sampler_bridge.servers import NOWHERE, BridgeProcess
from tests.servers import VictoriaMetrics

__all__ = ["own_pmcd", "pmcd", "source"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VictoriaMetrics]:
    """An empty VictoriaMetrics."""
    with VictoriaMetrics(tmp_path / "store") as server:
        yield server


@pytest.fixture
def heartbeat(tmp_path: Path) -> Iterator[Heartbeat]:
    """A heartbeat that shows at which ticks the machine was held up."""
    with Heartbeat(tmp_path / "heartbeat") as control:
        yield control


@pytest.fixture
def new_bridge(tmp_path: Path) -> Iterator[Callable[..., BridgeProcess]]:
    """Makes bridges that are not started yet; they end with the test."""
    with ExitStack() as stack:

        def make(pmcd: str, store: str, **options: str) -> BridgeProcess:
            bridge = BridgeProcess(tmp_path / "bridge", pmcd, store, **options)
            stack.callback(bridge.clean)
            return bridge

        yield make


@pytest.fixture
def writer() -> Iterator[Writer]:
    """A sender whose store is unreachable."""
    writer = Writer(StoreConnection(NOWHERE), Latency())
    writer.start()
    yield writer
    writer.stop(1.0)


@pytest.fixture
def kernel() -> Iterator[ProcessSource]:
    """Return a source that reads the kernel."""
    source = ProcessSource(PROCESS_READER)
    source.connect()
    yield source
    source.close()


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    """A program that `ProbedProgram` runs."""
    return compile_program(tmp_path / "program")
