"""Measures what sampling costs on this machine, in a minute and a half."""

import asyncio
import math
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from importlib.metadata import version

from core.errors import SuperTwinError
from core.linux.private_folder import make_private
from core.settings.pmcd import own_socket
from core.settings.settings import Settings
from core.settings.state import COUNTING
from core.stores.datasets import Progress
from ingest.sources.procfs import read_cpu
from ontology.figures import figures
from sampling.calibration.agents import agents
from sampling.calibration.counters import EVENTS, CounterPmcd
from sampling.calibration.measuring import CalibrationStack, count_series
from sampling.calibration.private_home import private, private_home
from sampling.cost.disk import DiskBlocks, index_bytes, parts_in
from sampling.cost.errors import BusyError, CalibrationError
from sampling.cost.live import pcp_version, sizes_now
from sampling.cost.load import BRIDGE, PMCD, STORE, UNKNOWN_AGENT, FetchSize
from sampling.cost.model import CalibrationRun, CostModel, DiskModel, save_model
from sampling.cost.runs import SamplingRun, designed_runs
from sampling.cost.saved_model import model_path

# The processes of a stack, by name, for as long as it runs.
Stack = AbstractAsyncContextManager[Mapping[str, int]]
Start = Callable[[Settings, int], Stack]
Design = Callable[[Mapping[str, FetchSize], str | None], Sequence[SamplingRun]]

_AGENT, _ROOT = "pmda", "pmdaroot"


def calibrate(
    settings: Settings,
    progress: Progress,
    start: Start,
    design: Design = designed_runs,
    most_others: float = math.inf,
    nice: int = 0,
) -> CostModel:
    """Measure and save a calibration; the previous one stays until it is complete.

    ``start`` starts everything but the API for some settings, at a nice level, and
    gives the pids by name. ``design`` gives the runs for a machine's metrics and one of
    its processes. ``nice`` is the nice level of the caller. Raises CalibrationError if
    the measurement failed, BusyError if other work took more than ``most_others`` % of
    a core in a run.
    """
    with private_home() as folder:
        apart = private(settings, folder)
        # The parts of a store that has been in use are large, and the most informative.
        in_use = parts_in(settings.home / "store")
        stack = start(apart, nice)
        work = _calibrate(apart, stack, in_use, progress, design, most_others)
        model = asyncio.run(work)
    if 3 * len(model.usable) < len(model.runs):
        raise CalibrationError(
            f"the machine kept up with {len(model.usable)} of {len(model.runs)} runs: "
            "calibrate when it is less busy"
        )
    make_private(settings.home)
    save_model(model_path(settings), model)
    return model


async def _calibrate(
    settings: Settings,
    stack: Stack,
    in_use: list[DiskBlocks],
    progress: Progress,
    design: Design,
    most_others: float,
) -> CostModel:
    address = f"unix://{own_socket(settings)}"
    progress("starting a PMCD, a bridge and two stores to measure with")
    async with stack as pids:
        sizes, process = sizes_now(address)
        versions = _versions(address)
        counters = await _counters(settings, pids, progress)
        if counters:
            sizes |= counters.sizes()
        inside = {size.agent for size in sizes.values()} - {
            UNKNOWN_AGENT,
            *_agents(pids),
        }
        measured: list[CalibrationRun] = []
        with CalibrationStack(
            settings, lambda: _parts(pids), sizes, counters
        ) as ground:
            runs = design(sizes, process)
            for number, run in enumerate(runs, 1):
                progress(f"{number} of {len(runs)}: {run.title}")
                measured.append(await ground.measure(run))
                _check_quiet(measured[-1], most_others)
            status = await ground.at_rest()
        series = count_series(settings)
    points = status["written"]
    if not points or not series:
        raise CalibrationError(
            "the bridge wrote no points: check that the disk is not full"
        )
    return CostModel(
        settings.host,
        datetime.now(UTC).isoformat(timespec="seconds"),
        versions,
        os.cpu_count() or 1,
        tuple(sorted(inside)),
        DiskModel(
            [*parts_in(settings.home / "store"), *in_use],
            index_bytes(settings.home / "store") / series,
            status["sent_bytes"] / points,
        ),
        measured,
    )


def _check_quiet(run: CalibrationRun, most_others: float) -> None:
    if run.others > most_others:
        raise BusyError(
            f"the machine got busy: other work took {run.others:.0f} % of a core in "
            f"{run.title!r}, the limit is {figures(most_others)} %: calibrate when it "
            "is idle"
        )


async def _counters(
    settings: Settings, pids: Mapping[str, int], progress: Progress
) -> CounterPmcd | None:
    """What counts PMU events; None if this machine does not allow counting."""
    if COUNTING not in pids:
        return None
    found = CounterPmcd(settings, pids[COUNTING])
    try:
        await asyncio.to_thread(found.count, {event.value for event in EVENTS})
    except SuperTwinError as error:
        progress(f"PMU events are left out: {error}")
        return None
    return found


def _parts(pids: Mapping[str, int]) -> dict[str, int]:
    """The processes that sampling needs, by the names that loads have for them."""
    named = {PMCD: "pmcd", BRIDGE: "bridge", STORE: "victoria-metrics"}
    named |= {COUNTING: COUNTING} if COUNTING in pids else {}
    return _agents(pids) | {part: pids[name] for part, name in named.items()}


def _agents(pids: Mapping[str, int]) -> dict[str, int]:
    """The agents of the PMCD, and of the PMCD that counts PMU events."""
    return {
        name.removeprefix(_AGENT): pid
        for pmcd in (pids[name] for name in ("pmcd", COUNTING) if name in pids)
        for name, pid in agents(pmcd).items()
        if name != _ROOT
    }


def _versions(address: str) -> dict[str, str]:
    """The versions that the figures depend on, for comparing or sharing them."""
    return {
        "supertwin": version("supertwin"),
        "kernel": platform.release(),
        "pcp": pcp_version(address),
        "cpu": _cpu(),
    }


def _cpu() -> str:
    """The CPU model; virtual machines often hide all of the name but the vendor."""
    first = next(iter(read_cpu()["sockets"].values()))
    numbers = [f"{key} {first[key]}" for key in ("family", "model") if first.get(key)]
    return f"{first.get('name') or platform.machine()} ({', '.join(numbers)})"
