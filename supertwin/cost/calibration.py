"""What sampling costs on this machine, measured in a minute and a half."""

import asyncio
import os
import platform
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from sampling_cost.disk import Part, index_bytes, parts_in
from sampling_cost.errors import CalibrationError
from sampling_cost.live import sizes_now
from sampling_cost.load import BRIDGE, PMCD, STORE, UNKNOWN_AGENT, Size
from sampling_cost.model import Disk, Measured, Model, save_model
from sampling_cost.runs import Run, designed_runs
from supertwin.cost.counters import EVENTS, Counters
from supertwin.cost.measuring import Ground, count_series
from supertwin.cost.private_servers import agents, private, private_stack
from supertwin.errors import SuperTwinError
from supertwin.loading import Progress
from supertwin.private_folder import make_private
from supertwin.settings import Settings
from supertwin.stack.children import COUNTING
from supertwin.stack.pmcd import own_socket

Design = Callable[[Mapping[str, Size], str | None], Sequence[Run]]

MODEL_FILE = "cost.json"
_AGENT, _ROOT = "pmda", "pmdaroot"


def model_path(settings: Settings) -> Path:
    """Where the calibration of this machine is kept."""
    return settings.home / MODEL_FILE


def calibrate(
    settings: Settings, progress: Progress, design: Design = designed_runs
) -> Model:
    """Measure and keep it; the calibration before stays until this one is whole.

    ``design`` gives the runs for a machine's metrics and one of its processes.
    Raises CalibrationError where nothing could be measured.
    """
    with tempfile.TemporaryDirectory(prefix="supertwin-cost-") as folder:
        apart = private(settings, Path(folder))
        # Of a store that has been in use the parts are large, and tell most.
        in_use = parts_in(settings.home / "store")
        model = asyncio.run(_calibrate(apart, in_use, progress, design))
    if 3 * len(model.usable) < len(model.runs):
        raise CalibrationError(
            f"the machine kept up with {len(model.usable)} of {len(model.runs)} runs: "
            "calibrate when it has less to do"
        )
    make_private(settings.home)
    save_model(model_path(settings), model)
    return model


async def _calibrate(
    settings: Settings, in_use: list[Part], progress: Progress, design: Design
) -> Model:
    address = f"unix://{own_socket(settings)}"
    progress("starting a PMCD, a bridge and two stores to measure with")
    async with private_stack(settings) as pids:
        sizes, process = sizes_now(address)
        counters = await _counters(settings, pids, progress)
        if counters:
            sizes |= counters.sizes()
        inside = {size.agent for size in sizes.values()} - {
            UNKNOWN_AGENT,
            *_agents(pids),
        }
        measured: list[Measured] = []
        with Ground(settings, lambda: _parts(pids), sizes, counters) as ground:
            runs = design(sizes, process)
            for number, run in enumerate(runs, 1):
                progress(f"{number} of {len(runs)}: {run.title}")
                measured.append(await ground.measure(run))
            status = await ground.at_rest()
        series = count_series(settings)
    points = status["written"]
    if not points or not series:
        raise CalibrationError("the bridge wrote nothing: is the disk full?")
    return Model(
        settings.host,
        datetime.now(UTC).isoformat(timespec="seconds"),
        _versions(),
        os.cpu_count() or 1,
        tuple(sorted(inside)),
        Disk(
            [*parts_in(settings.home / "store"), *in_use],
            index_bytes(settings.home / "store") / series,
            status["sent_bytes"] / points,
        ),
        measured,
    )


async def _counters(
    settings: Settings, pids: Mapping[str, int], progress: Progress
) -> Counters | None:
    """What counts PMU events; None where this machine lets nobody count."""
    if COUNTING not in pids:
        return None
    found = Counters(settings, pids[COUNTING])
    try:
        await asyncio.to_thread(found.count, {event.value for event in EVENTS})
    except SuperTwinError as error:
        progress(f"PMU events are left out: {error}")
        return None
    return found


def _parts(pids: Mapping[str, int]) -> dict[str, int]:
    """The processes that sampling costs, by the names that loads have for them."""
    named = {PMCD: "pmcd", BRIDGE: "bridge", STORE: "victoria-metrics"}
    named |= {COUNTING: COUNTING} if COUNTING in pids else {}
    return _agents(pids) | {part: pids[name] for part, name in named.items()}


def _agents(pids: Mapping[str, int]) -> dict[str, int]:
    """The agents of the PMCD, and of the one that counts PMU events."""
    return {
        name.removeprefix(_AGENT): pid
        for pmcd in (pids[name] for name in ("pmcd", COUNTING) if name in pids)
        for name, pid in agents(pmcd).items()
        if name != _ROOT
    }


def _versions() -> dict[str, str]:
    return {"supertwin": version("supertwin"), "kernel": platform.release()}
