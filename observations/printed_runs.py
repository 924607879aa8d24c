"""Runs commands under observation through the API, and returns what they print."""

import base64
import json
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from observations.errors import BenchmarkError, LaunchError, NotRecordedError

_PATIENCE, _LOOK = 30.0, 0.1
_ENDINGS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


class Api(Protocol):
    """The HTTP API as the command line uses it."""

    def ask(
        self, method: str, path: str, body: bytes = b"", *, queues: bool = False
    ) -> Any:
        """Return the JSON document that answers a request.

        With ``queues``, the request may wait for other work without a time limit.
        """

    def events(self, path: str) -> Iterator[Any]:
        """Yield the events of an event stream until it ends."""


@dataclass(frozen=True)
class PrintedRuns:
    """The standard output of each run by its id, and the CPUs of all of them."""

    output: Mapping[str, str]
    cpus: Sequence[int]


def printed_runs(api: Api, body: Mapping[str, Any], name: str = "") -> PrintedRuns:
    """Run the command of a request for an observation until its runs are recorded.

    An interrupt ends the command. Errors call it ``name``, or else as its first word
    does. Raises LaunchError, BenchmarkError if the command fails, NotRecordedError, and
    the errors of the API.
    """
    text = json.dumps(body).encode()
    queues = body.get("wait", False)
    # An interrupt while the answer is read would leave the command running.
    held = set() if queues else signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)
    try:
        session = api.ask("POST", "/observations", text, queues=queues)
    except BaseException:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDINGS - held)
        raise
    path = f"/observations/{session['id']}"
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDINGS - held)
        output = _follow(name or body["argv"][0], api.events(f"{path}/events"))
    except KeyboardInterrupt:
        api.ask("DELETE", path)
        raise
    wait_until_recorded(api, path, len(output))
    return PrintedRuns(output, session["cpus"])


def wait_until_recorded(api: Api, path: str, runs: int) -> Any:
    """Return the document of a session once its runs are recorded.

    Raises NotRecordedError.
    """
    until = time.monotonic() + _PATIENCE
    while len((found := api.ask("GET", path))["recorded"]) < runs:
        if time.monotonic() > until:
            raise NotRecordedError(f"{path} is not recorded: see `supertwin status`")
        time.sleep(_LOOK)
    return found


def _follow(program: str, events: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    printed: dict[str, bytes] = {}
    complaints: dict[str, bytes] = {}
    for event in events:
        if event["event"] == "output":
            streams = printed if event["stream"] == "stdout" else complaints
            piece = base64.b64decode(event["data"])
            streams[event["run"]] = streams.get(event["run"], b"") + piece
        elif event["event"] == "closed":
            check_ended(program, event, b"".join(complaints.values()))
    return {run: text.decode(errors="replace") for run, text in printed.items()}


def check_ended(program: str, closed: Mapping[str, Any], complaint: bytes) -> None:
    """Raise LaunchError or BenchmarkError if a session's command did not complete."""
    if closed["problem"]:
        raise LaunchError(str(closed["problem"]), code=closed["errorCode"])
    for run in closed["runs"]:
        if run["outcome"] != "completed":
            raise BenchmarkError(
                f"{program} {run['outcome']}{_reason(complaint)}: run it again; "
                f"{run['node']} has its output"
            )


def _reason(complaint: bytes) -> str:
    """Return the last line in parentheses, without lines such as mpirun's dashes."""
    lines = complaint.decode(errors="replace").splitlines()
    said = [line.strip() for line in lines if any(map(str.isalnum, line))]
    return f" ({said[-1][:200]})" if said else ""
