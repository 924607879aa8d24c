"""A TCP port that leads to another, as long as nobody cuts the way."""

import select
import socket
from threading import Event, Thread
from types import TracebackType
from typing import Self

from tests.servers import LOOPBACK

_STEP = 0.05


class Cable:
    """What connects to ``address`` reaches a port; cut, it gets no answer and no error.

    That is what a host does that is switched off, and a network that drops what it is
    given: neither side is told.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._whole, self._ended = Event(), Event()
        self._whole.set()
        self._listener = socket.create_server((LOOPBACK, 0))
        self.address = f"{LOOPBACK}:{self._listener.getsockname()[1]}"
        self._threads = [Thread(target=self._accept, daemon=True)]

    def cut(self) -> None:
        """Let nothing through from now on."""
        self._whole.clear()

    def mend(self) -> None:
        """Let new connections through; what was sent meanwhile is lost."""
        self._whole.set()

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(5)
        self._listener.close()

    def _accept(self) -> None:
        while not self._ended.is_set():
            if select.select([self._listener], [], [], _STEP)[0]:
                near, _ = self._listener.accept()
                thread = Thread(target=self._carry, args=(near,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _carry(self, near: socket.socket) -> None:
        """Carry both ways; what came while it was cut is dead for good."""
        with near, socket.create_connection((LOOPBACK, self._port)) as far:
            other = {near: far, far: near}
            while not self._ended.is_set():
                for end in select.select([near, far], [], [], _STEP)[0]:
                    data = end.recv(1 << 16)
                    if not self._whole.is_set():
                        self._ended.wait()
                    elif not data:
                        return
                    else:
                        other[end].sendall(data)
