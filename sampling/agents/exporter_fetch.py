"""Reads exporters within limits of time and size, and writes files for PCP's agent.

``python3 exporter_fetch.py FOLDER -- AGENT…`` forks a process that reads the exporters
in ``FOLDER/exporters.conf`` (lines of name, period in ms, and URL), and then executes
the agent. By itself, PCP's agent waits for each exporter, reads answers of any size,
and stops at the first bad line. Here each exporter has its own thread, and its lines
are checked. The agent reads only the resulting files, which are named in
``FOLDER/config.d/NAME.url``.

This module must run on Python 3.8, because it is sent to other hosts.
"""

from __future__ import annotations

import ctypes
import http.client
import json
import os
import signal
import socket
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Iterator, NamedTuple  # noqa: UP035
from urllib.parse import urlsplit

from sampling.agents.exporter_text import Families

CONF, STATUS, OWN = "exporters.conf", "status.json", "scrapes"
MOST_BYTES = 1 << 20
LONGEST_S = 2.0
# How long before the tick an exporter is read, as a part of the period.
_LEAD = 0.2
_POLL_S = 0.25
_PR_SET_PDEATHSIG = 1


class FetchError(Exception):
    """A read that failed: ``kind`` is what is counted, the text is one line."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Exporter(NamedTuple):
    """An exporter: its name in PCP, period in ms, and URL."""

    name: str
    period_ms: int
    url: str


def fetch(url: str, seconds: float = LONGEST_S) -> str:
    """Read the text of an exporter within ``seconds``; raises FetchError."""
    where = urlsplit(url)
    is_secure = where.scheme == "https"
    kind = http.client.HTTPSConnection if is_secure else http.client.HTTPConnection
    connection = kind(where.hostname or "", where.port, timeout=seconds)
    path = (where.path or "/") + (f"?{where.query}" if where.query else "")
    until = time.monotonic() + seconds
    try:
        return _body(connection, path, until)
    except (OSError, http.client.HTTPException, ValueError) as error:
        if time.monotonic() >= until - 0.05:
            raise FetchError("hangs", f"no answer within {seconds:g} s") from None
        why = _one_line(str(error)) or type(error).__name__
        raise FetchError("unreachable", why) from None
    finally:
        connection.close()


def _body(connection: http.client.HTTPConnection, path: str, until: float) -> str:
    connection.connect()
    # A socket's timeout applies to each read, so a slow answer could take forever.
    is_cut = threading.Event()
    left = max(0.0, until - time.monotonic())
    timer = threading.Timer(left, _cut, [connection.sock, is_cut])
    timer.daemon = True
    timer.start()
    try:
        connection.request("GET", path, headers={"Accept": "text/plain"})
        with connection.getresponse() as answer:
            if answer.status != 200:
                raise FetchError("status", f"it answered with status {answer.status}")
            coding = _one_line(answer.getheader("Content-Encoding") or "identity")
            if coding.lower() != "identity":
                raise FetchError("encoded", f"its answer is encoded ({coding})")
            data, rest = answer.read(MOST_BYTES + 1), answer.length
    finally:
        timer.cancel()
    if len(data) > MOST_BYTES:
        raise FetchError("too long", f"its answer is longer than {MOST_BYTES} bytes")
    # An answer without a length ends with the connection, so a cut one looks complete.
    if is_cut.is_set() or rest:
        raise OSError("its answer ended early")
    return data.decode("utf-8", errors="replace")


def _one_line(text: str) -> str:
    """What an exporter sent, as a line that can be printed."""
    plain = "".join(c if c.isprintable() else " " for c in text[:1000])
    return " ".join(plain.split())[:200]


def _cut(sock: socket.socket, is_cut: threading.Event) -> None:
    is_cut.set()
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


class Reports:
    """The results of reads, as metrics for PCP's agent and as JSON."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._states: dict[str, dict[str, object]] = {}

    def add(self, one: Exporter, result: str, state: dict[str, object]) -> None:
        """Report the result of a read: ``ok``, or the kind of a FetchError."""
        with self._lock:
            self._counts[f"exporter={one.name},result={result}"] += 1
            self._states[one.name] = {"url": one.url, "result": result, **state}
            self._write()

    def forget(self, names: set[str]) -> None:
        """Keep only the states of these exporters."""
        with self._lock:
            for name in self._states.keys() - names:
                del self._states[name]
            self._write()

    def _write(self) -> None:
        lines = ["# PCP5 reads 0.0.0 u64 reads counter count"]
        lines += [f'reads{{instname="{k}"}} {v}' for k, v in self._counts.items()]
        lines += ["# PCP5 dropped 0.0.0 u64 dropped counter count"]
        for name, state in self._states.items():
            dropped = state.get("dropped")
            total = sum(dropped.values()) if isinstance(dropped, dict) else 0
            lines.append(f'dropped{{instname="exporter={name}"}} {total}')
        # A full disk must not end the thread of a reader.
        with suppress(OSError):
            replace(self._folder / f"{OWN}.prom", "\n".join([*lines, ""]))
            replace(self._folder / STATUS, json.dumps(self._states))


