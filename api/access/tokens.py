"""Tokens: who may do what over HTTP, and until when.

A token is shown once, when it is made; the file under ``SUPERTWIN_HOME`` keeps its
SHA-256 digest. A slow hash protects passwords, which can be guessed; a secret of 256
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

from api.access.token_file import NAME, read_tokens, write_tokens
from core.errors import MendableError
from core.linux.lock import turn
from core.linux.private_folder import make_private
from core.settings.setting_forms import hours_of

_FORM = re.compile(r"supertwin_([0-9a-f]{12})_([0-9a-f]{64})")
_MOST_TOKENS = 1000
_LONGEST_HOURS = 100 * 365 * 24
# Of clocks that differ a little, as those of containers and virtual machines do.
_SLACK_S = 60


class Role(StrEnum):
    """What a token lets do; each role may what those before it may."""

    READER = "reader"
    OPERATOR = "operator"
    ADMIN = "admin"

    def includes(self, other: "Role") -> bool:
        """Whether it may what the other may."""
        order = [*Role]
        return order.index(self) >= order.index(other)


@dataclass(frozen=True)
class Token:
    """One token as it is kept; times are Unix seconds, ``expires`` None for never."""

    id: str
    name: str
    role: Role
    made: int
    expires: int | None
    hash: str

    def refusal(self, now: float) -> str:
        """Why it lets nobody in at that time, empty when it does."""
        if self.expires is None:
            return ""
        if now >= self.expires:
            return f"token {self.name} expired at {moment(self.expires)}"
        if now < self.made - _SLACK_S:
            return (
                f"token {self.name} was made at {moment(self.made)}, which is still to "
                "come by this machine's clock: set the clock"
            )
        return ""


@dataclass(frozen=True)
class Presented:
    """A text that has the form of a token, parted into what finds and what proves."""

    id: str
    secret: str


class TokenError(MendableError):
    """A token that cannot be made or taken back as it is asked for."""


def parse_token(text: str) -> Presented | None:
    """The parts of a token; None for a text that is none."""
    found = _FORM.fullmatch(text)
    return Presented(found[1], found[2]) if found else None


def proves(token: Token, secret: str) -> bool:
    """Whether a secret is that of a token, compared in constant time."""
    return compare_digest(token.hash, _digest(secret))


def all_tokens(home: Path) -> list[Token]:
    """Every token that is kept, the oldest first; raises TokenFileError."""
    return [_token(entry) for entry in read_tokens(file_of(home))]


def add_token(home: Path, name: str, role: Role, expires: int | None) -> str:
    """Make a token and keep its digest; the answer is the only copy of the token.

    Raises TokenError and TokenFileError; nothing is changed then.
    """
    if not NAME.fullmatch(name):
        raise TokenError(
            f"{name[:80]!r} can be no name of a token: use 1 to 64 letters, digits and "
            "_ . @ ~ -"
        )
    with _changing(home) as tokens:
        if any(token.name == name for token in tokens):
            raise TokenError(
                f"there is a token {name} already: give another name, or `supertwin "
                f"token revoke {name}` first"
            )
        if len(tokens) >= _MOST_TOKENS:
            raise TokenError(f"there are {len(tokens)} tokens: revoke some first")
        id_, secret = secrets.token_hex(6), secrets.token_hex(32)
        made = int(time.time())
        tokens.append(Token(id_, name, role, made, expires, _digest(secret)))
    return f"supertwin_{id_}_{secret}"


def revoke_token(home: Path, name: str) -> None:
    """Take a token back: from the next request on it lets nobody in.

    Raises TokenError and TokenFileError.
    """
    with _changing(home) as tokens:
        gone = [token for token in tokens if token.name == name]
        if not gone:
            names = [token.name for token in tokens]
            near = get_close_matches(name[:100], names, n=3) or names[:5]
            known = f"there is {', '.join(near)}" if near else "there is none"
            raise TokenError(f"no token {name[:80]!r}; {known}")
        for token in gone:
            tokens.remove(token)
            used_file(home, token).unlink(missing_ok=True)


def expiry(text: str, now: float | None = None) -> int:
    """When a token that is made now ends: after ``12h``, ``30d``, ``2w`` or ``1y``.

    Raises TokenError.
    """
    hours = hours_of(text)
    if hours is None or not 1 <= hours <= _LONGEST_HOURS:
        raise TokenError(
            f"{text[:40]!r} is no time that a token can last: give 12h, 30d, 2w or 1y"
        )
    return int(time.time() if now is None else now) + 3600 * hours


def moment(seconds: float) -> str:
    """A time as ``2026-11-21T19:45:19Z``."""
    return f"{datetime.fromtimestamp(int(seconds), UTC):%Y-%m-%dT%H:%M:%SZ}"


def file_of(home: Path) -> Path:
    """The file that holds the tokens of an installation."""
    return home / "access" / "tokens.json"


def used_file(home: Path, token: Token) -> Path:
    """The empty file whose time says when a token was last used."""
    return home / "access" / f"{token.id}.used"


def last_used(home: Path, token: Token) -> float | None:
    """When the API last took a token, to about a minute; None when it never did."""
    try:
        return used_file(home, token).stat().st_mtime
    except OSError:
        return None


@contextmanager
def _changing(home: Path) -> Iterator[list[Token]]:
    """The tokens as a list to change, by one process at a time; written at the end."""
    path = file_of(home)
    make_private(path.parent)
    with turn(path.parent, lambda: None, "tokens"):
        tokens = all_tokens(home)
        yield tokens
        write_tokens(path, [vars(token) for token in tokens])


def _token(entry: dict[str, object]) -> Token:
    return Token(**{**entry, "role": Role(str(entry["role"]))})  # type: ignore[arg-type]


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
