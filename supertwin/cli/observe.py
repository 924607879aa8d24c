"""`supertwin observe`: run a command, sampled and recorded.

The API samples and records. The command runs here, in the environment, limits and
control group that it would have without us, or where the API can start it. Slow imports
are avoided: a command that takes a second must not take two.
"""

import json
import os
import sys
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import click

from core.settings.home import home_of
from observations.launch import ChildRunner, inherited_environment, prestarted_runner
from supertwin.cli.api_client import ApiClient
from supertwin.cli.attended_runs import attend
from supertwin.cli.parameters import TEXT, UTF8_TEXT, FiniteNumber
from supertwin.cli.run_streams import (
    CommandInput,
    CommandOutput,
    RunMessages,
    command_input,
    interruptible,
    say,
    status_of,
)
from supertwin.cli.srun import boot_id, srun_words

_SHOWN_BYTES = 1 << 20


# Options after the command belong to it, as with `env` and `nice`.
@click.command("observe", context_settings={"allow_interspersed_args": False})
@click.argument("argv", metavar="-- COMMAND…", nargs=-1, required=True, type=UTF8_TEXT)
@click.option("--host", type=TEXT, help="Host to run it on.  [default: this host]")
@click.option(
    "--pin",
    type=TEXT,
    metavar="POLICY",
    help="Choose the CPUs as `supertwin pin` does.",
)
@click.option(
    "--threads", type=TEXT, metavar="N", help="Number of CPUs that --pin chooses."
)
@click.option(
    "--cpus", type=TEXT, metavar="LIST", help="CPUs to bind it to, such as 0-3,8."
)
@click.option(
    "--metric", "metrics", multiple=True, type=TEXT, help="Metric, named as in PCP."
)
@click.option("--metrics", "listed", default="", hidden=True)
@click.option(
    "--role", "roles", multiple=True, type=TEXT, help="Role to measure, such as FLOPs."
)
@click.option(
    "--figure",
    "figures",
    multiple=True,
    type=TEXT,
    help="Figure whose roles to measure.",
)
@click.option("--event", "events", multiple=True, type=TEXT, help="PMU event to count.")
@click.option(
    "--every",
    type=TEXT,
    default="1s",
    show_default=True,
    help="Time between two samples: 1ms to 1h.",
)
@click.option(
    "--repeat", type=click.IntRange(1, 1000), default=1, help="Run it N times."
)
@click.option("--multiplex", is_flag=True, help="Let events share counters.")
@click.option(
    "--passes",
    is_flag=True,
    help="Run it once for each group of events that fits the counters.",
)
@click.option(
    "--events-per-pass",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Count N events at most in a pass, plus one that all share; implies --passes.",
)
@click.option(
    "--tag", "tags", multiple=True, type=TEXT, help="Text to find the run by."
)
@click.option(
    "--env",
    "pairs",
    multiple=True,
    type=UTF8_TEXT,
    metavar="K=V",
    help="Environment variable to add.",
)
@click.option("--cwd", type=TEXT, help="Folder to run in; default: this one.")
@click.option(
    "--timeout",
    type=FiniteNumber(min=0, min_open=True),
    metavar="SECONDS",
    default=None,
    help="End the command after this time.",
)
@click.option("--pop", is_flag=True, help="Record the POP metrics of OpenMP and MPI.")
@click.option(
    "--libomp",
    is_flag=True,
    help="Record GCC's OpenMP, too, by running it on LLVM's libomp; implies --pop.",
)
@click.option(
    "--trace",
    is_flag=True,
    help="Record also when, for the timeline of the run; implies --pop.",
)
@click.option(
    "--hot-loops",
    is_flag=True,
    help="Sample where it computes, and analyse its hot loops.",
)
@click.option("--profile", is_flag=True, help="Sample its stacks on the CPU.")
@click.option(
    "--off-cpu", is_flag=True, help="Profile where it waits, too; implies --profile."
)
@click.option(
    "--rate",
    type=click.IntRange(1, 1000),
    metavar="HZ",
    help="Samples of a profile in a second of CPU time; default: 99.",
)
@click.option("--regions", is_flag=True, help="Record the regions that it names.")
@click.option("--wait", is_flag=True, help="Wait until these CPUs are free.")
@click.option(
    "--srun",
    metavar="WORDS",
    default=None,
    help='Start it by srun with these options, such as "-p debug".',
)
def observe_command(
    argv: tuple[str, ...],
    metrics: tuple[str, ...],
    listed: str,
    pairs: tuple[str, ...],
    cwd: str | None,
    host: str | None,
    srun: str | None,
    **options: Any,
) -> None:
    """Run a command, sample metrics while it runs, and record how it ended.

    Options go before the command. The exit status is that of the command, or 128 plus
    the number of the signal that ended it.
    """
    body = {
        **{name: value for name, value in options.items() if value is not None},
        "argv": argv,
        "metrics": [name for name in (*metrics, *listed.split(",")) if name],
        "env": _environment(pairs),
        "host": host or "",
        "cwd": _folder(cwd, host),
        "attended": True,
        "own_way": srun is not None,
    }
    is_child = not host and srun is None
    in_passes = options["passes"] or options["events_per_pass"]
    source = command_input(is_child, 2 if in_passes else options["repeat"])
    api, prestart = ApiClient(home_of()), partial(_prestart, srun_words(srun), source)
    boot = boot_id() if srun is not None and not host else ""
    with ExitStack() as stack:
        # The runner starts while the API prepares; with srun, it might queue for nodes.
        first = stack.enter_context(prestart()) if is_child else None
        session = api.ask(
            "POST", "/observations", json.dumps(body).encode(), queues=options["wait"]
        )
        if session["reason"]:
            say(session["reason"])
        if session["program"] is None:
            status = _follow(api, session)
        else:
            if srun is None or not host:
                _leave_cpus(session["cpus"])
            status = attend(api, session, first, prestart, boot)
    _exit(status)


