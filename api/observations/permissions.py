"""Which commands a caller may run, as which user, in which folders; what it may see."""

from fastapi import Request

from api.access.authenticator import Caller
from api.access.command_list import CommandList, read_command_list
from api.access.tokens import TokenRole
from api.observations.new import Launch, NewObservation
from api.services import Services
from core.errors import ApiError, UserError, api_error
from core.settings.run_as import other_user
from core.settings.settings import Settings

_FIX = (
    "set SUPERTWIN_ALLOWED_COMMANDS to a list of commands, or SUPERTWIN_RUN_AS to the "
    "user that runs them"
)
_NOBODY = ("token-needed", "token-refused")


def check_launch(
    settings: Settings, caller: Caller, new: NewObservation, host: str
) -> Launch:
    """Return how a command may be run; raises ApiError (403, 503) if it may not.

    A client that runs the command itself (`attended`) needs no permission.
    """
    if new.attended:
        return Launch()
    if wrong := _launch_refusal(settings, caller):
        raise _not_allowed(wrong)
    try:
        allowed = _listed(settings, new, host)
        user = "" if caller.is_owner else other_user(settings)
    except UserError as error:
        raise api_error(error, 503) from None
    within = tuple(sorted(allowed.cwd)) if allowed and new.cwd else ()
    if host == settings.host:
        return Launch(user, within)
    if user and allowed is None:
        raise _not_allowed(
            f"{user} runs commands on {settings.host} only; on other hosts they run as "
            "the login that probes them: set SUPERTWIN_ALLOWED_COMMANDS to a list"
        )
    return Launch("", within)


async def launch_refusal(request: Request, services: Services) -> str:
    """Say in one line why the viewer may run no command; empty if some are allowed."""
    if wrong := await view_refusal(request, services):
        return wrong
    caller = services.authenticator.admit(request, TokenRole.OPERATOR)
    return _launch_refusal(services.settings, caller)


async def view_refusal(request: Request, services: Services) -> str:
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


def _launch_refusal(settings: Settings, caller: Caller) -> str:
    """Say why the service runs no commands for a caller; empty if it does."""
    if caller.is_owner or settings.allowed_commands or settings.run_as:
        return ""
    return (
        "commands would run as the user of SuperTwin, whose files they could read, so "
        f"only the owner of the state folder launches them: {_FIX}"
    )


def _listed(settings: Settings, new: NewObservation, host: str) -> CommandList | None:
    """Return the list if it allows the command; None if there is no list."""
    if settings.allowed_commands is None:
        return None
    found = read_command_list(settings.allowed_commands)
    wrong = found.refusal(new.argv, new.env, new.cwd, is_here=host == settings.host)
    if wrong:
        raise _not_allowed(wrong)
    return found


def _not_allowed(detail: str) -> ApiError:
    return ApiError(403, "command-not-allowed", "Not allowed", detail)
