"""Run a system tool with limits on time and output, and always clean up."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from io import BufferedReader
from typing import cast

from ingest.errors import MalformedSourceError, SourceMissingError, SourceRefusedError

MAX_OUTPUT = 64 * 1024 * 1024


def run_tool(
    argv: Sequence[str], package: str, timeout: float, any_status: bool = False
) -> bytes:
    """Return a tool's output, at most 64 MiB, within ``timeout`` seconds.

    ``package`` is the Debian package named in the error's fix; with ``any_status`` the
    exit status is ignored. Raises SourceMissingError, SourceRefusedError (time, exit
    status) and MalformedSourceError (too much output).
    """
    try:
        process = _start(argv)
    except FileNotFoundError:
        raise SourceMissingError(
            f"{argv[0]} is not installed: apt-get install {package}"
        ) from None
    except OSError as error:
        raise SourceRefusedError(
            f"{argv[0]} cannot be run ({error.strerror}): "
            f"apt-get install --reinstall {package}"
        ) from None
    try:
        output, complaints = _collect(process, argv[0], timeout)
    finally:
        _end(process)
    if process.returncode and not any_status:
        raise _failure(argv, process.returncode, complaints.decode(errors="replace"))
    return output


def _start(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    # Pass on only PATH: variables such as HWLOC_XMLFILE could make a tool describe
    # another machine. The new session lets _end kill the tool's children too.
    return subprocess.Popen(  # noqa: S603
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
        start_new_session=True,
    )


def _collect(
    process: subprocess.Popen[bytes], name: str, timeout: float
) -> tuple[bytes, bytes]:
    deadline = time.monotonic() + timeout
    pipes = [cast(BufferedReader, process.stdout), cast(BufferedReader, process.stderr)]
    read = {pipe.fileno(): bytearray() for pipe in pipes}
    with pipes[0], pipes[1], selectors.DefaultSelector() as selector:
        for pipe in pipes:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise _too_slow(name, timeout)
            for key, _ in ready:
                _take(selector, key, read[key.fd], name)
        output, complaints = (bytes(read[pipe.fileno()]) for pipe in pipes)
    try:
        process.wait(max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise _too_slow(name, timeout) from None
    return output, complaints


def _take(
    selector: selectors.BaseSelector,
    key: selectors.SelectorKey,
    into: bytearray,
    name: str,
) -> None:
    piece = os.read(key.fd, 1 << 16)
    if not piece:
        selector.unregister(key.fileobj)
    into += piece
    if len(into) > MAX_OUTPUT:
        raise MalformedSourceError(
            f"{name} printed more than {MAX_OUTPUT >> 20} MiB: run it by hand"
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _too_slow(name: str, timeout: float) -> SourceRefusedError:
    problem = f"{name} did not finish within {timeout:g} s"
    return SourceRefusedError(problem, "run it by hand to see why")


def _failure(argv: Sequence[str], status: int, complaints: str) -> SourceRefusedError:
    lines = complaints.strip().splitlines()
    why = f" ({lines[-1].strip()})" if lines else ""
    problem = f"{argv[0]} failed with status {status}{why}"
    return SourceRefusedError(problem, f"run `{' '.join(argv)}` by hand", complaints)
