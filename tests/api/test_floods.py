"""Clients that send half a request, or too many, do not keep others out."""

import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import anyio
import httpx
import pytest
from anyio import (
    create_task_group,
    fail_after,
    to_thread,
    wait_all_tasks_blocked,
)

from api import in_flight
from api.http_protocol import MOST_CONNECTIONS
from api.threads import computed, of_health
from tests.api.servers import Api
from tests.ports import LOOPBACK
from tests.servers import ROOT, answers, wait_until

FEW_FILES = 1024
LOG_BYTES = 16 * 1024


class FewFiles(Api):
    """An API that starts with the limit on open files that most systems have."""

    most = FEW_FILES

    def start(self) -> None:
        limit = f"--nofile={FEW_FILES}:{self.most}"
        command = ["prlimit", limit, ROOT / ".venv/bin/python", "-m", "api"]
        self.launch(command, cwd=ROOT, **self.env)
        self.ready(lambda: answers(f"{self.url}/context.jsonld"), 60.0)

    def log_bytes(self) -> int:
        return (self.folder / "output").stat().st_size

    def files(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))


@contextmanager
def deaf() -> Iterator[str]:
    """Run a store that accepts connections and never answers."""
    with socket.socket() as listening:
        listening.bind((LOOPBACK, 0))
        listening.listen(1000)
        yield f"http://{LOOPBACK}:{listening.getsockname()[1]}"


@pytest.fixture(scope="module")
def flooded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FewFiles]:
    folder = tmp_path_factory.mktemp("flooded")
    with (
        deaf() as store,
        FewFiles(
            folder / "api", home=str(folder), fuseki_url=store, store_read_url=store
        ) as api,
    ):
        yield api


def connected(stack: ExitStack, url: str, sent: bytes) -> socket.socket:
    """Open a connection and send some bytes."""
    port = int(url.rpartition(":")[2])
    one = stack.enter_context(socket.create_connection((LOOPBACK, port), timeout=120))
    one.sendall(sent)
    return one


def is_ended(one: socket.socket) -> bool:
    """Read a connection to its end."""
    try:
        while one.recv(65536):
            pass
    except ConnectionError:
        pass
    return True


def test_half_sent_requests_block_no_other_client(flooded: FewFiles) -> None:
    with ExitStack() as stack:
        half = [connected(stack, flooded.url, b"G") for _ in range(1500)]
        for _ in range(20):
            assert httpx.get(f"{flooded.url}/context.jsonld").status_code == 200
        assert flooded.files() < FEW_FILES
        assert flooded.log_bytes() < LOG_BYTES
        assert all(is_ended(one) for one in half)
    assert flooded.ended() is None


_NEVER_ENDING = {
    "headers": b"GET / HTTP/1.1\r\nHost: localhost\r\n",
    "body": b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
    b"Content-Type: application/sparql-query\r\n\r\nASK",
    "chunks": b"POST /sparql HTTP/1.1\r\nHost: localhost\r\n"
    b"Transfer-Encoding: chunked\r\n"
    b"Content-Type: application/sparql-query\r\n\r\n3\r\nASK\r\n",
}


def test_endless_requests_are_closed(flooded: FewFiles) -> None:
    """One client sends a byte now and then. All run at once: each takes long."""
    with ExitStack() as stack:
        held = {
            name: connected(stack, flooded.url, sent)
            for name, sent in _NEVER_ENDING.items()
        }
        waiting, deadline = {*held.values()}, time.monotonic() + 240
        while waiting:
            assert time.monotonic() < deadline, "one is waited for still"
            waiting -= {*select.select([*waiting], [], [], 1)[0]}
            if held["body"] in waiting:
                held["body"].sendall(b"x")
        for name, one in held.items():
            assert one.recv(4096).startswith(b"HTTP/1.1 408 "), name
    assert flooded.log_bytes() < LOG_BYTES


@pytest.mark.parametrize("length", [2**24 + 1, 10**15, 10**40])
@pytest.mark.parametrize("head", [b"POST /sparql", b"GET /queries", b"POST /plans"])
def test_too_long_body_is_refused_before_it_is_read(
    flooded: FewFiles, head: bytes, length: int
) -> None:
    lines = b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % length
    with ExitStack() as stack:
        one = connected(stack, flooded.url, head + lines)
        answer = b""
        while piece := one.recv(4096):
            answer += piece
        # The parser rejects a length of more than 64 bits as invalid.
        status = b"413" if length < 2**63 else b"400"
        assert answer.startswith(b"HTTP/1.1 " + status)


def test_invalid_requests_do_not_fill_the_log(flooded: FewFiles) -> None:
    for _ in range(2000):
        with ExitStack() as stack:
            assert is_ended(connected(stack, flooded.url, b"\0\0\r\n\r\n"))
    assert flooded.log_bytes() < LOG_BYTES
    assert flooded.output().count("Invalid HTTP request") <= 10


def test_pages_are_served_while_programs_use_all_connections(flooded: FewFiles) -> None:
    asks = b"GET /sparql?query=ASK%7B%7D HTTP/1.1\r\nHost: localhost\r\n\r\n"
    own = {"Sec-Fetch-Site": "same-origin"}
    with ExitStack() as stack:
        held = [connected(stack, flooded.url, asks) for _ in range(in_flight.MOST)]

        def refused() -> bool:
            found = httpx.get(f"{flooded.url}/queries", timeout=120)
            return found.status_code == 503 and "at once" in found.json()["title"]

        wait_until(refused, 60, "a refusal")
        for path in ("/queries", "/static/theme.css"):
            page = httpx.get(flooded.url + path, headers=own, timeout=120)
            assert page.status_code == 200, path
        assert len(held) < MOST_CONNECTIONS
    served = lambda: httpx.get(f"{flooded.url}/queries").status_code == 200  # noqa: E731
    wait_until(served, 60, "room again")


def test_health_is_answered_next_to_the_most_requests(flooded: FewFiles) -> None:
    """The supervisor ends an API whose health request is not answered."""
    asks = b"GET /sparql?query=ASK%7B%7D HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with ExitStack() as stack:
        held = [connected(stack, flooded.url, asks) for _ in range(in_flight.MOST)]
        found = httpx.get(f"{flooded.url}/health", timeout=240).json()
        assert found["services"]["fuseki"]["reason"].startswith("no answer in")
        answered, _, _ = select.select(held, [], [], 0)
        assert len(answered) < len(held)


def test_health_waits_for_no_other_threads() -> None:
    release = threading.Event()

    async def measured() -> bool:
        async with create_task_group() as others:
            for _ in range(50):
                others.start_soon(computed, release.wait)
                others.start_soon(to_thread.run_sync, release.wait)
            await wait_all_tasks_blocked()
            try:
                with fail_after(60):
                    return await of_health(release.is_set)
            finally:
                release.set()

    assert anyio.run(measured) is False


def test_file_descriptor_limit_is_raised(tmp_path: Path) -> None:
    api = FewFiles(tmp_path / "api", home=str(tmp_path))
    api.most = 4 * FEW_FILES
    with api:
        assert _limits(api) == (api.most, api.most)


def _limits(api: Api) -> tuple[int, int]:
    text = Path(f"/proc/{api.pid}/limits").read_text()
    line = next(line for line in text.splitlines() if "open files" in line)
    soft, hard = line.split()[3:5]
    return int(soft), int(hard)
