"""Run an observed command as a child process, and report to the API."""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Event as Signal
from threading import Lock, Thread
from typing import Any

from observations.errors import LaunchError
from observations.launch import RunnerEvent, RunnerHandle, events, prestarted_runner
from supertwin.cli.api_client import ApiAnswerError, ApiClient, ApiUnavailableError
from supertwin.cli.run_input import Input
from supertwin.cli.run_output import CommandOutput, Runs, interruptible, say, status_of

Begin = Callable[[bytes], RunnerHandle]

_REPORTED = ("started", "alive", "over", "about", "ended", "refused")
_SENT_WITH_NEXT = "about"  # sent together with the next event
_HEARTBEAT_SECONDS = 5.0
_PATIENCE_SECONDS, _PAUSE_SECONDS = 30.0, 0.5
_ELSEWHERE = (
    "it was started on another machine: name that machine (--host), or start the "
    "command on this one (srun's -w)"
)


def starter(before: list[str], source: Input) -> AbstractContextManager[Begin]:
    """Prepare to start a program in our environment; ``before``: see
    `launch.prestarted_runner`.
    """
    source.rewind()
    environment = {k: v for k, v in os.environ.items() if k[:10] != "SUPERTWIN_"}
    return prestarted_runner(environment, before, source.number)


def attend(
    api: ApiClient,
    session: Any,
    begin: Begin | None,
    another: Callable[[], AbstractContextManager[Begin]],
    boot: str = "",
) -> int:
    """Run all runs of a session here; return the first exit status that is not 0.

    ``begin`` starts the first run if it is ready; ``another`` prepares the others. If
    ``boot`` is given, the command must run on the machine with this boot id.
    """
    attendant = AttendedRunner(api, session["id"], boot)
    status, program = 0, session["program"]
    while program is not None:
        with nullcontext(begin) if begin else another() as start:
            attendant.run(start(program.encode()))
        begin = None
        attendant.deliver()
        status, program = status or attendant.status, attendant.next_program
    return status


class AttendedRunner:
    """Runs programs here and forwards their events to the API."""

    def __init__(self, api: ApiClient, id_: str, boot: str) -> None:
        self.status = 1
        self.next_program: str | None = None
        self._api, self._path = api, f"/observations/{id_}/events"
        self._runs, self._boot = Runs(), boot
        self._unsent: list[RunnerEvent] = []
        self._sent, self._sent_at = 0, time.monotonic()
        self._sending = Lock()
        self._is_lost = False
        self._cancel: Callable[[], None] = lambda: None

    def run(self, running: RunnerHandle) -> None:
        """Follow a run to its end, even if the API ends."""
        output = CommandOutput()

        def cancel() -> None:
            output.cut()
            running.cancel()

        self._cancel, self.status = cancel, 1
        with interruptible(cancel), self._heartbeats():
            for event in _placed(_started(running), self._boot):
                if not output.show(event) or event["event"] == "refused":
                    cancel()
                self._runs.note_refusal(event)
                self._queue(event)
                if event["event"] == "over":
                    running.release()
                self.status = status_of(event, self.status)

    def deliver(self) -> None:
        """Send the remaining events to an API that is briefly unavailable."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while self._unsent and not self._is_lost:
            if time.monotonic() > until:
                say("this run is not recorded: SuperTwin does not answer")
                self._is_lost = True
                self.next_program = None
                return
            time.sleep(_PAUSE_SECONDS)
            self._send()

    def _queue(self, event: RunnerEvent) -> None:
        if event["event"] in _REPORTED:
            self._unsent.append(event)
            if event["event"] != _SENT_WITH_NEXT:
                self._send()

    @contextmanager
    def _heartbeats(self) -> Iterator[None]:
        """Send a heartbeat, also while the command waits for a reader or a node."""
        over = Signal()

        def send_heartbeats() -> None:
            while not over.wait(_HEARTBEAT_SECONDS):
                if time.monotonic() - self._sent_at > _HEARTBEAT_SECONDS:
                    self._send()

        Thread(target=send_heartbeats, daemon=True).start()
        try:
            yield
        finally:
            over.set()

    def _send(self) -> None:
        with self._sending:
            self._send_all()

    def _send_all(self) -> None:
        self._sent_at = time.monotonic()
        now = list(self._unsent)
        body = b"".join(json.dumps(one).encode() + b"\n" for one in now)
        path = f"{self._path}?first={self._sent}"
        try:
            answer = None if self._is_lost else self._api.ask("POST", path, body)
        except ApiUnavailableError:  # perhaps only briefly: the next call sends it
            return
        except ApiAnswerError as error:
            self._is_lost = True
            say(f"this run is not recorded: {error}")
            answer = None
        self._sent += len(now)
        del self._unsent[: len(now)]
        self._heed(answer)

    def _heed(self, answer: Mapping[str, Any] | None) -> None:
        self.next_program = answer["program"] if answer else None
        if answer:
            self._runs.print_new(answer)
            if answer["cancel"]:
                self._cancel()


def _placed(printed: Iterator[RunnerEvent], boot: str) -> Iterator[RunnerEvent]:
    """The runner's events, as long as it runs on the expected machine."""
    for event in printed:
        if event["event"] == "started" and boot not in ("", event["boot"]):
            yield {"event": "refused", "reason": _ELSEWHERE}
            return
        yield event


def _started(running: RunnerHandle) -> Iterator[RunnerEvent]:
    """The runner's events, or one that says that nothing could be started."""
    last = ""
    try:
        for event in events(running):
            last = event["event"]
            yield event
    except LaunchError as error:
        if last:
            raise
        yield {"event": "refused", "reason": str(error)}
