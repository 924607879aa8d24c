from pathlib import Path

import pytest

from ingest.errors import SourceMissingError
from ingest.perf import is_usable, read_event_sources
from tests.ingest.tree import copied


def test_this_machine_counts_software_events() -> None:
    assert "software" in read_event_sources()


def test_a_kernel_without_perf_event(tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match="without perf_event"):
        read_event_sources(copied(tmp_path))


@pytest.mark.parametrize(
    ("kind", "sources", "usable"),
    [
        ("core", ["cpu", "software"], True),
        ("core", ["cpu_atom", "cpu_core", "software"], True),
        ("core", ["armv8_pmuv3_0"], True),
        ("core", ["breakpoint", "software"], False),
        ("uncore", ["cpu", "uncore_imc_0"], True),
        ("uncore", ["cpu", "software"], False),
        ("os", ["software"], True),
        ("unknown", ["cpu"], None),
        ("core", None, None),
    ],
)
def test_what_the_kernel_offers(
    kind: str, sources: list[str] | None, usable: bool | None
) -> None:
    assert is_usable(kind, sources) is usable