def _prestart(
    before: list[str], source: CommandInput
) -> AbstractContextManager[ChildRunner]:
    """Start a runner in our environment; ``before``: see `prestarted_runner`."""
    source.rewind()
    return prestarted_runner(inherited_environment(), before, source.number)


def _leave_cpus(cpus: Collection[int]) -> None:
    """Leave the CPUs of the command, unless it takes all.

    The runner sets its own affinity; without chosen CPUs the command keeps the CPUs
    that we were allowed at first.
    """
    if others := os.sched_getaffinity(0) - {*cpus}:
        os.sched_setaffinity(0, others)


def _exit(status: int) -> NoReturn:
    """Exit at once: the caller of the command need not wait for Python's cleanup."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # the reader has ended
            stream.flush()
    os._exit(status)


def _follow(api: ApiClient, session: Any) -> int:
    """Show the events of an observation that the API runs; return its status."""
    path = f"/observations/{session['id']}"
    status, messages, output = 0, RunMessages(), CommandOutput()

    def cancel() -> None:
        output.cut()
        api.ask("DELETE", path)

    with interruptible(cancel):
        for event in api.events(f"{path}/events"):
            if not output.show(event):
                cancel()
            status = status_of(event, status)
            if event["event"] == "ended":
                _say_what_is_missing(event["output"])
            if event["event"] == "closed":
                messages.print_new(event)
                return status or int(bool(event["problem"]))
    return status


def _say_what_is_missing(output: Mapping[str, Any]) -> None:
    """Report missing output: the API passes on only the first MiB per stream."""
    for name, kept in output.items():
        if kept["bytes"] > _SHOWN_BYTES:
            more = kept["bytes"] - _SHOWN_BYTES
            say(f"{more} more bytes of its {name} are not shown")


def _folder(cwd: str | None, host: str | None) -> str:
    """The folder of the command; a local path means nothing on another host."""
    return cwd or "" if host else str(Path(cwd or "").absolute())


def _environment(pairs: tuple[str, ...]) -> Mapping[str, str]:
    found = dict(pair.partition("=")[::2] for pair in pairs)
    if wrong := [pair for pair in pairs if "=" not in pair[1:]]:
        raise click.BadParameter(f"--env {wrong[0]!r}: expected NAME=VALUE")
    return found
