"""Health checks of children: each returns why the child is unhealthy, or None."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from core.settings.accounts import Account
from supertwin.stack.loopback import request

Check = Callable[[], Awaitable[str | None]]

TIMEOUT = 5.0
_WRONG = (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError)


def answers_http(
    port: int, path: str, accept: tuple[int, ...], account: Account | None = None
) -> Check:
    """Check that a GET on the loopback port is answered with one of the codes."""

    async def check() -> str | None:
        status, _ = await request(port, "GET", path, account)
        return None if status in accept else f"{path} answered {status}"

    return bounded(check)


def greets(socket: Path) -> Check:
    """Check that PMCD greets a client: it sends first, so a hung one is detected."""
    return bounded(lambda: _greeting(socket))


async def _greeting(socket: Path) -> str | None:
    reader, writer = await asyncio.open_unix_connection(str(socket))
    try:
        await reader.readexactly(4)
    finally:
        writer.close()
    return None


def is_fresh(path: Path, seconds: float) -> Check:
    """Check that a file was written in the last ``seconds``."""

    async def check() -> str | None:
        try:
            age = time.time() - path.stat().st_mtime
        except FileNotFoundError:
            return f"no {path.name} yet"
        return None if age < seconds else f"{path.name} is {age:.0f} s old"

    return check


def bounded(check: Check) -> Check:
    """Turn a refused, broken or late answer into a reason."""

    async def bounded() -> str | None:
        try:
            # Up to Python 3.11, wait_for loses a cancellation that arrives together
            # with the answer, and a caller that awaits the end of the task then waits
            # forever.
            async with asyncio.timeout(TIMEOUT):
                return await check()
        except TimeoutError:
            return f"no answer in {TIMEOUT:.0f} s"
        except _WRONG as error:
            return str(error) or type(error).__name__

    return bounded
