"""The addresses where Fuseki listens, and its memory per answer."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from core.settings import tools
from supertwin.stack.children import fuseki_main
from tests.servers import Fuseki, answers

_ANSWERS, _BUFFER_KIB = 100, 5 * 1024
_EVERYWHERE = "00000000000000000000000000000000"


class OpenFuseki(Fuseki):
    """A Fuseki that listens on all addresses, as in a container."""

    def start(self) -> None:
        config = self.folder / "config.ttl"
        java = tools.java()
        self.launch(
            [
                *(java, "-Xmx1g"),
                *fuseki_main(java, self.port, everywhere=True),
                *("--ping", "--config", config),
            ]
        )
        self.ready(lambda: answers(f"{self.url}/$/ping"))


@pytest.fixture(scope="module")
def open_fuseki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuseki]:
    with OpenFuseki(tmp_path_factory.mktemp("open")) as server:
        yield server


def test_answers_share_a_buffer(open_fuseki: Fuseki) -> None:
    def ask() -> None:
        httpx.get(f"{open_fuseki.url}/$/ping").raise_for_status()

    ask()
    before = resident_kib(open_fuseki.pid)
    for _ in range(_ANSWERS):
        ask()
    assert resident_kib(open_fuseki.pid) - before < _ANSWERS * _BUFFER_KIB / 4


def test_fuseki_listens_everywhere_only_on_request(
    open_fuseki: Fuseki, fuseki: Fuseki
) -> None:
    assert listens_at(open_fuseki.port) == {_EVERYWHERE}
    assert _EVERYWHERE not in listens_at(fuseki.port)


def resident_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    assert found
    return int(found[1])


def listens_at(port: int) -> set[str]:
    """Return the addresses, as the kernel writes them, that listen on a port."""
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    found = {tuple(row[1].split(":")) for row in rows if row[3] == "0A"}
    return {address for address, at in found if int(at, 16) == port}
