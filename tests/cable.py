"""A TCP port that forwards to another over a slow, broken or silent network."""

import socket
import time
from contextlib import suppress
from threading import Event, Thread
from types import TracebackType
from typing import Self

from tests.ports import LOOPBACK


class Cable:
    """Connections to ``address`` reach a port, ``seconds`` late in each direction."""

    def __init__(self, port: int) -> None:
        self.seconds = 0.0
        self._passes = Event()
        self._passes.set()
        self.requests = 0  # pieces that clients sent
        self._port = port
        self._carries, self._ended = Event(), Event()
        self._carries.set()
        self._listener = socket.create_server((LOOPBACK, 0))
        self.address = f"{LOOPBACK}:{self._listener.getsockname()[1]}"
        self._accepting = Thread(target=self._accept, daemon=True)
        self._ends: list[tuple[socket.socket, socket.socket]] = []
        self._pumps: list[Thread] = []

    @property
    def connections(self) -> int:
        """The number of connections made."""
        return len(self._ends)

    @property
    def is_idle(self) -> bool:
        """Whether all connections are closed."""
        return not any(pump.is_alive() for pump in self._pumps)

    def silence(self) -> None:
        """Let nothing through from now on, without an answer or an error.

        A host that is switched off does this, and so does a network that drops packets:
        neither side is notified.
        """
        self._carries.clear()

    def fix(self) -> None:
        """Let new connections through; those that lost data stay dead."""
        self._carries.set()

    def hold(self) -> None:
        """Hold data from now on until `release`."""
        self._passes.clear()

    def release(self) -> None:
        """Let the held data through."""
        self._passes.set()

    def cut(self, number: int) -> None:
        """Break one connection, by its number from 0."""
        for end in self._ends[number]:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        self._accepting.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._passes.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join(120)
        self._listener.close()
        for number in range(self.connections):
            self.cut(number)
        for pump in self._pumps:
            pump.join(120)
        for ends in self._ends:
            for end in ends:
                end.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener is shut down
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection((LOOPBACK, self._port))
                for end in (near, far):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._ends.append((near, far))
                for asks, ends in ((True, (near, far)), (False, (far, near))):
                    pump = Thread(target=self._pump, args=(*ends, asks), daemon=True)
                    self._pumps.append(pump)
                    pump.start()

    def _pump(self, source: socket.socket, target: socket.socket, asks: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if not self._carries.is_set():
                    self._ended.wait()
                    return
                self.requests += asks
                time.sleep(self.seconds)
                self._passes.wait()
                target.sendall(data)
            # While silent, the end of a connection does not get through either.
            if self._carries.is_set():
                target.shutdown(socket.SHUT_WR)
