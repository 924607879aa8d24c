"""The tokens in their file, which is checked for changes with every request."""

import contextlib
import os
import time
from pathlib import Path

from api.access.token_file import TokenFileError
from api.access.tokens import AccessToken, all_tokens, file_of, used_file

_NOTED_EVERY_S = 60.0


class KnownTokens:
    """The tokens of an installation; a change of the file applies immediately."""

    def __init__(self, home: Path) -> None:
        self._home, self._file = home, file_of(home)
        self._seen: tuple[int, ...] | None = None
        self._tokens: dict[str, AccessToken] = {}
        self._problem: TokenFileError | None = None
        self._latest = 0.0
        self._noted: dict[str, float] = {}

    def find(self, id_: str) -> AccessToken | None:
        """Return the token with an id; raises TokenFileError if none can be trusted."""
        seen = self._state()
        if seen != self._seen:
            self._read()
            self._seen = seen
        if self._problem:
            raise self._problem
        return self._tokens.get(id_)

    def now(self) -> float:
        """Return the time, which never goes back: expired tokens stay expired."""
        self._latest = max(self._latest, time.time())
        return self._latest

    def note_use(self, token: AccessToken) -> None:
        """Record the time for `supertwin token list`, unless the disk is full."""
        now = time.monotonic()
        if now - self._noted.get(token.id, -_NOTED_EVERY_S) < _NOTED_EVERY_S:
            return
        self._noted[token.id] = now
        path = used_file(self._home, token)
        with contextlib.suppress(OSError):
            path.touch(mode=0o600)
            os.utime(path)

    def _read(self) -> None:
        try:
            self._tokens = {token.id: token for token in all_tokens(self._home)}
            self._problem = None
        except TokenFileError as error:
            self._problem = error

    def _state(self) -> tuple[int, ...]:
        """Return what identifies the version of the file, or the error number."""
        try:
            found = os.lstat(self._file)
        except OSError as error:
            return (error.errno or -1,)
        return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
