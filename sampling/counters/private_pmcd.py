"""A PMCD of our own for PCP's perfevent agent alone: its folder, files and life.

It stands alone (Python 3.8 or newer and nothing else). Here the supervisor keeps that
PMCD; on a host elsewhere this file runs as a program, over ssh, with a request on its
standard input, and leaves a process there that keeps it.

Each configuration has a folder of its own, named by what it holds, so that another one
changes the agent's line in pmcd.conf: PMCD, told to read that again, then starts the
agent anew.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
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
from pathlib import Path
from typing import Any, Iterator  # noqa: UP035

_VAR = Path("/var/lib/pcp")
AGENTS = _VAR / "pmdas"
_NAME_SPACE = _VAR / "pmns/root"
_FOLDERS = ("run", "tmp", "log", "var")
_PROGRAM = "perfevent/pmdaperfevent"
_PMCD_AGENT = "pmcd/pmda_pmcd.so"
# PERFEVENT in PCP's stdpmid.
_DOMAIN = 127
_NAMES = f"""
perfevent {{
\tversion {_DOMAIN}:0:0
\tactive {_DOMAIN}:0:1
\thwcounters {_DOMAIN}:*:*
\tderived {_DOMAIN}:*:*
}}
"""
# Its folder lets nobody else to the socket; nobody at all is let in by TCP.
_ACCESS = """
[access]
disallow ".*" : all;
disallow ":*" : all;
allow "unix:" : fetch;
"""
_LOOPBACK = "127.0.0.1"
# sockaddr_un holds 108 bytes, one of them for the end.
_LONGEST_SOCKET = 107
_SYSTEM_WIDE = 0
_NAME = re.compile(r"[A-Za-z0-9_.~-]{1,80}")
_PR_SET_PDEATHSIG = 1
_ENDS_WITHIN, _LONGEST_PAUSE = 5.0, 10.0
# Who asks gives up after 60 s.
_WAITS = 30.0
# Each event that cannot be counted has a line for each CPU: one of them tells why.
_MOST_OF_LOG = 1 << 17
ANSWER = "supertwin-counting-1 "


class RefusedError(Exception):
    """What stands in the way of counting; its text is one line with the cure."""


def socket_of(home: Path) -> Path:
    """PMCD's Unix socket; raises RefusedError for a path that is too long."""
    path = home / "run/pmcd.socket"
    if len(os.fsencode(str(path))) > _LONGEST_SOCKET or re.search(r"\s", str(path)):
        raise RefusedError(
            f"PMCD cannot use {path}: its folder needs a shorter name, without blanks"
        )
    return path


def check_can_count() -> None:
    """Raise RefusedError where PCP came without the agent, or we may not count."""
    if not os.access(str(AGENTS / _PROGRAM), os.X_OK):
        raise RefusedError(
            f"PCP's perfevent agent is not installed ({AGENTS / _PROGRAM}): "
            "`apt-get install pcp`, elsewhere the package pcp-pmda-perfevent"
        )
    try:
        level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text("ascii"))
    except (OSError, ValueError):
        raise RefusedError("this kernel was built without perf_event") from None
    check_permission(level, os.geteuid())


def check_permission(level: int, user: int) -> None:
    """Raise RefusedError where perf_event_paranoid lets a user not count."""
    if level > _SYSTEM_WIDE and user != 0:
        raise RefusedError(
            f"kernel.perf_event_paranoid is {level}, and only root may count whole "
            "CPUs then: `sysctl kernel.perf_event_paranoid=0`, or be root"
        )


def keep_configuration(home: Path, text: str | None) -> None:
    """Make a configuration the agent's; None: there is to be no agent.

    Nothing runs differently before PMCD has read its own configuration again.
    """
    make_folders(home)
    (home / "agent").mkdir(exist_ok=True)
    name = _digest(text)
    if text is not None:
        (home / "agent" / name / "perfevent").mkdir(parents=True, exist_ok=True)
        _write(home / "agent" / name / "perfevent/perfevent.conf", text)
    _write(home / "agent/current", name)
    for folder in (home / "agent").iterdir():
        if folder.is_dir() and folder.name != name:
            shutil.rmtree(str(folder), ignore_errors=True)
    # What an agent before said of an event is not what this one will say.
    _remove(log_of_agent(home))
    _write(home / "pmcd.conf", _pmcd_conf(home, text))
    _write(home / "pmns", _name_space(text))


