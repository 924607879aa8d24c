"""Whether the viewer of a page may run commands, and how to get permission."""

from fastapi import Request

from api.access.tokens import TokenRole
from api.observations import launching
from api.services import Services
from core.errors import ApiError

_NOBODY = ("token-needed", "token-refused")


async def launch_refusal(request: Request, services: Services) -> str:
    """Say in one line why the viewer may run no command; empty if some are allowed."""
    if wrong := await refusal(request, services):
        return wrong
    caller = services.authenticator.admit(request, TokenRole.OPERATOR)
    return launching.refusal(services.settings, caller)


async def refusal(request: Request, services: Services) -> str:
    """Say why the viewer may not see commands and output; empty for an operator."""
    try:
        services.authenticator.admit(request, TokenRole.OPERATOR)
    except ApiError as error:
        if error.code not in _NOBODY:
            return error.detail
        return (
            "running commands takes an operator's token; `supertwin token add NAME "
            "--role operator` makes one, on the machine that SuperTwin runs on"
        )
    return ""
