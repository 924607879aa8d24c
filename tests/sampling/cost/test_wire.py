"""Bytes between PMCD and the bridge, counted on a real connection."""

import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from sampling.cost.wire import FetchBytes
from sampling.sources.pcp_source import PcpSource
from tests.servers import Pmcd

# All are 64-bit values, as the formula assumes.
METRICS = ("kernel.percpu.cpu.user", "kernel.percpu.cpu.sys", "kernel.all.pswitch")


class Counting:
    """A relay in front of a socket that counts the bytes it passes."""

    def __init__(self, path: Path, behind: Path) -> None:
        self.address, self.sent, self.given = f"unix://{path}", 0, 0
        self._behind = behind
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):  # the connection is closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._pass_on, args=(client,)).start()

    def _pass_on(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(self._behind))
        back = threading.Thread(target=self._pump, args=(server, client, "given"))
        back.start()
        self._pump(client, server, "sent")
        back.join()
        client.close()
        server.close()

    def _pump(self, source: socket.socket, target: socket.socket, name: str) -> None:
        while data := source.recv(1 << 16):
            setattr(self, name, getattr(self, name) + len(data))
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def counting(path: Path, behind: Path) -> Iterator[Counting]:
    proxy = Counting(path, behind)
    try:
        yield proxy
    finally:
        proxy.close()


@pytest.mark.parametrize("number", [1, 3])
def test_fetch_takes_the_predicted_bytes(
    pmcd: Pmcd, tmp_path: Path, number: int
) -> None:
    metrics = METRICS[:number]
    with counting(tmp_path / "s", pmcd.socket) as proxy:
        source = PcpSource(proxy.address)
        source.select(metrics)
        source.connect()
        # reading the first sample also requests instance names
        assert source.fetch().points
        before = (proxy.sent, proxy.given)
        sample = source.fetch()
        taken = (proxy.sent - before[0], proxy.given - before[1])
        source.close()
    counts = Counter(
        series.metric for column in sample.columns for series in column.series
    )
    assert taken == FetchBytes.of(counts.values())


def test_ssh_adds_bytes_to_each_message() -> None:
    small, large = FetchBytes.of([1]), FetchBytes.of([1000] * 6)
    assert small.secured > 2 * small.bare
    assert large.bare < large.secured < 1.05 * large.bare
