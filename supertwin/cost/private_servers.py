"""A stack beside the one in use, in a temporary folder: what is measured there is
disturbed by nobody's plans, and disturbs none.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from pydantic import SecretStr

from supertwin.settings import LOOPBACK, Settings
from supertwin.stack import children
from supertwin.stack.child import Child
from supertwin.stack.childlog import ChildLog
from supertwin.stack.children import ChildSpec
from supertwin.stack.pmcd import own_socket
from supertwin.stack.ports import free_port, open_files

_PREFIX = "pmda"
# A process of another session has the nice level of its autogroup, where there are any.
_OF_GROUP = 'echo "$0" 2>/dev/null >/proc/self/autogroup; exec "$@"'


def private(settings: Settings, home: Path) -> Settings:
    """The same settings for a stack in another folder, with no server elsewhere."""
    apart = {
        "home": home,
        "pmcd": "own",
        "fuseki_heap": "256m",
        "fuseki_port": free_port(LOOPBACK),
        "store_port": free_port(LOOPBACK),
    }
    urls = dict.fromkeys(("fuseki_url", "store_read_url", "store_write_url"), "")
    passwords = dict.fromkeys(("fuseki_password", "store_password"), SecretStr(""))
    files = dict.fromkeys(("fuseki_password_file", "store_password_file"))
    return settings.model_copy(update={**apart, **urls, **passwords, **files})


@asynccontextmanager
async def private_stack(
    settings: Settings, nice: int = 0
) -> AsyncIterator[dict[str, int]]:
    """Start all but the API at a nice level; the pids by name."""
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
    """One child, ready, by its pid; raises StartError where it does not come up."""
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


def agents(pmcd: int) -> dict[str, int]:
    """The agents of a PMCD, ``pmda…``, which hold the other ends of its pipes.

    Who their parent is says nothing: it may be the agent of another PMCD.
    """
    pipes = _pipes(Path(f"/proc/{pmcd}"))
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            name = (folder / "comm").read_text(encoding="utf-8").strip()
            if name.startswith(_PREFIX) and pipes & _pipes(folder):
                found[name] = int(folder.name)
    return found


def _pipes(folder: Path) -> set[str]:
    return {name for name in open_files(folder) if name.startswith("pipe:")}
