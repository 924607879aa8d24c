"""Threads for work that takes CPU time, and for what must not wait behind it.

Whatever names no limiter shares the threads of AnyIO, 40 of them.
"""

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

from anyio import CapacityLimiter, to_thread

T = TypeVar("T")
Args = TypeVarTuple("Args")

# More threads that compute would do no more: they would only delay the event loop.
_COMPUTING = CapacityLimiter(2)
_FOR_HEALTH = CapacityLimiter(4)


async def computed(work: Callable[[*Args], T], *args: *Args) -> T:
    """What work in a thread returns that computes and waits for nobody."""
    return await to_thread.run_sync(work, *args, limiter=_COMPUTING)


async def of_health(work: Callable[[*Args], T], *args: *Args) -> T:
    """What short work for ``/health`` returns, in a thread that nothing else takes."""
    return await to_thread.run_sync(work, *args, limiter=_FOR_HEALTH)
