"""`supertwin bench`: measure what a host can do."""

from collections.abc import Sequence
from contextlib import closing

import click

from benchmarks.machine import ThreadSet
from benchmarks.measure import Bench, measure
from benchmarks.record import lines
from benchmarks.suites import FULL, QUICK, SUITES, Effort, Suite
from core.settings.settings import Settings
from core.stores.datasets import dataset
from supertwin.cli.api_client import ApiClient
from supertwin.cli.host import HOST
from supertwin.cli.wording import counted

_QUICK = ("carm", "stream")


@click.command("bench")
@click.argument("what", type=click.Choice(["list", "quick", "all", *SUITES]))
@click.option("--host", type=HOST, help="Host to measure.  [default: this host]")
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    multiple=True,
    help="Number of cores to measure.  [default: what the topology suggests]",
)
def bench_command(what: str, host: str | None, threads: tuple[int, ...]) -> None:
    """Measure what a host can do, and keep the results in its twin.

    `quick` measures the roofline and STREAM on all cores, `all` every suite on the
    thread sets that the topology suggests: 1, powers of two, the cores and threads of a
    socket, and all. `list` names the suites. Each run is recorded like any observation.
    """
    if what == "list":
        for suite in SUITES.values():
            click.echo(f"{suite.name:10} {suite.title}: {suite.about}")
        return
    effort = QUICK if what == "quick" else FULL
    names = {"quick": _QUICK, "all": (*SUITES,)}.get(what, (what,))
    settings = Settings()
    api = ApiClient(settings.home)
    with closing(api), dataset(settings, "twin") as twin:
        bench = Bench(settings, twin, api, host or settings.host)
        sets = _sets(bench, threads, effort)
        suites = [SUITES[name] for name in names]
        _say_time(suites, sets, effort)
        for suite in suites:
            for run in measure(bench, suite, sets, effort, _say):
                click.echo("\n".join(lines(run.results)))


def _sets(bench: Bench, threads: Sequence[int], effort: Effort) -> list[ThreadSet]:
    if threads:
        return [ThreadSet(count, "compact-cores") for count in threads]
    return bench.machine().thread_sets(quick=effort is QUICK)


def _say_time(
    suites: Sequence[Suite], sets: Sequence[ThreadSet], effort: Effort
) -> None:
    seconds = sum(suite.estimate(effort) for suite in suites) * len(sets)
    runs = counted(len(suites) * len(sets), "run")
    _say(f"{runs}, about {seconds:.0f} s if nothing else uses the CPUs")


def _say(line: str) -> None:
    click.echo(line, err=True)
