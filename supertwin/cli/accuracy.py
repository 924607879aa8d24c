"""`supertwin accuracy`: measure how accurate a host's counters are."""

from contextlib import closing

import click

from core.settings.settings import Settings
from core.stores.datasets import dataset
from observations.likwid import KERNELS
from observations.measure_accuracy import lines, measure
from supertwin.cli.api_client import ApiClient
from supertwin.cli.host import HOST


@click.command("accuracy")
@click.option("--host", type=HOST, help="Host to measure.  [default: this host]")
@click.option(
    "--kernel",
    "kernels",
    multiple=True,
    type=click.Choice([*KERNELS]),
    help="Kernel to run.  [default: all six]",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    help="Runs of each kernel.",
)
def accuracy_command(host: str | None, kernels: tuple[str, ...], repeat: int) -> None:
    """Compare PMU events with likwid-bench, which knows what its kernels execute.

    Each kernel runs on one thread, under observation. The error of each event is then
    in the graph, where `supertwin why` finds it.
    """
    settings = Settings()
    api = ApiClient(settings.home)
    with closing(api), dataset(settings, "twin") as twin:
        found = measure(
            settings,
            twin,
            api,
            host or settings.host,
            kernels or [*KERNELS],
            repeat,
            lambda line: click.echo(line, err=True),
        )
    for line in lines(found):
        click.echo(line)
