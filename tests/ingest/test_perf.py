from pathlib import Path

import pytest

from ingest.errors import SourceMissingError
from ingest.sources.perf import read_event_sources
from tests.ingest.tree import copied


def test_this_machine_counts_software_events() -> None:
    assert "software" in read_event_sources()


def test_a_kernel_without_perf_event(tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match="without perf_event"):
        read_event_sources(copied(tmp_path))
