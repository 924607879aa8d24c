"""Tokens: what a caller may do over HTTP, and until when.

A token is shown once, when it is made; the file under ``SUPERTWIN_HOME`` keeps its
SHA-256 digest. Passwords need a slow hash because they can be guessed; a secret of 256
random bits cannot.
"""

import hashlib
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from secrets import compare_digest
from typing import Any

from api.access.token_file import NAME, read_tokens, write_tokens
from api.access.token_scope import ScopeError
from core.errors import UserError
from core.linux.lock import turn
from core.linux.private_folder import make_private
from core.settings.setting_types import hours_of
from core.stores.scope import Scope

_FORM = re.compile(r"supertwin_([0-9a-f]{12})_([0-9a-f]{64})")
_MOST_TOKENS = 1000
_LONGEST_HOURS = 100 * 365 * 24
# Tolerance for clocks that differ slightly, as in containers and virtual machines.
_SLACK_S = 60
_ALL = Scope()


class TokenRole(StrEnum):
    """What a token allows; each role includes those before it."""

    READER = "reader"
    OPERATOR = "operator"
    ADMIN = "admin"

    def includes(self, other: "TokenRole") -> bool:
        """Whether this role includes another."""
        order = [*TokenRole]
        return order.index(self) >= order.index(other)


@dataclass(frozen=True)
class AccessToken:
    """One stored token; times are Unix seconds, ``expires`` None means never."""

    id: str
    name: str
    role: TokenRole
    made: int
    expires: int | None
    hash: str
    scope: Scope = _ALL

    def refusal(self, now: float) -> str:
        """Say why the token is not valid at that time; empty if it is."""
        if self.expires is None:
            return ""
        if now >= self.expires:
            return f"token {self.name} expired at {as_utc(self.expires)}"
        if now < self.made - _SLACK_S:
            return (
                f"token {self.name} was made at {as_utc(self.made)}, which is in the "
                "future by this machine's clock: set the clock"
            )
        return ""


@dataclass(frozen=True)
class PresentedToken:
    """A text in the form of a token, split into its id and its secret."""

    id: str
    secret: str


class TokenError(UserError):
    """A token cannot be made or revoked as requested."""

    code = "bad-token"


class TokenExistsError(TokenError):
    """A token has this name."""

    code = "token-exists"


class TokenRefusedError(TokenError):
    """The token is not of this installation, expired or was revoked."""

    code = "token-refused"
    status = 401


class UnknownTokenError(TokenError):
    """No token has this name."""

    code = "unknown-token"
    status = 404


def parse_token(text: str) -> PresentedToken | None:
    """Split a token into its parts; None if the text is not a token."""
    found = _FORM.fullmatch(text)
    return PresentedToken(found[1], found[2]) if found else None


def proves(token: AccessToken, secret: str) -> bool:
    """Whether a secret is that of a token, compared in constant time."""
    return compare_digest(token.hash, _digest(secret))


def all_tokens(home: Path) -> list[AccessToken]:
    """Return all stored tokens, the oldest first; raises TokenFileError."""
    return [_token(entry) for entry in read_tokens(file_of(home))]


def add_token(
    home: Path, name: str, role: TokenRole, expires: int | None, scope: Scope = _ALL
) -> str:
    """Make a token and store its digest; return the only copy of the token.

    Raises TokenError, ScopeError and TokenFileError, and changes nothing then.
    """
    if scope and role is TokenRole.ADMIN:
        raise ScopeError(
            "an admin may do everything, so its token has no scope: use the role "
            "reader or operator"
        )
    if not NAME.fullmatch(name):
        raise TokenError(
            f"{name[:80]!r} is not a valid token name: use 1 to 64 letters, digits and "
            "_ . @ ~ -"
        )
    with _changing(home) as tokens:
        if any(token.name == name for token in tokens):
            raise TokenExistsError(
                f"there is a token {name} already: give another name, or `supertwin "
                f"token revoke {name}` first"
            )
        if len(tokens) >= _MOST_TOKENS:
            raise TokenError(f"there are {len(tokens)} tokens: revoke some first")
        id_, secret = secrets.token_hex(6), secrets.token_hex(32)
        made = int(time.time())
        hash_ = _digest(secret)
        tokens.append(AccessToken(id_, name, role, made, expires, hash_, scope))
    return f"supertwin_{id_}_{secret}"


def revoke_token(home: Path, name: str) -> None:
    """Revoke a token: it is refused from the next request.

    Raises UnknownTokenError and TokenFileError.
    """
    with _changing(home) as tokens:
        revoked = [token for token in tokens if token.name == name]
        if not revoked:
            names = [token.name for token in tokens]
            near = get_close_matches(name[:100], names, n=3) or names[:5]
            known = f"there is {', '.join(near)}" if near else "there is none"
            raise UnknownTokenError(f"no token {name[:80]!r}; {known}")
        for token in revoked:
            tokens.remove(token)
            used_file(home, token).unlink(missing_ok=True)


def expiry(text: str, now: float | None = None) -> int:
    """Return when a token made now expires: after ``12h``, ``30d``, ``2w`` or ``1y``.

    Raises TokenError.
    """
    hours = hours_of(text)
    if hours is None or not 1 <= hours <= _LONGEST_HOURS:
        raise TokenError(
            f"{text[:40]!r} is not a valid time for a token: give 12h, 30d, 2w or 1y"
        )
    return int(time.time() if now is None else now) + 3600 * hours


def as_utc(seconds: float) -> str:
    """Format a time as ``2026-11-21T19:45:19Z``."""
    return f"{datetime.fromtimestamp(int(seconds), UTC):%Y-%m-%dT%H:%M:%SZ}"


def file_of(home: Path) -> Path:
    """Return the path of an installation's token file."""
    return home / "access" / "tokens.json"


def used_file(home: Path, token: AccessToken) -> Path:
    """Return the empty file whose modification time is the token's last use."""
    return home / "access" / f"{token.id}.used"


def last_used(home: Path, token: AccessToken) -> float | None:
    """Return when the API last accepted a token, to about a minute; None if never."""
    try:
        return used_file(home, token).stat().st_mtime
    except OSError:
        return None


@contextmanager
def _changing(home: Path) -> Iterator[list[AccessToken]]:
    """Yield the tokens as a list to change, then write it; one process at a time."""
    path = file_of(home)
    make_private(path.parent)
    with turn(path.parent, lambda: None, "tokens"):
        tokens = all_tokens(home)
        yield tokens
        write_tokens(
            path, [{**vars(one), "scope": one.scope.kinds()} for one in tokens]
        )


def _token(entry: dict[str, Any]) -> AccessToken:
    names = {kind: tuple(given) for kind, given in entry["scope"].items()}
    role, scope = TokenRole(entry["role"]), Scope(**names)
    return AccessToken(**{**entry, "role": role, "scope": scope})


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
