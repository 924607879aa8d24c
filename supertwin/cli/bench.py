"""`supertwin bench`: measure what a host can do."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from benchmarks.errors import (
    BenchmarkFolderError,
    BenchmarkMachineError,
    BenchmarkOutputError,
    NoCompilerError,
    NotInstalledError,
)
from benchmarks.imported import import_results
from benchmarks.installed.fields import MOST_THREADS
from benchmarks.installed.source import built
from benchmarks.machine import Machine
from benchmarks.measure import Bench, measure
from benchmarks.programs import Program
from benchmarks.record import lines
from benchmarks.suites import FULL, QUICK, SUITES, Effort, Suite, fio, hpcg
from core.errors import SuperTwinError
from core.linux.signals import signals_as_interrupt
from core.settings.settings import Settings
from core.stores.datasets import dataset
from observations.errors import BenchmarkError
from observations.printed_runs import printed_runs
from supertwin.cli.api_client import ApiClient
from supertwin.cli.attended_output import attended_output
from supertwin.cli.host import HOST
from supertwin.cli.parameters import TEXT, NonEmptyPath
from supertwin.cli.srun import srun_words
from supertwin.cli.wording import counted

# The suite that measures roofs.
_ROOFS = "carm"
_QUICK = (_ROOFS, "stream")
# Suites whose outputs other programs write.
_FOREIGN = ("fio", "hpcc", "hpcg")
_LACKING = (
    BenchmarkFolderError,
    BenchmarkMachineError,
    NoCompilerError,
    NotInstalledError,
)


@click.command("bench")
@click.argument("what", type=click.Choice(["list", "quick", "all", *SUITES]))
@click.option("--host", type=HOST, help="Host to measure.  [default: this host]")
@click.option(
    "--threads",
    type=click.IntRange(1, MOST_THREADS),
    multiple=True,
    help="Number of CPUs, on as many cores.  [default: what the topology suggests]",
)
@click.option("--quick", is_flag=True, help="Measure fewer variants and sizes.")
@click.option("--program", type=TEXT, help="The xhpcg on the host, for hpcg.")
@click.option("--source", type=TEXT, help="A source folder of HPCG on the host.")
@click.option(
    "--folder", type=TEXT, help="A folder on the host, for fio.  [default: /var/tmp]"
)
@click.option(
    "--srun",
    metavar="WORDS",
    help='Start each command by srun with these options, such as "-p debug".',
)
@click.option(
    "--import",
    "file",
    type=NonEmptyPath(exists=True, dir_okay=False),
    help="Keep the results in FILE, an output of hpcc, xhpcg or fio; run nothing.",
)
def bench_command(
    what: str,
    host: str | None,
    threads: tuple[int, ...],
    quick: bool,
    program: str | None,
    source: str | None,
    folder: str | None,
    srun: str | None,
    file: Path | None,
) -> None:
    """Measure what a host can do, and keep the results in its twin.

    `quick` measures the roofline and STREAM on all cores, `all` every suite on the
    thread sets that the topology suggests: 1, powers of two, the cores and threads of a
    socket, and all. `list` names the suites. Each run is recorded like any observation.
    """
    _check_options(what, program, source, folder, file)
    if what == "list" or file:
        _check_runs_nothing(what, file)
    if what == "list":
        click.echo(
            "\n".join(f"{s.name:10} {s.title}: {s.about}" for s in SUITES.values())
        )
        return
    settings, before = Settings(), tuple(srun_words(srun))
    api = ApiClient(settings.home)
    with signals_as_interrupt(), closing(api), dataset(settings, "twin") as twin:
        run = partial(attended_output, before) if before else printed_runs
        bench = Bench(settings, twin, api, host or settings.host, before, run)
        if file:
            results = import_results(bench, SUITES[what], file, _say).results
            click.echo("\n".join(lines(results)))
            return
        effort = QUICK if quick or what == "quick" else FULL
        session = _Session(bench, bench.machine(), threads, effort)
        session.run_all(_suites(bench, what, program, source, folder))


def _check_options(
    what: str,
    program: str | None,
    source: str | None,
    folder: str | None,
    file: Path | None,
) -> None:
    if (program or source) and what not in ("hpcg", "all"):
        raise click.UsageError("--program and --source are for hpcg")
    if folder and what not in ("fio", "all"):
        raise click.UsageError("--folder is for fio")
    if program and source:
        raise click.UsageError("--program and --source: give one of them")
    if file and what not in _FOREIGN:
        *others, last = _FOREIGN
        raise click.UsageError(f"--import is for {', '.join(others)} and {last}")


def _check_runs_nothing(what: str, file: Path | None) -> None:
    """Refuse options that have no effect because nothing is run."""
    taken = {"what", "host", "file"} if file else {"what"}
    given = click.get_current_context()
    ignored = [
        option
        for option in given.command.params
        if option.name not in taken and given.params.get(str(option.name))
    ]
    if ignored:
        command = "--import" if file else what
        raise click.UsageError(f"{ignored[0].opts[0]} has no effect with {command}")


def _suites(
    bench: Bench, what: str, program: str | None, source: str | None, folder: str | None
) -> list[Suite]:
    names = {"quick": _QUICK, "all": (*SUITES,)}.get(what, (what,))
    known = {**SUITES}
    if source:
        known["hpcg"] = hpcg(built(source, bench.target()))
    if program:
        known["hpcg"] = hpcg(Program(program))
    if folder:
        known["fio"] = fio(folder)
    return [known[name] for name in names]


@dataclass(frozen=True)
class _Session:
    """Suites that are measured one after the other on a host."""

    bench: Bench
    machine: Machine
    threads: Sequence[int]
    effort: Effort

    def run_all(self, suites: Sequence[Suite]) -> None:
        """Run suites; go on after one that the host lacks something for, or that fails.

        Raises the first failure, and the first lack if there is one for all.
        """
        self._say_time(suites)
        ended = {suite.name: self._failure(suite, suites) for suite in suites}
        if ended.get(_ROOFS, _ROOFS) is None:
            _say(f"`supertwin roofline {self.bench.host}` shows the roofs")
        failed = [error for error in ended.values() if error]
        lacking = [error for error in failed if isinstance(error, _LACKING)]
        if raised := [error for error in failed if error not in lacking]:
            raise raised[0]
        if len(lacking) == len(suites):
            raise lacking[0]

    def _failure(self, suite: Suite, suites: Sequence[Suite]) -> SuperTwinError | None:
        try:
            sets = suite.sets(self.machine, self.threads, self.effort)
            for run in measure(self.bench, suite, sets, self.effort, _say):
                click.echo("\n".join(lines(run.results)))
        except (*_LACKING, BenchmarkError, BenchmarkOutputError) as error:
            if len(suites) > 1:
                _say(f"{suite.title} left out: {error}")
            return error
        return None

    def _say_time(self, suites: Sequence[Suite]) -> None:
        counts = {suite.name: self._count(suite) for suite in suites}
        seconds = sum(
            counts[one.name] * one.seconds(self.machine, self.effort) for one in suites
        )
        runs = counted(sum(counts.values()), "run")
        _say(f"{runs}, about {seconds:.0f} s if nothing else uses the CPUs")

    def _count(self, suite: Suite) -> int:
        try:
            return len(suite.sets(self.machine, self.threads, self.effort))
        except BenchmarkMachineError:
            return 0


def _say(line: str) -> None:
    click.echo(line, err=True)