def replace(path: Path, text: str) -> None:
    """Replace a file; readers see the old text or the new one."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink()
        raise


class Reader(threading.Thread):
    """Reads one exporter, shortly before each tick of its period."""

    def __init__(self, folder: Path, one: Exporter, reports: Reports) -> None:
        super().__init__(daemon=True)
        self._path, self._one, self._reports = folder / f"{one.name}.prom", one, reports
        self._known = Families()
        self._ended = threading.Event()
        # Held while the file is changed, so that an ended reader never changes it.
        self._lock = threading.Lock()

    def run(self) -> None:
        """Read until `end` is called."""
        period = self._one.period_ms / 1000
        while not self._ended.is_set():
            self._read(min(LONGEST_S, max(0.25, 0.8 * period)))
            now = time.time() + _LEAD * period
            self._ended.wait(period - now % period)

    def end(self) -> None:
        """Stop reading, and remove the values; a later reader may write the file."""
        with self._lock:
            self._ended.set()
            self._remove()

    def _read(self, seconds: float) -> None:
        state: dict[str, object] = {"reason": "", "series": 0}
        result, text = "ok", None
        try:
            text, state["series"] = self._known.document(fetch(self._one.url, seconds))
        except FetchError as error:
            result, state["reason"] = error.kind, str(error)
        state["dropped"] = dict(self._known.dropped)
        with self._lock:
            if self._ended.is_set():
                return
            if problem := self._write(text):
                result, state["reason"] = "not written", problem
            self._reports.add(self._one, result, state)

    def _write(self, text: str | None) -> str:
        """Replace the values, or remove them if there are none.

        Returns why that failed, or an empty string.
        """
        # Without the file, the agent gives no values; with the old one, it would give
        # the last values again.
        if text is None:
            self._remove()
            return ""
        try:
            replace(self._path, text)
        except OSError as error:
            self._remove()
            return str(error)
        return ""

    def _remove(self) -> None:
        with suppress(OSError):
            self._path.unlink()


def read_conf(folder: Path) -> dict[str, Exporter]:
    """The exporters that are wanted, by name."""
    lines = (folder / CONF).read_text("utf-8").splitlines()
    words = [line.split() for line in lines if line and not line.startswith("#")]
    return {name: Exporter(name, int(ms), url) for name, ms, url in words}


def follow(folder: Path) -> Iterator[dict[str, Exporter]]:
    """Yield the exporters that are wanted, now and whenever their file changes."""
    before = None
    while True:
        with suppress(OSError, ValueError):
            stat = (folder / CONF).stat()
            if (stat.st_mtime_ns, stat.st_ino) != before:
                before = stat.st_mtime_ns, stat.st_ino
                yield read_conf(folder)
        time.sleep(_POLL_S)


def read_all(folder: Path) -> None:
    """Read all exporters until this process ends."""
    reports = Reports(folder)
    readers: dict[Exporter, Reader] = {}
    for wanted in follow(folder):
        for gone in readers.keys() - set(wanted.values()):
            readers.pop(gone).end()
        reports.forget({*wanted})
        for one in set(wanted.values()) - readers.keys():
            readers[one] = Reader(folder, one, reports)
            readers[one].start()


def guard(folder: Path, agent: int, pmcd: int) -> None:
    """Keep a reader running until the agent ends, and let its PMCD end then.

    PCP's agent takes a file of a reader that ended for new values. PMCD starts an agent
    that ended again, but this one stays "not ready": it needs a new PMCD.
    """
    reader = 0
    while os.getppid() == agent:
        if not reader or os.waitpid(reader, os.WNOHANG)[0]:
            _forget(folder)
            reader = _start_reader(folder, pmcd)
        time.sleep(_POLL_S)
    os.kill(reader, signal.SIGKILL)
    _give_up(folder, pmcd)


def _start_reader(folder: Path, pmcd: int) -> int:
    parent = os.getpid()
    reader = os.fork()
    if reader == 0:
        signal.signal(signal.SIGTERM, lambda *_: _give_up(folder, pmcd))
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() == parent:
            read_all(folder)
        os._exit(0)
    return reader


def _forget(folder: Path) -> None:
    for path in folder.glob("*.prom"):
        with suppress(OSError):
            path.unlink()


def _give_up(folder: Path, pmcd: int) -> None:
    """Leave no old values; the process that keeps PMCD running starts all again."""
    _forget(folder)
    with suppress(OSError):
        if Path(f"/proc/{pmcd}/comm").read_text("ascii").strip() == "pmcd":
            os.kill(pmcd, signal.SIGTERM)
    os._exit(0)


def main() -> None:
    """Fork the process that reads, and execute the agent."""
    folder, command = Path(sys.argv[1]), sys.argv[3:]
    agent, pmcd = os.getpid(), os.getppid()
    if os.fork() == 0:
        # The agent talks to PMCD over its standard input and output.
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.umask(0o077)
        guard(folder, agent, pmcd)
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main()
