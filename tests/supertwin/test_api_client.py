"""The command line's client of the API, against a server with scripted answers."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest

from api.access.local_api import LocalApi, local_api_file
from core.errors import PROBLEM_TYPES, NotRunningError
from supertwin.cli import api_client
from supertwin.cli.api_client import ApiAnswerError, ApiClient, ApiUnavailableError


def answer(status: str, body: bytes, *more: str) -> bytes:
    head = (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *more, "", "")
    return "\r\n".join(head).encode() + body


def chunked(*pieces: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (*pieces, b"")]
    return head + b"".join(chunks)


class Scripted:
    """Answers each request with the next text, perhaps in pieces or with a delay."""

    def __init__(self, *texts: bytes, step: int = 1 << 16, seconds: float = 0) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self._texts, self._step, self._seconds = iter(texts), step, seconds
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.connections += 1
                with connection, suppress(OSError):
                    self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        while request := _request(connection):
            self.requests.append(request)
            text = next(self._texts)
            time.sleep(self._seconds)
            for at in range(0, len(text), self._step):
                connection.sendall(text[at : at + self._step])
            if not text.endswith(b"}") or b"Connection: close" in text:
                return


def _request(connection: socket.socket) -> bytes:
    text = b""
    while not text.partition(b"\r\n\r\n")[1]:
        if not (piece := connection.recv(1 << 16)):
            return b""
        text += piece
    head, _, body = text.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(1 << 16)
    return head + b"\r\n\r\n" + body


def listens(home: Path, local: LocalApi) -> None:
    path = local_api_file(home)
    path.parent.mkdir(exist_ok=True)
    path.write_text(local.text())


@contextmanager
def asking(home: Path, server: Scripted) -> Iterator[ApiClient]:
    listens(home, LocalApi(server.url, "local_key"))
    with closing(server), closing(ApiClient(home)) as client:
        yield client


def test_request_names_its_user_and_command(tmp_path: Path) -> None:
    server = Scripted(answer("200 OK", b'{"a": 1}'))
    with asking(tmp_path, server) as client:
        assert client.ask("POST", "/observations?first=0", b'{"x": "\xc3\xa9"}') == {
            "a": 1
        }
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    first, *fields = head.decode().split("\r\n")
    assert first == "POST /observations?first=0 HTTP/1.1"
    assert {
        f"Host: {server.url.removeprefix('http://')}",
        "Authorization: Bearer local_key",
        "Content-Type: application/json",
        "Content-Length: 11",
    } <= set(fields)
    assert body == b'{"x": "\xc3\xa9"}'


def test_answer_may_arrive_byte_by_byte_on_a_kept_connection(
    tmp_path: Path,
) -> None:
    texts = (answer("200 OK", b'{"a": 1}'), answer("202 Accepted", b'{"b": 2}'))
    server = Scripted(*texts, step=1)
    with asking(tmp_path, server) as client:
        assert client.ask("GET", "/a") == {"a": 1}
        assert client.ask("DELETE", "/b") == {"b": 2}
    assert server.connections == 1


def test_connection_closed_by_the_api_is_reopened(tmp_path: Path) -> None:
    last = answer("200 OK", b'{"a": 1}', "Connection: close")
    server = Scripted(last, answer("200 OK", b'{"b": 2}'))
    with asking(tmp_path, server) as client:
        assert client.ask("GET", "/a") == {"a": 1}
        assert client.ask("GET", "/b") == {"b": 2}
    assert server.connections == 2


@pytest.mark.parametrize("step", [1, 1 << 16])
def test_events_are_complete_for_any_packet_boundaries(
    tmp_path: Path, step: int
) -> None:
    pieces = (b": nothing new\n\nid: 1\nda", b'ta: {"event": "st', b'arted"}\n\n')
    last = b'data: {"event": "closed"}\n\n'
    with asking(tmp_path, Scripted(chunked(*pieces, last), step=step)) as client:
        events = list(client.events("/observations/1/events"))
    assert events == [{"event": "started"}, {"event": "closed"}]


def test_interrupted_event_stream_is_an_error(tmp_path: Path) -> None:
    whole = chunked(b'data: {"event": "started"}\n\n', b"data: {}\n\n")
    with asking(tmp_path, Scripted(whole[:-12])) as client:
        events = client.events("/events")
        assert next(events) == {"event": "started"}
        with pytest.raises(ApiUnavailableError, match="does not answer"):
            list(events)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        answer("200 OK", b'{"a": 1}')[:-3],
        b"HTTP/1.1 OK\r\n\r\n",
    ],
)
def test_invalid_answer_is_named(tmp_path: Path, text: bytes) -> None:
    server = Scripted(text)
    with (
        asking(tmp_path, server) as client,
        pytest.raises(ApiUnavailableError, match="make status") as error,
    ):
        client.ask("GET", "/health")
    assert server.url in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        ("404 Not Found", b'{"detail": "no host"}', ApiAnswerError, "no host"),
        ("503 Away", b'{"detail": "no store"}', ApiUnavailableError, "no store"),
        ("502 Bad", b'["{}"]{}', ApiUnavailableError, "answered with 502"),
    ],
)
def test_refusal_is_passed_on(
    tmp_path: Path, status: str, body: bytes, kind: type[Exception], message: str
) -> None:
    for ask in ("ask", "events"):
        with (
            asking(tmp_path, Scripted(answer(status, body))) as client,
            pytest.raises(kind, match=message),
        ):
            list(client.ask("GET", "/x") if ask == "ask" else client.events("/x"))


@pytest.mark.parametrize(
    ("type_", "code"),
    [
        (f"{PROBLEM_TYPES}unknown-host", "unknown-host"),
        ("about:blank", "api-refused"),
        ("https://other.example/problem/gone", "api-refused"),
        ("", "api-refused"),
    ],
)
def test_code_is_that_of_a_problem_of_supertwin(
    tmp_path: Path, type_: str, code: str
) -> None:
    body = json.dumps({"type": type_, "detail": "none here"}).encode()
    with (
        asking(tmp_path, Scripted(answer("404 Not Found", body))) as client,
        pytest.raises(ApiAnswerError) as refused,
    ):
        client.ask("GET", "/x")
    assert refused.value.code == code


def test_restarted_api_is_called_with_its_new_key(tmp_path: Path) -> None:
    refusal = answer("401 Unauthorized", b'{"detail": "another key"}')
    old, new = Scripted(refusal), Scripted(answer("200 OK", b'{"a": 1}'))
    with closing(new), asking(tmp_path, old) as client:
        listens(tmp_path, LocalApi(new.url, "local_other"))
        assert client.ask("GET", "/a") == {"a": 1}
    assert b"Bearer local_other" in new.requests[0]


def test_unknown_key_is_refused_once(tmp_path: Path) -> None:
    server = Scripted(answer("401 Unauthorized", b'{"detail": "no such key"}'))
    with (
        asking(tmp_path, server) as client,
        pytest.raises(ApiAnswerError, match="no such key"),
    ):
        client.ask("GET", "/a")
    assert len(server.requests) == 1


def test_missing_api_names_the_fix(tmp_path: Path) -> None:
    with pytest.raises(NotRunningError, match="`make up` starts one"):
        ApiClient(tmp_path)
    listens(tmp_path, LocalApi("http://127.0.0.1:9", "local_key"))
    with (
        closing(ApiClient(tmp_path)) as client,
        pytest.raises(ApiUnavailableError, match="9 do"),
    ):
        client.ask("GET", "/")


def test_queued_client_gets_a_late_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_client, "_SECONDS", 0.2)
    texts = [answer("200 OK", b'{"a": 1}')] * 2
    with asking(tmp_path, Scripted(*texts, seconds=0.5)) as client:
        assert client.ask("POST", "/observations", b"{}", queues=True) == {"a": 1}
        with pytest.raises(ApiUnavailableError, match="timed out"):
            client.ask("POST", "/observations", b"{}")


def test_queued_client_learns_that_the_api_died(tmp_path: Path) -> None:
    with (
        asking(tmp_path, Scripted(b"", seconds=0.2)) as client,
        pytest.raises(ApiUnavailableError, match="without response"),
    ):
        client.ask("POST", "/observations", b"{}", queues=True)
