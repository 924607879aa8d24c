"""Bodies of requests, read no further than they may be long."""

from fastapi import Request

from api.problems import ApiError


async def read_body(request: Request, most: int, what: str) -> bytes:
    """The body; ``what`` names it where it is refused (413) for its length."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise too_large(most, what)
    return bytes(body)


def too_large(most: int, what: str) -> ApiError:
    """The refusal of what is too long."""
    detail = f"a {what} may have {most} bytes; send a shorter one"
    return ApiError(413, f"{what}-too-large", f"The {what} is too large", detail)
