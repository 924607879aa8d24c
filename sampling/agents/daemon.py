"""Runs a private PMCD on another host, where no supervisor runs.

The program is sent over ssh together with the modules of this folder that it imports,
and reads a request from its standard input. It must run on Python 3.8. It leaves a
process there, the keeper, that starts PMCD and restarts it when it ends.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import pwd
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Iterator  # noqa: UP035

from sampling.agents.checks import check_all
from sampling.agents.configuration import (
    keep_configuration,
    kept_configuration,
    log_of_agent,
)
from sampling.agents.kinds import KINDS
from sampling.agents.private_pmcd import (
    LOOPBACK,
    AgentError,
    command,
    environment,
    remove,
    socket_of,
    write_whole,
)

_NAME = re.compile(r"[A-Za-z0-9_.~-]{1,80}")
_PR_SET_PDEATHSIG = 1
_KEEPER_SECONDS = 5.0
# Less than the 60 s after which the client gives up.
_LOCK_SECONDS = 30.0
# An event that cannot be counted has one line for each CPU: the first is enough.
_MOST_OF_LOG = 1 << 17
ANSWER = "supertwin-counting-1 "


def serve(request: dict[str, Any]) -> dict[str, Any]:
    """Configure, end or check agents as requested; return the state before.

    Keys of the request: ``name``, the folder below ~/.supertwin; ``agent``, its name in
    PCP; ``text``, its configuration, or None to end it and remove the folder. Without
    ``change``, nothing is changed or created. A request with ``checks`` asks only which
    agents can run; with ``tries``, they load their modules for that. Raises AgentError
    and OSError.
    """
    if "checks" in request:
        return {"agents": check_all(tries=request["tries"])}
    if not _NAME.fullmatch(request["name"]):
        raise AgentError(f"{request['name']!r} is not a folder name")
    above = Path(pwd.getpwuid(os.geteuid()).pw_dir) / ".supertwin"
    home, text, agent = above / request["name"], request["text"], request["agent"]
    if not home.exists() and (text is None or not request["change"]):
        return {"before": None, "socket": "", "listens": False, "log": ""}
    with _locked(above):
        before = kept_configuration(home, agent)
        log = _read(log_of_agent(home, agent))[:_MOST_OF_LOG]
        if text is None:
            _end(above, home)
        elif request["change"]:
            _configure(home, agent, text)
        listens, path = _listens(home), str(socket_of(home))
        return {"before": before, "socket": path, "listens": listens, "log": log}


def _listens(home: Path) -> bool:
    """Whether PMCD listens on its socket; ssh does not say why forwarding fails."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(socket_of(home)))
        except OSError:
            return False
    return True


def _configure(home: Path, agent: str, text: str) -> None:
    socket_of(home)
    runs = _keeper(home) is not None
    if runs and kept_configuration(home, agent) == text:
        return
    KINDS[agent].check()
    home.mkdir(mode=0o700, exist_ok=True)
    keep_configuration(home, agent, text)
    if not runs:
        _start(home)
        return
    # Without this file, the keeper restarts PMCD, which then reads the configuration.
    if number := _read(home / "pmcd.pid"):
        with suppress(ProcessLookupError):
            os.kill(int(number), signal.SIGHUP)


def _end(above: Path, home: Path) -> None:
    """End the keeper and with it PMCD, and remove the folder."""
    number, until = signal.SIGTERM, time.monotonic() + _KEEPER_SECONDS
    while (keeper := _keeper(home)) is not None:
        with suppress(ProcessLookupError):
            os.kill(keeper, number)
        if time.monotonic() > until:
            number = signal.SIGKILL
        time.sleep(0.05)
    shutil.rmtree(str(home), ignore_errors=True)
    if {path.name for path in above.iterdir()} <= {"lock"}:
        shutil.rmtree(str(above), ignore_errors=True)


def _keeper(home: Path) -> int | None:
    """The pid of the keeper, which holds a lock while it lives; None if it is gone."""
    try:
        with (home / "keeper").open("r") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read())
    except (OSError, ValueError):
        pass
    return None


def _start(home: Path) -> None:
    """Start a keeper that outlives this login; return once it holds its lock."""
    # A killed keeper may have left it.
    remove(home / "pmcd.pid")
    sys.stdout.flush()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with suppress(BaseException):
                _keep(home)
        os._exit(0)
    os.wait()
    until = time.monotonic() + _KEEPER_SECONDS
    while _keeper(home) is None:
        if time.monotonic() > until:
            raise AgentError(f"PMCD does not start: see the logs in {home}/log")
        time.sleep(0.02)


def _keep(home: Path) -> None:
    """Start PMCD whenever it does not run, until this process is ended."""
    with (home / "log/keeper.log").open("ab") as out:
        for number in range(3):
            os.dup2(out.fileno(), number)
    os.closerange(3, 256)
    own = (home / "keeper").open("a+")
    fcntl.flock(own, fcntl.LOCK_EX)
    own.truncate(0)
    own.write(str(os.getpid()))
    own.flush()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    pause = 0.5
    while True:
        started = time.monotonic()
        _run_pmcd(home)
        pause = 0.5 if time.monotonic() - started > 60 else min(2 * pause, 10.0)
        time.sleep(pause)


def _run_pmcd(home: Path) -> None:
    """Run PMCD until it or this process ends."""
    remove(socket_of(home))
    process = subprocess.Popen(  # noqa: S603
        command(home, str(_pmcd()), _free_port()),
        stdin=subprocess.DEVNULL,
        cwd=str(home / "log"),
        env={**os.environ, **environment(home)},
        start_new_session=True,
        # Safe, because this process has one thread. PMCD must not outlive it.
        preexec_fn=partial(_end_with_parent, os.getpid()),  # noqa: PLW1509
    )
    try:
        write_whole(home / "pmcd.pid", str(process.pid))
        process.wait()
    finally:
        # The pid may soon belong to another process.
        remove(home / "pmcd.pid")
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_KEEPER_SECONDS / 2)


def _end_with_parent(parent: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it has already ended
        os._exit(1)


def _pmcd() -> Path:
    found = re.search(r"^PCP_BINADM_DIR=(.+)$", _read(Path("/etc/pcp.conf")), re.M)
    return Path(found[1] if found else "/usr/lib/pcp/bin") / "pmcd"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""


@contextmanager
def _locked(above: Path) -> Iterator[None]:
    """Hold the lock that serves one request at a time.

    Raises AgentError if the lock stays taken or the client has gone, and OSError.
    """
    path, until = above / "lock", time.monotonic() + _LOCK_SECONDS
    while True:
        above.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("a") as file:
            if _takes(file):
                if _is_client_gone():
                    raise AgentError("the client has disconnected: try again")
                yield
                return
            if time.monotonic() > until or _is_client_gone():
                raise AgentError(f"another command has locked {path}: try again")
            time.sleep(0.02)


def _takes(file: Any) -> bool:
    """Take a lock if it is free; return whether it was, and its file still exists.

    A request that ends the last agent removes the file.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(file.fileno()).st_nlink > 0


def _is_client_gone() -> bool:
    """Whether the client has gone; it may have undone the request since then."""
    poll = select.poll()
    poll.register(1, 0)
    return bool(poll.poll(0))


def main() -> int:
    """Answer the request on standard input with one line of JSON."""
    try:
        answer = serve(json.load(sys.stdin))
    except AgentError as error:
        answer = {"refused": str(error)}
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        answer = {"refused": f"{place}{error.strerror or error}"}
    print(f"{ANSWER}{json.dumps(answer)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
