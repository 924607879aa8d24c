"""Fixtures: PMCDs, and a source that fetches from one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sampling.sources.pcp_source import PcpSource
from tests.servers import Pmcd


@pytest.fixture(scope="session")
def pmcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pmcd]:
    """Start a PMCD for all tests that leave it running."""
    with Pmcd(tmp_path_factory.mktemp("pmcd"), sample=True) as server:
        yield server


@pytest.fixture
def own_pmcd(tmp_path: Path) -> Iterator[Pmcd]:
    """Start a PMCD that a test may kill."""
    with Pmcd(tmp_path / "own", sample=True) as server:
        yield server
    for log in (server.folder / "log").glob("*.log"):
        # pytest shows this if the test fails.
        print(f"{log.name}: {log.read_text(errors='replace')}")


@pytest.fixture
def source(pmcd: Pmcd) -> Iterator[PcpSource]:
    """Return a source that fetches from the shared PMCD."""
    source = PcpSource(pmcd.address)
    source.connect()
    yield source
    source.close()