def kept_configuration(home: Path) -> str | None:
    """The configuration that the agent has; None where there is no agent."""
    try:
        name = (home / "agent/current").read_text("ascii").strip()
        return (home / "agent" / name / "perfevent/perfevent.conf").read_text("utf-8")
    except OSError:
        return None


def log_of_agent(home: Path) -> Path:
    """Where the agent writes what it cannot count."""
    return home / "log/perfevent.log"


def command(home: Path, pmcd: str, port: int) -> tuple[str, ...]:
    """The words that start PMCD; it has to stand in ``{home}/log``, for its agents."""
    return (
        *(pmcd, "-f", "-A", "-i", _LOOPBACK, "-p", str(port)),
        *("-s", str(socket_of(home)), "-l", str(home / "log/pmcd.log")),
        *("-c", str(home / "pmcd.conf"), "-n", str(home / "pmns"), "-U", _user()),
    )


def make_folders(home: Path) -> None:
    """Make the folders that set a PMCD of our own apart from all others.

    Any PMCD has its agents started by who listens at ``pmcd/root.socket`` below PCP's
    ``var``: those of another would then end with ours, and ours with another's.
    """
    for name in _FOLDERS:
        (home / name).mkdir(parents=True, exist_ok=True)
    for place in _VAR.iterdir():
        link = home / "var" / place.name
        if place.name != "pmcd" and not link.is_symlink():
            with suppress(FileExistsError):
                link.symlink_to(place)


def environment(home: Path) -> dict[str, str]:
    """What PCP's programs have to be told beside."""
    return {f"PCP_{name.upper()}_DIR": str(home / name) for name in _FOLDERS}


def _pmcd_conf(home: Path, text: str | None) -> str:
    lines = [f"pmcd 2 dso pmcd_init {AGENTS / _PMCD_AGENT}"]
    if text is not None:
        # Debian's agent finds its configuration in no other way.
        words = [
            *("perfevent", str(_DOMAIN), "pipe", "binary", "/usr/bin/env"),
            f"PCP_PMDAS_DIR={home / 'agent' / _digest(text)}",
            *(str(AGENTS / _PROGRAM), "-d", str(_DOMAIN)),
            *("-l", str(log_of_agent(home)), "-U", _user()),
        ]
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n" + _ACCESS


def _name_space(text: str | None) -> str:
    """The system's name space, with the agent's names where there is one."""
    names = _NAME_SPACE.read_text("utf-8")
    if text is None or re.search(r"\bperfevent\b", names):
        return names
    return names.replace("root {", "root {\n\tperfevent", 1) + _NAMES


def _user() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name


def _digest(text: str | None) -> str:
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()[:12]


