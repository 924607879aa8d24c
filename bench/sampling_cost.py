"""Sampling costs predicted by a calibration, and measured in runs next to it."""

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bench.table import Figure
from core.settings.settings import Settings
from sampling.calibration.calibration import calibrate
from sampling.cost.estimate import estimate_all
from sampling.cost.load import FetchSize
from sampling.cost.model import CostModel, DiskModel
from sampling.cost.runs import FetchRequest, SamplingRun, designed_runs
from supertwin.stack.private_stack import private_stack

_MEMORY = ("size", "rss", "textrss", "datrss")


def cost_figures() -> list[Figure]:
    """Runs outside the design, predicted by the fit of the runs in the design."""
    with tempfile.TemporaryDirectory(prefix="supertwin-bench-") as folder:
        home = Settings(home=Path(folder))
        model = calibrate(home, print, private_stack, _with_others)
    known = [run for run in model.runs if run.title not in _titles()]
    fitted = replace(model, runs=known)
    return [*_cpu(fitted, model), *_disk(model)]


def _with_others(
    sizes: Mapping[str, FetchSize], process: str | None
) -> list[SamplingRun]:
    return [
        *designed_runs(sizes, process)[:-1],
        *_others(sizes),
        SamplingRun("idle", ()),
    ]


def _titles() -> set[str]:
    return {run.title for run in _others({})}


def _others(sizes: Mapping[str, FetchSize]) -> list[SamplingRun]:
    memory = tuple(name for name in sizes if name.startswith("mem.util."))
    disks = tuple(name for name in sizes if name.startswith("disk.dev."))
    processes = tuple(f"proc.memory.{end}" for end in _MEMORY)
    return [
        SamplingRun("memory every 30 ms", (FetchRequest(memory, 30),)),
        SamplingRun(
            "disks every 200 ms, memory of processes every 600 ms",
            (FetchRequest(disks, 200), FetchRequest(processes, 600)),
        ),
        SamplingRun(
            "CPU time of all CPUs every 5 ms",
            (FetchRequest(("kernel.all.cpu.user",), 5),),
        ),
    ]


def _cpu(fitted: CostModel, model: CostModel) -> list[Figure]:
    figures = []
    for run in model.runs:
        if run.title in _titles():
            found = estimate_all(fitted, run.load)
            measured = sum(run.cpu[part] for part in found.cpu)
            figures.append(
                Figure(
                    f"CPU predicted: {run.title}",
                    found.cpu_total.value,
                    "%",
                    None,
                    measured,
                    f"measured; 95 %: {found.cpu_total.low:.3g} to "
                    f"{found.cpu_total.high:.3g}; {100 * run.missing:.0f} % of the "
                    f"points missing, others took {run.others:.0f} %",
                )
            )
    return figures


def _disk(model: CostModel) -> list[Figure]:
    """Half of the store's parts, predicted by the fit of the other half."""
    parts = sorted(model.disk.parts)
    even, odd = parts[::2], parts[1::2]
    fit = DiskModel(even, 0.0, 0.0).fit
    predicted = sum(fit.predict((part.points, part.blocks)).value for part in odd)
    return [
        Figure(
            "bytes on disk predicted, parts that were not fitted",
            predicted / 1000,
            "kB",
            None,
            sum(part.bytes for part in odd) / 1000,
            "measured",
        )
    ]
