"""Thread limits for work that takes CPU time, and for work that must not wait for it.

All other work shares AnyIO's 40 threads.
"""

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

from anyio import CapacityLimiter, to_thread

T = TypeVar("T")
Args = TypeVarTuple("Args")

# More computing threads would only delay the event loop.
_COMPUTING = CapacityLimiter(2)
_FOR_HEALTH = CapacityLimiter(4)


async def computed(work: Callable[[*Args], T], *args: *Args) -> T:
    """Run CPU-bound work, which waits for nothing, in a thread; return its result."""
    return await to_thread.run_sync(work, *args, limiter=_COMPUTING)


async def of_health(work: Callable[[*Args], T], *args: *Args) -> T:
    """Run short work for ``/health`` in a thread reserved for it; return its result."""
    return await to_thread.run_sync(work, *args, limiter=_FOR_HEALTH)
