"""``requires(role)``: the dependency of routes that need more than reading."""

from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials

from api import problems
from api.access.authenticator import Caller
from api.access.tokens import TokenRole
from api.services import Use

SCHEME = HTTPBearer(
    scheme_name="token",
    bearerFormat="supertwin_…",
    description="A token of `supertwin token add`; also as the password of the HTTP "
    "Basic scheme, and in browsers as the session of `/login`.",
    auto_error=False,
)
ANSWERS: dict[int | str, dict[str, Any]] = {
    401: {**problems.RESPONSE, "description": "No token, or an invalid one"},
    403: {**problems.RESPONSE, "description": "A token of an insufficient role"},
}


def requires(role: TokenRole) -> Any:
    """Refuse callers without this role, before the body of the request is read."""

    async def admitted(
        request: Request,
        services: Use,
        _shown: Annotated[HTTPAuthorizationCredentials | None, Security(SCHEME)],
    ) -> Caller:
        # `Reading` ends this caller's stream when it would not be admitted any more.
        request.state.caller = caller = services.authenticator.admit(request, role)
        return caller

    return Depends(admitted)
