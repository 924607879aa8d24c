"""Fuseki without the supervisor: started, kept small, started again when asked to."""

import asyncio
import contextlib
import os
import signal

from core.settings import tools
from core.settings.settings import Settings
from supertwin.stack.children import ChildSpec
from supertwin.stack.compaction import keep_small

# What a Java that SIGTERM ended says.
_ASKED = (-signal.SIGTERM, 128 + signal.SIGTERM)


async def serve(settings: Settings, spec: ChildSpec) -> int:
    """Be Fuseki until a signal asks to stop; return its exit status.

    Compaction may end it by SIGTERM: it is started again then. What ends otherwise is
    left to the service manager, as any failure.
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
    """One life of the process, which ends with ours."""
    process = await asyncio.create_subprocess_exec(
        *(str(tools.setpriv()), "--pdeathsig", "TERM", "--"),
        *spec.command,
        cwd=spec.cwd,
        env={**os.environ, **spec.env},
    )
    gone = asyncio.ensure_future(process.wait())
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({gone, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not gone.done():
        process.terminate()
    return await gone


def _stop() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop
