"""The command line: `supertwin up`, `down`, `status`, and what others add to it.

Errors are one line on stderr that names the thing and the cure; exit 2 for what the
user can mend, 1 for a failure.
"""

import contextlib
import importlib
import json
import signal
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from supertwin import report
from supertwin.account_lines import read_sampled, sampled_lines, status_path
from supertwin.cli import summary
from supertwin.errors import SuperTwinError
from supertwin.settings import Settings
from supertwin.stack import stack
from supertwin.stack.state import StackState, read_json, write_json
from supertwin.stack.tools import CHECKOUT

if TYPE_CHECKING:
    from supertwin.loading import Twin

_INTERRUPTED = 130
_SAMPLES_WITHIN = 15.0
_LOOK = 0.1

# Imported when they are called: `status` must not wait for pySHACL.
_LATER = {
    "catalogue": "supertwin.cli.catalogue:catalogue_command",
    "dashboards": "supertwin.cli.dashboards:dashboards_command",
    "export": "supertwin.cli.export:export_group",
    "import": "supertwin.cli.export:import_group",
    "ingest": "supertwin.cli.ingest:ingest_command",
    "probe": "supertwin.cli.ingest:probe_command",
    "cgroups": "supertwin.cli.cgroups:cgroups_group",
    "pin": "supertwin.cli.pin:pin_command",
    "process": "supertwin.cli.processes:process_command",
    "query": "supertwin.cli.queries:query",
    "run": "supertwin.cli.services:run_command",
    "check": "supertwin.cli.services:check_command",
    "add": "supertwin.cli.fleet:add_command",
    "diff": "supertwin.cli.fleet:diff_command",
    "open": "supertwin.cli.fleet:open_command",
    "perfevent": "supertwin.cli.perfevent:perfevent_command",
    "remove": "supertwin.cli.fleet:remove_command",
    "sample": "supertwin.cli.sample:sample_group",
    "token": "supertwin.cli.token:token_group",
    "compact": "supertwin.cli.services:compact_command",
    "why": "supertwin.cli.why:why_command",
}


class Root(click.Group):
    """A group whose commands never end in a traceback; some are imported when used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted([*super().list_commands(ctx), *_LATER])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None when there is none of that name."""
        if cmd_name not in _LATER:
            return super().get_command(ctx, cmd_name)
        module, _, name = _LATER[cmd_name].partition(":")
        found: click.Command = getattr(importlib.import_module(module), name)
        return found

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn what it raises into one line and an exit status."""
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort):
            raise
        except click.ClickException as error:
            click.echo(f"supertwin: {report.usage_line(error)}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("supertwin: interrupted", err=True)
            ctx.exit(_INTERRUPTED)
        except Exception as error:
            if ctx.params.get("traceback"):
                raise
            for line in report.error_lines(error):
                click.echo(f"supertwin: {line}", err=True)
            ctx.exit(report.exit_code(error))


@click.group(cls=Root)
@click.version_option(package_name="supertwin")
@click.option("--traceback", is_flag=True, help="Show where in the code it fails.")
def main(traceback: bool) -> None:
    """A semantic digital twin of HPC machines."""


@main.command()
def up() -> None:
    """Start the stack, load this machine's twin, start monitoring; once is enough."""
    settings = Settings()
    # A terminal that closes, or a `make` that is ended, is an interruption too.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    with stack.turn(settings, _progress):
        _up(settings)


def _up(settings: Settings) -> None:
    began = time.time()
    with stack.started(settings, _progress) as state:
        twin = _load(settings, state)
        if twin.monitored:
            _wait_for_samples(settings)
            _open_once(settings)
    verb = "was up already, seen" if state.started < began else "up"
    _progress(f"{verb} after {time.time() - began:.1f} s")
    for line in summary.up_lines(settings, twin):
        click.echo(line)


@main.command()
def down() -> None:
    """Stop what `up` started, and nothing else."""
    ran = stack.stop(Settings(), _progress)
    click.echo("stopped" if ran else "nothing is running")


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print the state as JSON.")
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """What runs, since when, and the account of all points; exit 0 when all is well."""
    settings = Settings()
    state = stack.status(settings)
    sampled = read_sampled(settings.home / "bridge", settings.host)
    if as_json:
        found = {**asdict(state), **asdict(sampled)} if state else None
        click.echo(json.dumps(found, indent=1))
    else:
        lines = summary.status_lines(state) if state else ["nothing is running"]
        click.echo("\n".join([*lines, *(sampled_lines(sampled) if state else [])]))
    ctx.exit(0 if state and state.healthy else 1)


@main.command()
def docs() -> None:
    """Write the pages under docs/ that come from the code."""
    from supertwin.pages import write_pages

    for path in write_pages(CHECKOUT / "docs", main):
        click.echo(path)


def _load(settings: Settings, state: StackState) -> "Twin":
    """Load this machine's twin, unless this very stack has done so."""
    from supertwin.loading import load_host, read_twin

    done = settings.home / "loaded.json"
    twin = read_twin(settings, settings.host)
    if twin is None or (read_json(done) or {}).get("stack") != state.started:
        load_host(settings, state.pmcd, _progress)
        write_json(done, {"stack": state.started})
        twin = read_twin(settings, settings.host)
    if twin is None:
        raise SuperTwinError(f"{settings.host} was loaded, but the graph lacks it")
    return twin


def _wait_for_samples(settings: Settings) -> None:
    """Wait until the bridge has taken up the plan, so that `up` ends with series."""
    status = status_path(settings.home / "bridge", settings.host)
    deadline = time.monotonic() + _SAMPLES_WITHIN
    while time.monotonic() < deadline:
        if (read_json(status) or {}).get("written"):
            return
        time.sleep(_LOOK)
    _progress(f"no sample after {_SAMPLES_WITHIN:.0f} s: {status} says why")


def _open_once(settings: Settings) -> None:
    """Ask for the first page, which takes a second when nobody has asked before."""
    import httpx

    address = f"{settings.api}/dashboards/monitor"
    with contextlib.suppress(httpx.HTTPError):
        httpx.get(address, params={"host": settings.host}, timeout=10, trust_env=False)


def _progress(line: str) -> None:
    click.echo(line, err=True)
