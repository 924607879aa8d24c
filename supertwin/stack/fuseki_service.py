"""Run Fuseki without the supervisor: start, compact and restart it."""

import asyncio
import contextlib
import os
import signal

from core.linux.signals import ends_with_us
from core.settings.settings import Settings
from supertwin.stack.children import ChildSpec
from supertwin.stack.compaction import keep_small

# The exit status of a Java process that SIGTERM ended.
_ASKED = (-signal.SIGTERM, 128 + signal.SIGTERM)


async def serve(settings: Settings, spec: ChildSpec) -> int:
    """Run Fuseki until a signal asks to stop; return its exit status.

    Compaction may end it by SIGTERM, after which it is started again. Any other end is
    left to the service manager as a failure.
    """
    stop = _stop()
    keeper = asyncio.create_task(keep_small(settings))
    try:
        while True:
            status = await _run(spec, stop)
            if stop.is_set() or status not in _ASKED:
                return status if status >= 0 else 128 - status
    finally:
        keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeper


async def _run(spec: ChildSpec, stop: asyncio.Event) -> int:
    """Run the process once; it ends when we do."""
    process = await asyncio.create_subprocess_exec(
        *ends_with_us(),
        *spec.command,
        cwd=spec.cwd,
        env={**os.environ, **spec.env},
    )
    exited = asyncio.ensure_future(process.wait())
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({exited, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not exited.done():
        process.terminate()
    return await exited


def _stop() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop
