"""A separate stack in a temporary folder, for measurements without other plans."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from core.settings.pmcd import own_socket
from core.settings.settings import Settings
from supertwin.stack import children
from supertwin.stack.child import Child
from supertwin.stack.childlog import ChildLog
from supertwin.stack.children import ChildSpec

# In a kernel with autogroups, a new session has its autogroup's nice level.
_OF_GROUP = 'echo "$0" 2>/dev/null >/proc/self/autogroup; exec "$@"'


@asynccontextmanager
async def private_stack(
    settings: Settings, nice: int = 0
) -> AsyncIterator[dict[str, int]]:
    """Start all children but the API at a nice level; yield the pids by name."""
    address = f"unix://{own_socket(settings)}"
    async with AsyncExitStack() as stack:
        servers = children.servers(settings, own_pmcd=True)
        pids = {
            spec.name: await stack.enter_async_context(running(settings, spec, nice))
            for spec in servers
        }
        spec = children.bridge(settings, address)
        pids["bridge"] = await stack.enter_async_context(running(settings, spec, nice))
        yield pids


@asynccontextmanager
async def running(
    settings: Settings, spec: ChildSpec, nice: int = 0
) -> AsyncIterator[int]:
    """Start one child and yield its pid; raises StartError if it does not come up."""
    if nice:
        command = ("/bin/sh", "-c", _OF_GROUP, str(nice), *spec.command)
        spec = replace(spec, command=command)
    nobody: Callable[[], None] = lambda: None  # noqa: E731
    child = Child(spec, ChildLog(settings.home / "log", spec.name), nobody)
    task = asyncio.create_task(child.run())
    try:
        await asyncio.wait({task, child.ready}, return_when=asyncio.FIRST_COMPLETED)
        await child.ready
        yield child.state.pid or 0
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await child.stop()
