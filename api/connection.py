"""Work that is cancelled when its client disconnects."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from fastapi import Request

from core.errors import ApiError

T = TypeVar("T")


class ClientGoneError(ApiError):
    """The client disconnected before the answer."""

    code = "client-gone"
    status = 499

    def __init__(self) -> None:
        detail = "the client disconnected"
        super().__init__(self.status, self.code, self.title, detail)


async def while_connected(request: Request, work: Awaitable[T]) -> T:
    """Return the result of the work; cancel it when the client disconnects.

    The body of the request must have been read. Raises ClientGoneError.
    """
    task = asyncio.ensure_future(work)
    disconnected = asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait({task, disconnected}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGoneError
        return task.result()
    finally:
        task.cancel()
        disconnected.cancel()
        await asyncio.gather(task, disconnected, return_exceptions=True)


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
