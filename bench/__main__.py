"""`make bench`: speed and size; prints each row as soon as it is measured."""

import argparse
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from bench.bridge import bridge_figures
from bench.chrontext import chrontext_figures
from bench.commands import command_figures
from bench.dashboards import dashboard_figures
from bench.explosions import explosion_figures
from bench.few_processes import few_process_figures
from bench.fleet import fleet_figures, local_probe_figures, zen4_figures
from bench.observe import accuracy_figures, overhead_figures
from bench.pinning import pinning_figures
from bench.pop import pop_figures
from bench.probes import probe_cost_figures
from bench.profiles import profile_figures
from bench.queries import query_figures
from bench.questions.run import word_figures
from bench.questions.speed import question_figures
from bench.regions import region_figures
from bench.remote import remote_figures
from bench.replacement import replacement_figures
from bench.rooflines import roofline_figures
from bench.samples import sample_figures
from bench.sampling.results import machine, machine_text
from bench.sampling_cost import cost_figures
from bench.service import service_figures
from bench.shacl import shacl_figures
from bench.suites import suite_figures
from bench.table import Figure, print_rows
from bench.timeline import timeline_figures
from bench.twin import big_host_figures, probe_figures
from tests.stack import Stack, running_stack

# Measured on one stack, in this order; `queries` and `service` read the host of `twin`.
ON_STACK: dict[str, Callable[[Stack], Iterable[Figure]]] = {
    "bridge": bridge_figures,
    "probe": probe_figures,
    "remote": remote_figures,
    "twin": big_host_figures,
    "local-probe": local_probe_figures,
    "zen4": zen4_figures,
    "queries": query_figures,
    "service": service_figures,
    "samples": sample_figures,
    "chrontext": chrontext_figures,
    "explosions": explosion_figures,
    "dashboards": dashboard_figures,
    "rooflines": roofline_figures,
    "fleet": fleet_figures,
    "overhead": overhead_figures,
    "accuracy": accuracy_figures,
    "commands": command_figures,  # last, as it loads sixty hosts
}
# Measured on servers of their own.
ALONE: dict[str, Callable[[], Iterable[Figure]]] = {
    "replacement": replacement_figures,
    "pinning": pinning_figures,
    "questions": question_figures,
    "words": word_figures,
    "shacl": shacl_figures,
    "sampling-cost": cost_figures,
    "pop": pop_figures,
    "probes": probe_cost_figures,
    "profiles": profile_figures,
    "few-processes": few_process_figures,
    "regions": region_figures,
    "timeline": timeline_figures,
    "suites": suite_figures,
}


def main(arguments: Sequence[str] | None = None) -> None:
    wanted = _parser().parse_args(arguments).only or [*ON_STACK, *ALONE]
    # Stop the stack and remove its folder on SIGTERM too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    here = machine()
    print(f"Measured from {here['date']}: {machine_text(here)}\n", flush=True)
    print_rows(_measured(wanted))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("bench", description=__doc__)
    parser.add_argument(
        "--only",
        action="append",
        choices=[*ON_STACK, *ALONE],
        help="this part; may be repeated",
    )
    return parser


def _measured(wanted: Sequence[str]) -> Iterator[Figure]:
    if not ON_STACK.keys().isdisjoint(wanted):
        with (
            tempfile.TemporaryDirectory(prefix="supertwin-bench-") as folder,
            running_stack(Path(folder)) as stack,
        ):
            yield from _on_stack(stack, wanted)
    for name, figures in ALONE.items():
        if name in wanted:
            yield from figures()


def _on_stack(stack: Stack, wanted: Sequence[str]) -> Iterator[Figure]:
    if {"queries", "service"} & {*wanted} and "twin" not in wanted:
        list(big_host_figures(stack))
    for name, figures in ON_STACK.items():
        if name in wanted:
            yield from figures(stack)


if __name__ == "__main__":
    main()
