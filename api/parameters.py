"""Parameters of addresses that a route takes."""

from fastapi import Depends, Request
from fastapi.params import Depends as Dependency

from core.errors import ApiError


def only(*names: str) -> Dependency:
    """A dependency that refuses (400) any other parameter of the address.

    A list that ignored ``limit=2`` would look as if it had been shortened.
    """

    def check(request: Request) -> None:
        unknown = [name for name in request.query_params if name not in names]
        if unknown:
            known = ", ".join(names) or "none"
            detail = f"no parameter {unknown[0][:60]!r} here; there are: {known}"
            raise ApiError(400, "unknown-parameter", "Unknown parameter", detail)

    found: Dependency = Depends(check)
    return found
