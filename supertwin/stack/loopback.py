"""A minimal HTTP client for the supervisor's own children."""

import asyncio
from base64 import b64encode

from core.settings.accounts import Account
from core.settings.settings import LOOPBACK


async def request(
    port: int, method: str, path: str, account: Account | None = None
) -> tuple[int, bytes]:
    """Send a request without a body; return status and body.

    Raises OSError if nothing answers, ValueError if the answer is not HTTP.
    """
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    try:
        lines = [f"{method} {path} HTTP/1.0", f"Host: {LOOPBACK}", "Content-Length: 0"]
        if account:
            encoded = b64encode(":".join(account).encode()).decode()
            lines.append(f"Authorization: Basic {encoded}")
        writer.write("\r\n".join([*lines, "", ""]).encode())
        answer = await reader.read()
    finally:
        writer.close()
    words = answer.split(b" ", 2)
    if len(words) < 3 or not words[0].startswith(b"HTTP/"):
        raise ValueError(f"no HTTP answer to {path}")
    return int(words[1]), answer.partition(b"\r\n\r\n")[2]
