"""`supertwin mix`: measure a loop with the mix of a run."""

from contextlib import closing
from dataclasses import replace

import click

from benchmarks.measure import Bench, measure
from benchmarks.mix import Mix, mix_of_run
from benchmarks.record import lines
from benchmarks.suites import FULL
from core.linux.signals import signals_as_interrupt
from core.settings.settings import Settings
from core.stores.datasets import dataset
from ontology.iris import Iris
from supertwin.cli.api_client import ApiClient
from supertwin.cli.host import HOST
from supertwin.cli.parameters import TEXT, FiniteNumber


@click.command("mix")
@click.argument("run", required=False, type=TEXT)
@click.option("--host", type=HOST, help="Host to measure.  [default: this host]")
@click.option("--threads", type=click.IntRange(min=1), help="Number of CPUs.")
@click.option(
    "--intensity",
    type=FiniteNumber(min=0, max=10_000),
    help="Operations per byte of memory traffic.",
)
@click.option(
    "--footprint",
    type=click.IntRange(min=1024, max=10**15),
    metavar="BYTES",
    help="Memory of all threads together.",
)
@click.option(
    "--stride",
    type=click.IntRange(min=64, max=64 << 20),
    default=64,
    show_default=True,
    help="Bytes from one cache line that is read to the next.",
)
def mix_command(
    run: str | None,
    host: str | None,
    threads: int | None,
    intensity: float | None,
    footprint: int | None,
    stride: int,
) -> None:
    """Measure a loop with the mix of a run, and compare the run with it.

    The loop has the operations per byte, the memory and the number of threads of the
    run; options replace them. Without a RUN, give --intensity and --footprint.
    """
    settings, wanted = Settings(), Mix(intensity, footprint, stride)
    api = ApiClient(settings.home)
    with signals_as_interrupt(), closing(api), dataset(settings, "twin") as twin:
        if run:
            wanted = mix_of_run(twin, Iris(settings.base), run, wanted)
        count = threads or wanted.threads or 1
        wanted = replace(wanted, threads=count)
        wanted.words()  # refuses a mix without a loop before anything runs
        bench = Bench(settings, twin, api, host or settings.host)
        suite = wanted.suite()
        sets = suite.sets(bench.machine(), [count], FULL)
        _say(f"about {wanted.seconds:.0f} s if nothing else uses the CPUs")
        for found in measure(bench, suite, sets, FULL, _say):
            click.echo("\n".join(lines(found.results)))
            if compared := wanted.compared(found.results):
                click.echo(compared)


def _say(line: str) -> None:
    click.echo(line, err=True)
