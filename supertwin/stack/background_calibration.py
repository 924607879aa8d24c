"""Calibrate in the background: when the machine is idle, at the lowest priority.

The supervisor waits and then runs ``python -m supertwin.stack.background_calibration``,
which measures.
"""

import asyncio
import contextlib
import os
import signal
import sys
import traceback
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import SuperTwinError
from core.linux.private_folder import keep_files_private
from core.linux.signals import ends_with_us
from core.settings import audit
from core.settings.home import CHECKOUT
from core.settings.settings import Settings
from sampling.calibration.idle import idle_machine
from sampling.calibration.private_home import remove_left
from sampling.cost.errors import BusyError
from sampling.cost.saved_model import is_calibrated
from supertwin.stack.childlog import ChildLog

if TYPE_CHECKING:
    from sampling.calibration.calibration import Design
    from sampling.cost.model import CostModel

Say = Callable[[str], None]

_COMMAND = (sys.executable, "-m", "supertwin.stack.background_calibration")
_DONE = "done"
LOWEST = 19
# The calibration's own work that it does not measure, such as its graph store's, counts
# as work of others.
_OTHERS = 2
_LONGEST_PAUSE = 86_400.0
_END_WITHIN = 45.0


def calibrated_when_idle(settings: Settings, progress: Say) -> "CostModel":
    """Wait until the machine is idle and calibrate; if it gets busy, wait again."""
    while True:
        asyncio.run(idle_machine(settings.idle_cpu, settings.idle_seconds, progress))
        try:
            return calibrate_quietly(settings, progress)
        except BusyError as error:
            progress(str(error))


def calibrate_quietly(
    settings: Settings,
    progress: Say,
    design: "Design | None" = None,
    nice: int = LOWEST,
) -> "CostModel":
    """Calibrate at a low priority; raises BusyError if the machine gets busy."""
    from sampling.calibration.calibration import calibrate
    from sampling.cost.runs import designed_runs
    from supertwin.stack.private_stack import private_stack

    os.nice(nice)
    quiet = settings.with_changes(sampling_priority="normal")
    most = _OTHERS * settings.idle_cpu
    runs = design or designed_runs
    return calibrate(quiet, progress, private_stack, runs, most, nice)


async def keep_calibrated(
    settings: Settings, say: Say, command: Sequence[str] = _COMMAND
) -> None:
    """Calibrate when the machine is idle, until there is a calibration.

    ``say`` receives the progress. After each failed try the pause doubles.
    """
    await asyncio.to_thread(remove_left)
    pause = settings.idle_seconds
    while not is_calibrated(settings):
        await idle_machine(settings.idle_cpu, settings.idle_seconds, say)
        if is_calibrated(settings):
            break
        outcome = await _outcome(settings, say, command)
        record = partial(audit.record, settings.home, "supervisor")
        record("sampling.calibrated", settings.host, outcome)
        if outcome != _DONE:
            say(f"stopped, to be tried again in {pause:.0f} s: {outcome}")
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
    say("")


async def _outcome(settings: Settings, say: Say, command: Sequence[str]) -> str:
    """Run the measuring process; return `done`, or why it failed."""
    log = ChildLog(settings.home / "log", "calibration")
    try:
        process = await _started(settings, log, command)
    except (OSError, SuperTwinError) as error:
        return f"does not start: {error}"
    try:
        last = await _followed(process, say)
    finally:
        await _ended(process)
    code = process.returncode or 0
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return (last or f"ended with status {code}{log.error_line()}") if code else _DONE


async def _started(
    settings: Settings, log: ChildLog, command: Sequence[str]
) -> Process:
    with log.open() as errors:
        return await asyncio.create_subprocess_exec(
            *(*ends_with_us(), *command),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=errors,
            cwd=CHECKOUT,
            env={**os.environ, **settings.environment()},
            start_new_session=True,
        )


async def _followed(process: Process, say: Say) -> str:
    """Pass on what a process prints until it ends; return its last line."""
    last = ""
    assert process.stdout is not None  # noqa: S101
    async for line in process.stdout:
        last = line.decode(errors="replace").strip()
        say(f"runs: {last}")
    await process.wait()
    return last


async def _ended(process: Process) -> None:
    """End a process that still runs, and remove what it left behind."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _END_WITHIN)
    if process.returncode is None:
        process.kill()
        await process.wait()
    await asyncio.to_thread(remove_left)


def main(design: "Design | None" = None, nice: int = LOWEST) -> int:
    """Measure and print the progress; on failure, print the reason last."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    keep_files_private()
    with contextlib.suppress(OSError):  # for kernels that schedule sessions as groups
        Path("/proc/self/autogroup").write_text(str(nice))
    say = partial(print, flush=True)
    try:
        calibrate_quietly(Settings(), say, design, nice)
    except KeyboardInterrupt:  # all of its children have ended
        return 1
    except Exception as error:  # the supervisor needs a reason in any case
        from core.errors import error_lines

        traceback.print_exc()
        say(error_lines(error)[0])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
