"""Runs the commands of a session as child processes, and reports to the API."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Event as Signal
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from observations.errors import LaunchError
from observations.launch import ChildRunner, RunnerEvent, events
from supertwin.cli.api_client import ApiAnswerError, ApiUnavailableError
from supertwin.cli.run_streams import (
    CommandOutput,
    OutputEnd,
    RunMessages,
    interruptible,
    say,
    status_of,
)

if TYPE_CHECKING:
    from observations.printed_runs import Api

_REPORTED = (
    "started",
    "alive",
    "over",
    "about",
    "pop",
    "hot_loops",
    "profile",
    "regions",
    "ended",
    "refused",
)
# Sent with the next event.
_SENT_WITH_NEXT = ("about", "pop", "hot_loops", "profile", "regions")
_HEARTBEAT_SECONDS = 5.0
_PATIENCE_SECONDS, _PAUSE_SECONDS = 30.0, 0.5
_ELSEWHERE = (
    "it was started on another machine: name that machine (--host), or start the "
    "command on this one (srun's -w)"
)


def attend(
    api: "Api",
    session: Any,
    first: ChildRunner | None,
    prestart: Callable[[], AbstractContextManager[ChildRunner]],
    boot: str = "",
    shown: Callable[[], OutputEnd] = CommandOutput,
) -> int:
    """Run all runs of a session here; return the first exit status that is not 0.

    ``first`` is the runner of the first run if it was prestarted; ``prestart`` starts
    the others. If ``boot`` is given, the command must run on the machine with this boot
    id. ``shown`` makes what takes the output of a run.
    """
    reporter = Reporter(api, session["id"])
    status, program = 0, session["program"]
    while program is not None:
        with nullcontext(first) if first else prestart() as runner:
            runner.start(program.encode())
            run_status = _follow(runner, reporter, boot, shown())
        first = None
        reporter.deliver()
        status, program = status or run_status, reporter.next_program
    return status


def _follow(
    runner: ChildRunner, reporter: "Reporter", boot: str, output: OutputEnd
) -> int:
    """Follow a run to its end, even if the API ends; return its exit status."""
    status = 1

    def cancel() -> None:
        output.cut()
        runner.cancel()

    with interruptible(cancel), reporter.heartbeats(cancel):
        for event in _on_machine(_events_or_refusal(runner), boot):
            if not output.show(event) or event["event"] == "refused":
                cancel()
            reporter.report(event)
            if event["event"] == "over":
                runner.release()
            status = status_of(event, status)
    return status


class Reporter:
    """Sends the events of a session's runs to the API, and prints its answers.

    ``next_program`` is the program of the next run, from the API's last answer; None if
    there is none. One thread reports events; another sends heartbeats.
    """

    def __init__(self, api: "Api", id_: str) -> None:
        self.next_program: str | None = None
        self._api, self._path = api, f"/observations/{id_}/events"
        self._messages = RunMessages()
        # The reporting thread appends; a thread that has the lock sends and removes.
        self._unsent: list[RunnerEvent] = []
        self._sending = Lock()
        self._sent, self._sent_at = 0, time.monotonic()
        self._is_lost = False
        self._cancel: Callable[[], None] = lambda: None

    def report(self, event: RunnerEvent) -> None:
        """Send an event now or with the next one; output is not sent."""
        if event["event"] in _REPORTED:
            self._unsent.append(event)
            if event["event"] not in _SENT_WITH_NEXT:
                self._send()

    @contextmanager
    def heartbeats(self, cancel: Callable[[], None]) -> Iterator[None]:
        """Send heartbeats, also while the command waits for a reader or a node.

        The API may answer any report with the request to ``cancel`` the run.
        """
        self._cancel, over = cancel, Signal()

        def send_heartbeats() -> None:
            while not over.wait(_HEARTBEAT_SECONDS):
                if time.monotonic() - self._sent_at > _HEARTBEAT_SECONDS:
                    self._send()

        Thread(target=send_heartbeats, daemon=True).start()
        try:
            yield
        finally:
            over.set()

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

    def _send(self) -> None:
        with self._sending:
            self._sent_at = time.monotonic()
            now = list(self._unsent)
            try:
                answer = None if self._is_lost else self._post(now)
            except ApiUnavailableError:  # perhaps only briefly: the next call sends it
                return
            except ApiAnswerError as error:
                self._is_lost = True
                say(f"this run is not recorded: {error}")
                answer = None
            self._sent += len(now)
            del self._unsent[: len(now)]
            self._apply(answer)

    def _post(self, reported: list[RunnerEvent]) -> Any:
        body = b"".join(json.dumps(one).encode() + b"\n" for one in reported)
        return self._api.ask("POST", f"{self._path}?first={self._sent}", body)

    def _apply(self, answer: Mapping[str, Any] | None) -> None:
        self.next_program = answer["program"] if answer else None
        if answer:
            self._messages.print_new(answer)
            if answer["cancel"]:
                self._cancel()


def _on_machine(found: Iterator[RunnerEvent], boot: str) -> Iterator[RunnerEvent]:
    """Yield events, or a refusal if the command started on another machine."""
    for event in found:
        if event["event"] == "started" and boot not in ("", event["boot"]):
            yield {"event": "refused", "reason": _ELSEWHERE}
            return
        yield event


def _events_or_refusal(runner: ChildRunner) -> Iterator[RunnerEvent]:
    """Yield the runner's events, or a refusal if it ends before its first event."""
    is_started = False
    try:
        for event in events(runner):
            is_started = True
            yield event
    except LaunchError as error:
        if is_started:
            raise
        yield {"event": "refused", "reason": str(error)}
