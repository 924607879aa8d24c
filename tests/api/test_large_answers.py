"""A large answer is complete, and does not pass through the memory of the API."""

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.servers import Api
from tests.servers import Fuseki, wait_until

MIB = 1024 * 1024
# The API holds parts of an answer, up to the spool's 4 MiB, and what compresses them.
MAY_GROW = 32 * MIB
NUMBERS = " ".join(map(str, range(1000)))
TEXT = "x" * 80
LARGE = f"""SELECT ?a ?b ?text {{
    VALUES ?a {{ {NUMBERS} }} VALUES ?b {{ {NUMBERS} }} BIND ("{TEXT}" AS ?text)
}}"""


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, fuseki: str, base: str
) -> Iterator[Api]:
    home = tmp_path_factory.mktemp("large")
    settings = {"home": str(home), "base": base, "fuseki_url": fuseki}
    with Api(home / "api", **settings, query_max_bytes=str(256 * MIB)) as found:
        yield found


def peak(server: Api) -> int:
    """Return the largest memory that the process has had so far, in bytes."""
    text = Path(f"/proc/{server.pid}/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) * 1024


def read(server: Api, query: str, **headers: str) -> tuple[int, int, str]:
    """Return the length, the number of lines and the digest of an answer as CSV."""
    size, lines, digest = 0, 0, hashlib.sha256()
    sent = {"Accept": "text/csv", "Accept-Encoding": "identity"} | headers
    with (
        httpx.Client(timeout=600, trust_env=False) as client,
        client.stream(
            "POST", f"{server.url}/sparql", data={"query": query}, headers=sent
        ) as answer,
    ):
        assert answer.status_code == 200, answer.read()
        for part in answer.iter_bytes():
            size, lines = size + len(part), lines + part.count(b"\n")
            digest.update(part)
    return size, lines, digest.hexdigest()


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_large_answer_takes_little_memory(server: Api, encoding: str) -> None:
    read(server, "SELECT * { ?s ?p ?o }", **{"Accept-Encoding": encoding})
    before = peak(server)
    size, lines, _ = read(server, LARGE, **{"Accept-Encoding": encoding})
    assert size > 80 * MIB and lines == 1_000_001
    assert peak(server) - before < MAY_GROW


def test_concurrent_large_answers_are_all_complete(server: Api) -> None:
    smaller = LARGE.replace(NUMBERS, " ".join(map(str, range(400))))
    found: list[tuple[int, int, str]] = []
    threads = [
        threading.Thread(target=lambda: found.append(read(server, smaller)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3 and len({size for size, _, _ in found}) == 1
    assert found[0][1] == 160_001


def test_length_is_announced(server: Api) -> None:
    params = {"query": LARGE.replace(NUMBERS, " ".join(map(str, range(300))))}
    headers = {"Accept": "text/csv", "Accept-Encoding": "identity"}
    url = f"{server.url}/sparql"
    answer = httpx.get(url, params=params, headers=headers, timeout=600)
    assert int(answer.headers["content-length"]) == len(answer.content) > 4 * MIB
    head = httpx.head(url, params=params, headers=headers, timeout=600)
    assert head.headers["content-length"] == answer.headers["content-length"]


def test_store_that_dies_in_the_middle_is_an_error(
    tmp_path_factory: pytest.TempPathFactory, base: str
) -> None:
    home = tmp_path_factory.mktemp("dying")
    with Fuseki(home / "fuseki") as store:
        settings = {"home": str(home), "base": base, "fuseki_url": store.url}
        with Api(home / "api", **settings, query_max_bytes=str(256 * MIB)) as server:
            found: list[httpx.Response] = []
            asking = threading.Thread(
                target=lambda: found.append(
                    httpx.post(
                        f"{server.url}/sparql", data={"query": LARGE}, timeout=600
                    )
                )
            )
            asking.start()
            _wait_for_spool(server)
            store.clean()
            asking.join()
            assert found[0].status_code in (502, 503)
            assert found[0].headers["content-type"] == "application/problem+json"


def _wait_for_spool(server: Api) -> None:
    """Wait until a part of an answer is in a file."""

    def spools() -> bool:
        for path in Path(f"/proc/{server.pid}/fd").iterdir():
            try:
                if path.is_symlink() and "(deleted)" in str(path.readlink()):
                    return True
            except OSError:  # closed in the meantime
                continue
        return False

    wait_until(spools, what="a spool")
