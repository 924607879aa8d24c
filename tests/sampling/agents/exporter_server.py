"""A real exporter on loopback that misbehaves as its path says."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TEXT = '# TYPE heat gauge\nheat{room="hall"} 19\nheat{room="attic"} 30\n'
_GIB = 1 << 30


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        with suppress(OSError):
            getattr(self, f"_{self.path.strip('/')}")()

    def _good(self) -> None:
        self._answer(TEXT.encode())

    def _hang(self) -> None:
        self.server.ending.wait(60)  # type: ignore[attr-defined]

    def _drip(self) -> None:
        self.send_response(200)
        self.end_headers()
        while not self.server.ending.wait(0.1):  # type: ignore[attr-defined]
            self.wfile.write(b"a")
            self.wfile.flush()

    def _huge(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(_GIB))
        self.end_headers()
        for _ in range(_GIB // (1 << 16)):
            self.wfile.write(b"x 1\n" * (1 << 14))

    def _short(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(TEXT.encode())

    def _moved(self) -> None:
        self.send_response(302)
        self.send_header("Location", "/good")
        self.end_headers()

    def _encoded(self) -> None:
        self.send_response(200)
        self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(gzip.compress(TEXT.encode()))

    def _raw(self) -> None:
        self.wfile.write(b"\x1b[31mno\x07 HTTP\r\n\r\n")

    def _wrong(self) -> None:
        self._answer(b'# TYPE a speed\na 1\nb one\nc{x="1"} 1\nc{x="1"} 2\n')

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


class _Quiet(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        self.ending = threading.Event()

    def handle_error(self, *_: object) -> None:
        """A reader that has seen enough closes the connection."""


@contextmanager
def exporter() -> Iterator[str]:
    """Serve on a free port; yields the URL of the pages."""
    server = _Quiet()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.ending.set()
        server.shutdown()
        thread.join()
        server.server_close()
