"""The command line: all commands by name, and the reporting of their errors.

An error is one line on stderr that names the thing and the fix, and ends with its code
in brackets. The exit status is 2 for what the user can fix, 1 for a failure.
"""

import os
import select
import sys
from typing import Any, NoReturn

import click

from supertwin.cli.descriptors import open_closed_descriptors
from supertwin.cli.lazy import LazyGroup

BAD_USAGE = "bad-usage"
_INTERRUPTED = 130
_PIPE_CLOSED = 141  # what a shell reports for SIGPIPE

# Imported on use: `observe` must not wait for pySHACL or the settings.
_COMMANDS = {
    "accuracy": "supertwin.cli.accuracy:accuracy_command",
    "bench": "supertwin.cli.bench:bench_command",
    "backup": "supertwin.cli.backup:backup_command",
    "restore": "supertwin.cli.backup:restore_command",
    "catalogue": "supertwin.cli.catalogue:catalogue_command",
    "dashboards": "supertwin.cli.dashboards:dashboards_command",
    "export": "supertwin.cli.export:export_group",
    "import": "supertwin.cli.export:import_group",
    "ingest": "supertwin.cli.ingest:ingest_command",
    "probe": "supertwin.cli.ingest:probe_command",
    "cgroups": "supertwin.cli.cgroups:cgroups_group",
    "pin": "supertwin.cli.pin:pin_command",
    "predict": "supertwin.cli.predict:predict_command",
    "process": "supertwin.cli.processes:process_command",
    "probes": "supertwin.cli.probes:probes_group",
    "query": "supertwin.cli.queries:query",
    "run": "supertwin.cli.services:run_command",
    "check": "supertwin.cli.services:check_command",
    "add": "supertwin.cli.fleet:add_command",
    "diff": "supertwin.cli.fleet:diff_command",
    "forget": "supertwin.cli.forget:forget_command",
    "observe": "supertwin.cli.observe:observe_command",
    "open": "supertwin.cli.fleet:open_command",
    "log": "supertwin.cli.log:log_command",
    "mcp": "supertwin.cli.mcp:mcp_command",
    "mix": "supertwin.cli.mix:mix_command",
    "ontology": "supertwin.cli.ontology:ontology_group",
    "agent": "supertwin.cli.agent:agent_group",
    "perfevent": "supertwin.cli.perfevent:perfevent_command",
    "remove": "supertwin.cli.fleet:remove_command",
    "roofline": "supertwin.cli.roofline:roofline_command",
    "scaling": "supertwin.cli.scaling:scaling_command",
    "sample": "supertwin.cli.sample:sample_group",
    "token": "supertwin.cli.token:token_group",
    "compact": "supertwin.cli.services:compact_command",
    "baseline": "supertwin.cli.baseline:baseline_group",
    "compare": "supertwin.cli.compare:compare_command",
    "docs": "supertwin.cli.stack:docs_command",
    "down": "supertwin.cli.stack:down_command",
    "status": "supertwin.cli.stack:status_command",
    "up": "supertwin.cli.stack:up_command",
    "virtual": "supertwin.cli.virtual:virtual_group",
    "why": "supertwin.cli.why:why_command",
}


class RootCommand(LazyGroup):
    """The group of all commands; errors do not end in a traceback."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line."""
        open_closed_descriptors()
        return super().main(*args, **kwargs)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Parse the options before the command; report the errors as `invoke` does."""
        try:
            return super().make_context(*args, **extra)
        except click.ClickException as error:
            _show_usage(error)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn an exception into one line and an exit status."""
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort):
            raise
        except click.ClickException as error:
            _show_usage(error)
        except KeyboardInterrupt:
            click.echo("supertwin: interrupted", err=True)
            ctx.exit(_INTERRUPTED)
        except Exception as error:
            if isinstance(error, BrokenPipeError) and _stdout_is_closed():
                _drop_stdout()
                ctx.exit(_PIPE_CLOSED)
            if ctx.params.get("traceback"):
                raise
            from core.errors import error_code, error_lines, exit_code

            first, *more = error_lines(error)
            _echo(first, error_code(error))
            for line in more:
                click.echo(f"supertwin: {line}", err=True)
            ctx.exit(exit_code(error))


@click.group(cls=RootCommand, lazy=_COMMANDS)
@click.version_option(package_name="supertwin")
@click.option("--traceback", is_flag=True, help="Show where in the code it fails.")
def main(traceback: bool) -> None:
    """A semantic digital twin of HPC machines."""


def _show_usage(error: click.ClickException) -> NoReturn:
    """Print one line, after the help of a group without a command; exit."""
    line = _line(error)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        line = f"name a command of `{error.ctx.command_path}`" if error.ctx else line
    _echo(line, BAD_USAGE)
    raise click.exceptions.Exit(error.exit_code)


def _echo(line: str, code: str) -> None:
    """Print an error; its code comes last, so that the text is read first."""
    click.echo(f"supertwin: {line} [{code}]", err=True)


def _stdout_is_closed() -> bool:
    """Whether the reader of our output has gone, as in ``supertwin … | head``."""
    poll = select.poll()
    poll.register(1, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _drop_stdout() -> None:
    """Discard buffered output: the flush at exit would raise an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _line(error: click.ClickException) -> str:
    """The error; for a usage error, also where to find help."""
    line = " ".join(error.format_message().split())
    if not isinstance(error, click.UsageError):
        return line
    command = error.ctx.command_path if error.ctx else "supertwin"
    return f"{line} (see `{command} --help`)"
