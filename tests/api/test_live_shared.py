"""Clients share the limited number of live streams."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from api.dashboards.feeds import MAX_STREAMS
from tests.api.watched import SMALL, Watched, watched
from tests.servers import Fuseki, wait_until


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, hosts: Fuseki) -> Iterator[Watched]:
    with watched(tmp_path_factory.mktemp("shared"), hosts) as found:
        yield found


def test_client_with_all_streams_yields_one_to_another_client(live: Watched) -> None:
    """The other client is another local user; only the kernel can tell them apart."""
    path = f"/dashboards/monitor/live?host={SMALL}&seconds=5"
    url = live.api.url + path
    words = ["setpriv", "--reuid=65534", "--clear-groups"]
    words += ["curl", "--silent", "--no-buffer", "--include", url]
    with ExitStack() as stack:
        mine = [stack.enter_context(_opened(live, path)) for _ in range(MAX_STREAMS)]
        other = subprocess.Popen(words, stdout=subprocess.PIPE)
        stack.callback(other.wait)
        stack.callback(other.kill)
        assert other.stdout
        stack.callback(other.stdout.close)
        assert other.stdout.readline().startswith(b"HTTP/1.1 200")
        wait_until(lambda: any(map(_is_over, mine)), 120, "one that gave up")
        assert httpx.get(url, timeout=120).status_code == 503
        assert other.poll() is None


def _opened(live: Watched, path: str) -> socket.socket:
    """Open a stream that ends with its connection."""
    port = int(live.api.url.rpartition(":")[2])
    one = socket.create_connection(("127.0.0.1", port), timeout=120)
    one.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
    assert one.recv(1).startswith(b"H")
    one.setblocking(False)
    return one


def _is_over(stream: socket.socket) -> bool:
    try:
        return stream.recv(1 << 20) == b""
    except BlockingIOError:
        return False
