"""`supertwin observe`: run a command, sampled and recorded.

The API samples and records; the command runs here, in the environment, the limits and
the control group that it would run in without us, or where the API has a way to.
Nothing is imported that takes long: a command that takes a second is not to take two.
"""

import base64
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from observations.launch import Event, Running, events, here
from supertwin.cli.api_client import ApiAnswerError, ApiClient, AwayError
from supertwin.home import home_of

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TOLD = ("started", "alive", "over", "about", "ended", "refused")
_UNTIL_TOLD = "about"  # what is sent with the next
_REFUSED = 2
_PATIENCE_SECONDS, _PAUSE_SECONDS = 30.0, 0.5


@click.command("observe", context_settings={"ignore_unknown_options": True})
@click.argument("argv", metavar="-- COMMAND…", nargs=-1, required=True)
@click.option("--host", default="", help="Host it runs on.  [default: this host]")
@click.option("--pin", default="", metavar="POLICY", help="As `supertwin pin`.")
@click.option("--threads", default="", metavar="N", help="How many CPUs --pin chooses.")
@click.option("--cpus", default="", metavar="LIST", help="CPUs it is bound to: 0-3,8.")
@click.option("--metrics", default="", metavar="NAME,…", help="Metrics, as PCP's.")
@click.option("--role", "roles", multiple=True, help="Role that is measured: FLOPs.")
@click.option("--event", "events", multiple=True, help="PMU event that is counted.")
@click.option("--every", default="1s", help="Time between two samples: 1ms to 1h.")
@click.option(
    "--repeat", type=click.IntRange(1, 1000), default=1, help="Run it N times."
)
@click.option("--tag", "tags", multiple=True, help="A word to find it by.")
@click.option("--env", "pairs", multiple=True, metavar="K=V", help="Added variables.")
@click.option("--cwd", default="", help="Its folder; else this one, on this host.")
@click.option("--timeout", type=float, default=None, help="Seconds it may take.")
@click.option("--wait", is_flag=True, help="Queue behind who has these CPUs.")
@click.option("--srun", metavar="WORDS", default=None, help="Start it by srun, so.")
def observe_command(
    argv: tuple[str, ...],
    metrics: str,
    pairs: tuple[str, ...],
    cwd: str,
    host: str,
    srun: str | None,
    **same: Any,
) -> None:
    """Run a command, sample metrics meanwhile, and record what became of it.

    It exits as the command does; 128 and the number of a signal that ended it.
    """
    wish = {
        **same,
        "argv": argv,
        "metrics": [name for name in metrics.split(",") if name],
        "env": _environment(pairs),
        "host": host,
        "cwd": _folder(cwd, host),
        "attended": True,
    }
    api = ApiClient(home_of())
    session = api.ask("POST", "/observations", json.dumps(wish).encode())
    if session["reason"]:
        _say(session["reason"])
    if session["program"] is None:
        sys.exit(_follow(api, session))
    sys.exit(_attend(api, session, _before(srun)))


def _attend(api: ApiClient, session: Any, before: list[str]) -> int:
    """Run here what is to be run, as often as wished; the first status but 0."""
    status, program = 0, session["program"]
    runs = Runs()
    while program is not None:
        attendant = Attendant(api, session["id"], before, runs)
        attendant.run(program)
        status, program = status or attendant.status, attendant.next_program
    return status


class Runs:
    """Tells of each run once, when it is over."""

    def __init__(self) -> None:
        self._told = 0

    def tell(self, runs: list[Any]) -> None:
        """Tell of those that were not told of."""
        for run in runs[self._told :]:
            _say(f"{run['outcome']} after {run['seconds']:.3f} s: {run['node']}")
            if run["left"]:
                left = ", ".join(run["left"])
                _say(f"it left {left} behind, which was ended")
        self._told = len(runs)