def _write(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _remove(path: Path) -> None:
    with suppress(FileNotFoundError):
        path.unlink()


# What follows is for a host elsewhere, where no supervisor is.


def serve(request: dict[str, Any]) -> dict[str, Any]:
    """Count what is asked for, or nothing; the answer says what was counted before.

    ``name`` is the folder's, below ~/.supertwin; ``text`` the configuration, None for
    the end, which leaves nothing behind. Without ``change`` nothing is changed or made.
    Raises RefusedError, OSError.
    """
    if not _NAME.fullmatch(request["name"]):
        raise RefusedError(f"{request['name']!r} is no name of a folder")
    above = Path(pwd.getpwuid(os.geteuid()).pw_dir) / ".supertwin"
    home, text = above / request["name"], request["text"]
    if not home.exists() and (text is None or not request["change"]):
        return {"before": None, "socket": "", "listens": False, "log": ""}
    with _locked(above):
        before = kept_configuration(home)
        log = _read(log_of_agent(home))[:_MOST_OF_LOG]
        if text is None:
            _end(above, home)
        elif request["change"]:
            _count(home, text)
        listens, path = _listens(home), str(socket_of(home))
        return {"before": before, "socket": path, "listens": listens, "log": log}


def _listens(home: Path) -> bool:
    """Whether PMCD is there: of a socket elsewhere ssh does not tell why it fails."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(socket_of(home)))
        except OSError:
            return False
    return True


def _count(home: Path, text: str) -> None:
    socket_of(home)
    runs = _keeper(home) is not None
    if runs and kept_configuration(home) == text:
        return
    check_can_count()
    home.mkdir(mode=0o700, exist_ok=True)
    keep_configuration(home, text)
    if not runs:
        _start(home)
        return
    # One that died meanwhile is started again, and reads it then.
    with suppress(ProcessLookupError, ValueError):
        os.kill(int(_read(home / "pmcd.pid") or "x"), signal.SIGHUP)


def _end(above: Path, home: Path) -> None:
    """End what keeps PMCD, and remove the folder."""
    number, until = signal.SIGTERM, time.monotonic() + _ENDS_WITHIN
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
    """The process that keeps PMCD: as long as it lives it holds a lock."""
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
    """Leave a process that outlives this login; returns once it holds its lock."""
    # What one that was killed has left.
    _remove(home / "pmcd.pid")
    sys.stdout.flush()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with suppress(BaseException):
                _keep(home)
        os._exit(0)
    os.wait()
    until = time.monotonic() + _ENDS_WITHIN
    while _keeper(home) is None:
        if time.monotonic() > until:
            raise RefusedError(f"PMCD does not start: see {home}/log")
        time.sleep(0.02)


def _keep(home: Path) -> None:
    """Keep PMCD running until we are ended."""
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
    """Run PMCD until it ends, or we are."""
    _remove(socket_of(home))
    process = subprocess.Popen(  # noqa: S603
        command(home, str(_pmcd()), _free_port()),
        stdin=subprocess.DEVNULL,
        cwd=str(home / "log"),
        env={**os.environ, **environment(home)},
        start_new_session=True,
        # Nothing else runs in this process: it ends with us, however that comes.
        preexec_fn=_end_with_parent,  # noqa: PLW1509
    )
    try:
        _write(home / "pmcd.pid", str(process.pid))
        process.wait()
    finally:
        # Soon its number may be another process's.
        _remove(home / "pmcd.pid")
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDS_WITHIN / 2)


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _pmcd() -> Path:
    found = re.search(r"^PCP_BINADM_DIR=(.+)$", _read(Path("/etc/pcp.conf")), re.M)
    return Path(found[1] if found else "/usr/lib/pcp/bin") / "pmcd"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""


@contextmanager
def _locked(above: Path) -> Iterator[None]:
    """One request at a time, and none of who has left; raises RefusedError, OSError."""
    path, until = above / "lock", time.monotonic() + _WAITS
    while True:
        above.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("a") as file:
            if _is_taken(file):
                if _nobody_listens():
                    raise RefusedError("nobody waits for it any more")
                yield
                return
            if time.monotonic() > until or _nobody_listens():
                raise RefusedError(f"another command holds {path}: try again")
            time.sleep(0.02)


def _is_taken(file: Any) -> bool:
    """Take a lock, if nobody else has it; the end of the last plan removes its file."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(file.fileno()).st_nlink > 0


def _nobody_listens() -> bool:
    """Whether who asked has gone: what they had undone must not be done after that."""
    poll = select.poll()
    poll.register(1, 0)
    return bool(poll.poll(0))


def main() -> int:
    """Answer the request on standard input with one line of JSON."""
    try:
        answer = serve(json.load(sys.stdin))
    except RefusedError as error:
        answer = {"refused": str(error)}
    except OSError as error:
        answer = {"refused": f"{error.filename}: {error.strerror}"}
    print(f"{ANSWER}{json.dumps(answer)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
