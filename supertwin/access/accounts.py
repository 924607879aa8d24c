"""Accounts: who SuperTwin is to its stores, and who may read its API.

Passwords are never printed or logged.
"""

import errno
import hashlib
import os
import secrets
import stat
from pathlib import Path

from pydantic import SecretStr

from supertwin.errors import MendableError
from supertwin.settings import Settings

Account = tuple[str, str]

# Of a file with its line ends: HTTP's headers take no more.
_LONGEST = 4096


def fuseki_account(settings: Settings) -> Account | None:
    """Return user and password for Fuseki; None where none is known.

    MendableError when the file that should hold the password cannot be read.
    """
    password = _given(settings, "fuseki")
    if not password and not settings.fuseki_url:
        password = _read_own(own_password_file(settings))
    return (settings.fuseki_user, password) if password else None


def store_account(settings: Settings) -> Account | None:
    """Return user and password for a VictoriaMetrics elsewhere; None without one."""
    password = _given(settings, "store")
    return (settings.store_user, password) if password else None


def reader_account(settings: Settings) -> Account | None:
    """Return the account that may read the API; None when everybody may."""
    password = _given(settings, "reader")
    return (settings.reader_user, password) if password else None


def own_password_file(settings: Settings) -> Path:
    """Return the file that holds the password of the local Fuseki."""
    return settings.home / "fuseki" / "password"


def make_fuseki_account(settings: Settings) -> Account:
    """Return the account of the local Fuseki, with a new password where it has none."""
    found = fuseki_account(settings)
    if found:
        return found
    password = secrets.token_urlsafe(24)
    write_secret(own_password_file(settings), password + "\n")
    return settings.fuseki_user, password


def jetty_line(account: Account) -> str:
    """Return the line that lets the account in, for Jetty's file of passwords."""
    user, password = account
    # Jetty's own form, which takes any password; the file itself is ours alone.
    digest = hashlib.md5(password.encode("ascii"), usedforsecurity=False)
    return f"{user}: MD5:{digest.hexdigest()}\n"


def write_secret(path: Path, text: str) -> None:
    """Replace a file that nobody else may read, whole."""
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    new.unlink(missing_ok=True)
    try:
        new.touch(mode=0o600, exist_ok=False)
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            # What was taken back must not come back with the power.
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _given(settings: Settings, service: str) -> str:
    """Return the password that a setting, or the file that it names, holds."""
    secret: SecretStr = getattr(settings, f"{service}_password")
    file: Path | None = getattr(settings, f"{service}_password_file")
    name = f"SUPERTWIN_{service.upper()}_PASSWORD"
    if secret.get_secret_value() or file is None:
        return _checked(secret.get_secret_value(), name)
    name = f"{name}_FILE={file}"
    text = _checked(_read(file, name), name)
    if not text:
        raise MendableError(f"{name} is empty: write the password into it")
    return text


def _read_own(file: Path) -> str:
    return _read(file, str(file)) if file.exists() else ""


def _read(file: Path, name: str) -> str:
    """Return the text of a file; several processes read it, so it is no pipe."""
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise OSError(errno.EINVAL, "it is no regular file")
            content = opened.read(_LONGEST + 1)
    except OSError as error:
        raise MendableError(f"{name} cannot be read: {error.strerror}") from None
    if len(content) > _LONGEST:
        raise MendableError(f"{name}: a password has at most {_LONGEST} characters")
    return content.decode("utf-8", "replace").strip()


def _checked(password: str, name: str) -> str:
    """Return the password; HTTP's Basic carries nothing else everywhere."""
    if not (password.isascii() and password.isprintable()):
        raise MendableError(f"{name}: a password is made of printable ASCII characters")
    return password
