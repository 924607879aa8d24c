"""The reasons for refusing access, and how to get it."""

from api.access.token_file import TokenFileError
from api.access.tokens import TokenRefusedError, TokenRole
from core.errors import ApiError, api_error
from core.settings.settings import Settings

_BASIC = 'Basic realm="SuperTwin", charset="UTF-8"'


def unauthenticated(settings: Settings, role: TokenRole, wrong: str = "") -> ApiError:
    """401: missing or wrong credentials; ``wrong`` describes what is wrong."""
    error = ', error="invalid_token"' if wrong else ""
    challenge = f'Bearer realm="SuperTwin"{error}'
    fix = f"send `Authorization: Bearer TOKEN`, made by {_add(role)}"
    if role is TokenRole.READER and has_account(settings):
        challenge = f"{_BASIC}, {challenge}"
        fix += (
            ", or the user and the password that SUPERTWIN_READER_USER and "
            "SUPERTWIN_READER_PASSWORD set, by HTTP's Basic scheme"
        )
    headers = {"WWW-Authenticate": challenge}
    if not wrong:
        return ApiError(401, "token-needed", "A token is needed", fix, headers=headers)
    return api_error(TokenRefusedError(f"{wrong}: {fix}"), headers=headers)


def insufficient_role(name: str, role: TokenRole, needed: TokenRole) -> ApiError:
    """403: authenticated, but with too small a role."""
    return ApiError(
        403,
        "role-too-small",
        "Insufficient role",
        f"{name} has role {role}, and this needs {needed}: {_add(needed)}",
    )


def cross_site() -> ApiError:
    """403: a request that another web site made a browser send."""
    return ApiError(
        403,
        "foreign-origin",
        "Origin not allowed",
        "a page of another service made the browser send this (`Origin`); a "
        "program other than a browser sends `Authorization: Bearer TOKEN`",
    )


def tokens_unreadable(error: TokenFileError) -> ApiError:
    """503: the tokens cannot be read, so nobody can be authenticated."""
    return api_error(error, 503)


def has_account(settings: Settings) -> bool:
    """Whether the settings define an account that may read."""
    password = settings.reader_password.reveal()
    return bool(password or settings.reader_password_file)


def _add(role: TokenRole) -> str:
    return f"`supertwin token add NAME --role {role}`"