class Attendant:
    """Runs one program here and tells the API what it says."""

    def __init__(self, api: ApiClient, id_: str, before: list[str], runs: Runs) -> None:
        self.status = 1
        self.next_program: str | None = None
        self._api, self._path = api, f"/observations/{id_}/events"
        self._before, self._runs = before, runs
        self._unsent: list[Event] = []
        self._is_lost = False

    def run(self, program: str) -> None:
        """Run it to its end, whatever becomes of the API."""
        environment = {k: v for k, v in os.environ.items() if k[:10] != "SUPERTWIN_"}
        with (
            here(program.encode(), environment, self._before) as running,
            _interruptible(running.cancel),
        ):
            for event in events(running):
                if not _show(event):
                    running.cancel()
                self._tell(event, running)
                self.status = _status(event, self.status)
        self._deliver(running)

    def _tell(self, event: Event, running: Running) -> None:
        if event["event"] not in _TOLD:
            return
        self._unsent.append(event)
        if event["event"] != _UNTIL_TOLD:
            self._send(running)
        if event["event"] == "over":
            running.let_go()

    def _deliver(self, running: Running) -> None:
        """Say the last words to an API that is away for a moment."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while self._unsent and not self._is_lost:
            if time.monotonic() > until:
                _say("this run is not recorded: SuperTwin does not answer")
                return
            time.sleep(_PAUSE_SECONDS)
            self._send(running)

    def _send(self, running: Running) -> None:
        body = b"".join(json.dumps(one).encode() + b"\n" for one in self._unsent)
        try:
            answer = None if self._is_lost else self._api.ask("POST", self._path, body)
        except AwayError:  # perhaps for a moment: it is sent with what comes next
            return
        except ApiAnswerError as error:
            self._is_lost = True
            _say(f"this run is not recorded: {error.message}")
            return
        self._unsent.clear()
        if answer is not None:
            self._heed(answer, running)

    def _heed(self, answer: Any, running: Running) -> None:
        self.next_program = answer["program"]
        self._runs.tell(answer["runs"])
        if answer["problem"]:
            _say(answer["problem"])
        if answer["cancel"]:
            running.cancel()


def _follow(api: ApiClient, session: Any) -> int:
    """Show what an observation says that runs elsewhere; its status."""
    path = f"/observations/{session['id']}"
    status, runs = 0, Runs()
    with _interruptible(lambda: api.ask("DELETE", path)):
        for event in api.events(f"{path}/events"):
            if not _show(event):
                api.ask("DELETE", path)
            status = _status(event, status)
            if event["event"] == "closed":
                runs.tell(event["runs"])
                if event["problem"]:
                    _say(event["problem"])
                    return status or 1
    return status


def _before(srun: str | None) -> list[str]:
    """What starts the runner in its place; one task, for it is one runner."""
    if srun is None:
        return []
    import shlex

    return ["srun", *shlex.split(srun), "--ntasks=1"]


def _folder(cwd: str, host: str) -> str:
    """Where it runs; a folder of this machine means nothing on another."""
    return cwd if host else str(Path(cwd).absolute())


def _environment(pairs: tuple[str, ...]) -> Mapping[str, str]:
    found = dict(pair.partition("=")[::2] for pair in pairs)
    if wrong := [pair for pair in pairs if "=" not in pair[1:]]:
        raise click.BadParameter(f"--env {wrong[0]!r} is no K=V")
    return found


@contextmanager
def _interruptible(cancel: Callable[[], object]) -> Iterator[None]:
    """Have the command ended by what would end us; we go on to say how that went."""
    before = {number: signal.getsignal(number) for number in _ENDINGS}
    for number in _ENDINGS:
        signal.signal(number, lambda *_: cancel())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _show(event: Event) -> bool:
    """Let the command's own output go where it would go; whether somebody reads it."""
    if event["event"] == "output":
        descriptor = 1 if event["stream"] == "stdout" else 2
        try:
            os.write(descriptor, base64.b64decode(event["data"]))
        except BrokenPipeError:
            return False
    return True


def _status(event: Event, status: int) -> int:
    """The status of a run that ended; else the one from before."""
    if event["event"] == "refused":
        return _REFUSED
    if event["event"] != "ended":
        return status
    return int(event["exit"] if event["exit"] is not None else 128 + event["signal"])


def _say(line: str) -> None:
    click.echo(f"supertwin: {line}", err=True)
