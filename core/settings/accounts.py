"""Accounts at the stores, and the account that may read the API.

Passwords are never printed or logged.
"""

import errno
import hashlib
import os
import secrets
import stat
from pathlib import Path
from typing import Literal

from core.linux.private_folder import make_private
from core.settings.setting import Secret, SettingsError
from core.settings.settings import Settings

Account = tuple[str, str]
Service = Literal["fuseki", "store"]
StoreKey = Literal["snapshot", "delete"]

# Bytes of a password file with its line ends: HTTP headers are limited.
_LONGEST = 4096


def fuseki_account(settings: Settings) -> Account | None:
    """Return user and password for Fuseki; None if no password is known.

    Raises SettingsError if the password file cannot be read.
    """
    return _account(settings, "fuseki", settings.fuseki_url)


def store_read_account(settings: Settings) -> Account | None:
    """Return user and password for the store that series are read from."""
    return _account(settings, "store", settings.store_read_url)


def store_write_account(settings: Settings) -> Account | None:
    """Return user and password for the store that series are written to."""
    return _account(settings, "store", settings.store_write_url)


def reader_account(settings: Settings) -> Account | None:
    """Return the account that may read the API; None if everybody may."""
    password = _given(settings, "reader")
    return (settings.reader_user, password) if password else None


def own_password_file(settings: Settings, service: Service) -> Path:
    """Return the file that holds the password of a local server."""
    return settings.home / service / "password"


def make_account(settings: Settings, service: Service) -> Account:
    """Return the account of a local server; create a password if it has none."""
    found = _account(settings, service)
    if found:
        return found
    file = own_password_file(settings, service)
    make_private(file.parent)
    password = secrets.token_urlsafe(24)
    write_secret(file, password + "\n")
    user: str = getattr(settings, f"{service}_user")
    return user, password


def store_key(settings: Settings, name: StoreKey) -> str:
    """Return a key of the local VictoriaMetrics: for snapshots, or to delete series.

    It outlives restarts of the store and of the supervisor.
    """
    file = settings.home / "store" / f"{name}-key"
    if not file.exists():
        make_private(file.parent)
        write_secret(file, secrets.token_urlsafe(24) + "\n")
    return _read_own(file)


def jetty_line(account: Account) -> str:
    """Return the line for the account in Jetty's password file."""
    user, password = account
    # Jetty's format for any password; only we can read the file.
    digest = hashlib.md5(password.encode("ascii"), usedforsecurity=False)
    return f"{user}: MD5:{digest.hexdigest()}\n"


def write_secret(path: Path, text: str) -> None:
    """Replace a file atomically; only its owner can read it."""
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    new.unlink(missing_ok=True)
    try:
        new.touch(mode=0o600, exist_ok=False)
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            # A revoked token must not be valid again after a power failure.
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _account(
    settings: Settings, service: Service, elsewhere: str = ""
) -> Account | None:
    """Return the account in the settings; a local server has its own by default.

    An external server must not learn the password of a local one.
    """
    password = _given(settings, service)
    if not password and not elsewhere:
        password = _read_own(own_password_file(settings, service))
    user: str = getattr(settings, f"{service}_user")
    return (user, password) if password else None


def _given(settings: Settings, service: str) -> str:
    """Return the password from a setting, or from the file that it names."""
    secret: Secret = getattr(settings, f"{service}_password")
    file: Path | None = getattr(settings, f"{service}_password_file")
    name = f"SUPERTWIN_{service.upper()}_PASSWORD"
    if secret.reveal() or file is None:
        return _checked(secret.reveal(), name)
    name = f"{name}_FILE={file}"
    text = _checked(_read(file, name), name)
    if not text:
        raise SettingsError(f"{name} is empty: write the password into it")
    return text


def _read_own(file: Path) -> str:
    return _read(file, str(file)) if file.exists() else ""


def _read(file: Path, name: str) -> str:
    """Return the text of a regular file: several processes read it, so not a pipe."""
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file")
            content = opened.read(_LONGEST + 1)
    except OSError as error:
        raise SettingsError(
            f"{name} cannot be read ({error.strerror}): fix the file"
        ) from None
    if len(content) > _LONGEST:
        raise SettingsError(
            f"{name}: the password has more than {_LONGEST} characters: shorten it"
        )
    return content.decode("utf-8", "replace").strip()


def _checked(password: str, name: str) -> str:
    """Return the password if HTTP Basic can carry it; raises SettingsError."""
    if not (password.isascii() and password.isprintable()):
        raise SettingsError(
            f"{name}: the password has characters beyond printable ASCII: set another"
        )
    return password
