"""Runs a command in our own way, such as by srun, and returns what it prints."""

import base64
import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from observations.launch import RunnerEvent, inherited_environment, prestarted_runner
from observations.printed_runs import (
    Api,
    PrintedRuns,
    check_ended,
    wait_until_recorded,
)
from supertwin.cli.attended_runs import attend
from supertwin.cli.srun import boot_id


class _KeptOutput:
    """The output of a command, by stream."""

    def __init__(self) -> None:
        self.streams = {"stdout": b"", "stderr": b""}
        self.is_cut = False

    def show(self, event: RunnerEvent) -> bool:
        if event["event"] == "output":
            self.streams[event["stream"]] += base64.b64decode(event["data"])
        return True

    def cut(self) -> None:
        """Note that the run is cancelled: no reader is waited for."""
        self.is_cut = True


def attended_output(
    before: tuple[str, ...], api: Api, body: Mapping[str, Any], name: str
) -> PrintedRuns:
    """Do as `printed_runs` for one run, whose runner ``before`` starts.

    A run on this machine is refused if it was started on another one. Raises
    KeyboardInterrupt if the run was cancelled, by a signal or through the API.
    """
    own = {**body, "attended": True, "own_way": True}
    text = json.dumps(own).encode()
    session = api.ask("POST", "/observations", text, queues=body.get("wait", False))
    boot, kept = "" if body["host"] else boot_id(), _KeptOutput()
    start = partial(prestarted_runner, inherited_environment(), before)
    attend(api, session, None, start, boot, lambda: kept)
    closed = wait_until_recorded(api, f"/observations/{session['id']}", 0)
    if kept.is_cut and not closed["problem"]:
        raise KeyboardInterrupt
    check_ended(name, closed, kept.streams["stderr"])
    wait_until_recorded(api, f"/observations/{session['id']}", 1)
    printed = kept.streams["stdout"].decode(errors="replace")
    return PrintedRuns({session["id"]: printed}, session["cpus"])
