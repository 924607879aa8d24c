"""The only place that authenticates the callers of requests and checks their roles."""

from contextlib import suppress
from dataclasses import dataclass, replace
from secrets import compare_digest

from fastapi import Request

from api.access import auth_errors
from api.access.credentials import Credentials, cookie_name, credentials, is_foreign
from api.access.known_tokens import KnownTokens
from api.access.local_api import LocalApi, local_api_file
from api.access.sessions import LoginSessions
from api.access.token_file import TokenFileError
from api.access.tokens import AccessToken, TokenRole, parse_token, proves
from core.errors import ApiError
from core.linux.private_folder import make_private
from core.settings.accounts import reader_account, write_secret
from core.settings.settings import Settings
from core.stores.scope import Scope

_UNKNOWN = "the token is not one of this installation, or was revoked"
_NO_TOKEN = "the credentials are not a token"  # noqa: S105


@dataclass(frozen=True)
class Caller:
    """An authenticated caller; without a token the reader account or the owner."""

    name: str
    role: TokenRole
    token: AccessToken | None = None
    session: str = ""

    @property
    def is_owner(self) -> bool:
        """Whether it is the owner of the state folder, who could change it directly."""
        return self.token is None and self.role is TokenRole.ADMIN

    @property
    def scope(self) -> Scope:
        """What the caller is limited to; only tokens have limits."""
        return self.token.scope if self.token else Scope()


_OWNER = Caller("the owner of the state", TokenRole.ADMIN)


class Authenticator:
    """Authenticates requests by bearer token, by Basic, or by a browser's session."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._account = reader_account(settings)
        self._known = KnownTokens(settings.home)
        self._local: LocalApi | None = None
        self.sessions = LoginSessions()
        self.cookie = cookie_name(settings)

    def open_to_owner(self) -> None:
        """Admit users who can read the state folder; nobody if it is read-only."""
        path, local = local_api_file(self._settings.home), LocalApi(self._settings.api)
        with suppress(OSError):
            make_private(path.parent)
            write_secret(path, local.text())
            self._local = local

    @property
    def reads_are_open(self) -> bool:
        """Whether reading needs no token."""
        return self._settings.reads_are_open

    def admit(self, request: Request, role: TokenRole) -> Caller:
        """Authenticate the caller and check its role; raises ApiError (401, 403, 503).

        Revocation and expiry apply from the next request.
        """
        sent = credentials(request, self.cookie)
        # A page of another origin cannot see the answers to reads (api.access.cors).
        if role is not TokenRole.READER and self._is_borrowed(request, sent):
            raise auth_errors.cross_site()
        caller = self._caller(sent, role)
        # Set before the check, so that the audit trail names the caller.
        request.state.caller = caller
        if not caller.role.includes(role):
            raise auth_errors.insufficient_role(caller.name, caller.role, role)
        return caller

    def admit_token(self, text: str) -> Caller:
        """Return the caller that a token belongs to; raises ApiError."""
        return self._caller(Credentials("bearer", text), TokenRole.READER)

    def scope_of(self, request: Request) -> Scope:
        """Return the scope of valid credentials that a request has without need."""
        with suppress(ApiError):
            sent = credentials(request, self.cookie)
            return self._caller(sent, TokenRole.READER).scope
        return Scope()

    def still_admits(self, caller: Caller) -> bool:
        """Whether a caller that was admitted before would be admitted now."""
        if caller.session and not self.sessions.find(caller.session):
            return False
        if caller.token is None:
            return True
        try:
            return self._holds(caller.token) == ""
        except TokenFileError:
            return False

    def _caller(self, sent: Credentials, role: TokenRole) -> Caller:
        try:
            if sent.scheme == "session":
                return self._of_session(sent.secret, role)
            if sent.scheme == "basic" and self._is_account(sent):
                return Caller(sent.user, TokenRole.READER)
            if sent.scheme:
                return self._of_token(sent.secret, role)
        except TokenFileError as error:
            raise auth_errors.tokens_unreadable(error) from None
        raise auth_errors.unauthenticated(self._settings, role)

    def _of_token(self, text: str, role: TokenRole) -> Caller:
        if self._local and compare_digest(text.encode(), self._local.key.encode()):
            return _OWNER
        presented = parse_token(text)
        if presented is None:
            raise auth_errors.unauthenticated(self._settings, role, _NO_TOKEN)
        token = self._known.find(presented.id)
        if token is None or not proves(token, presented.secret):
            raise auth_errors.unauthenticated(self._settings, role, _UNKNOWN)
        if wrong := token.refusal(self._known.now()):
            raise auth_errors.unauthenticated(self._settings, role, wrong)
        self._known.note_use(token)
        return Caller(f"token {token.name}", token.role, token)

    def _of_session(self, secret: str, role: TokenRole) -> Caller:
        session = self.sessions.find(secret)
        if session and not session.token:
            return replace(_OWNER, session=secret)
        token = self._known.find(session.token) if session else None
        if session is None or token is None or token.hash != session.hash:
            wrong = "the session is over, log in again"
            raise auth_errors.unauthenticated(self._settings, role, wrong)
        if wrong := token.refusal(self._known.now()):
            raise auth_errors.unauthenticated(self._settings, role, wrong)
        return Caller(f"token {token.name}", token.role, token, secret)

    def _holds(self, token: AccessToken) -> str:
        """Say why a previously valid token is not valid any more; '' if it is."""
        if self._known.find(token.id) != token:
            return _UNKNOWN
        return token.refusal(self._known.now())

    def _is_borrowed(self, request: Request, sent: Credentials) -> bool:
        """Whether a page of another origin made a browser use stored credentials."""
        return sent.kept_by_browsers and is_foreign(
            request, self._settings, must_say=sent.scheme == "session"
        )

    def _is_account(self, sent: Credentials) -> bool:
        if self._account is None:
            return False
        given = f"{sent.user}:{sent.secret}".encode()
        return compare_digest(given, ":".join(self._account).encode())
