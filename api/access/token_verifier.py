"""Proof that a secret is a token's: dear, so once a minute, and few at a time.

A proof costs 20 ms of a core and 19 MiB on purpose. A flood of wrong secrets must cost
no more than a share of one core, and must keep nobody out whose token is right.
"""

import asyncio
import contextlib
import hashlib
import math
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from api.access.tokens import Presented, Token, proves, used_file
from core.errors import ApiError

_KEPT_S = 60.0
_MOST_KEPT = 2048
_BURST, _PER_S = 10.0, 2.0


@dataclass
class Allowance:
    """How many proofs may yet fail: a bucket that fills up again by and by."""

    left: float = _BURST
    at: float = 0.0

    def take(self) -> float:
        """Take one out; else the seconds until there is one."""
        now = time.monotonic()
        self.left = min(_BURST, self.left + (now - self.at) * _PER_S)
        self.at = now
        if self.left < 1:
            return (1 - self.left) / _PER_S
        self.left -= 1
        return 0.0

    def give_back(self) -> None:
        """What did not fail does not count."""
        self.left = min(_BURST, self.left + 1)


@dataclass(frozen=True)
class _Known:
    """What came of a proof against a hash ('' where no token had the id)."""

    hash: str
    proved: bool
    until: float


class Proofs:
    """Proves secrets, one at a time of known ids and one of unknown ones.

    What was found is kept for a minute under a keyed hash of the token, and holds for
    the very hash that it was proved against: a token that is revoked or made anew is
    proved anew.
    """

    def __init__(self, home: Path) -> None:
        self._home, self._key = home, secrets.token_bytes(32)
        self._kept: dict[bytes, _Known] = {}
        self._under_way: dict[tuple[bytes, str], asyncio.Task[_Known]] = {}
        self._allowances: dict[str, Allowance] = {}
        self._turns = {True: asyncio.Lock(), False: asyncio.Lock()}

    async def proved(self, sent: Presented, token: Token | None) -> bool:
        """Whether the secret is the token's; raises ApiError (429) in a flood."""
        key, wanted = self._hash(sent), token.hash if token else ""
        known = self._kept.get(key)
        if known and known.hash != wanted:
            known = None
        if known and time.monotonic() < known.until:
            return known.proved
        task = self._under_way.get((key, wanted))
        if task is None:
            # Who was right before keeps out of the way of those who never were.
            right = known is not None and known.proved
            task = self._start(key, sent, token, None if right else _payer(sent, token))
        # Others may wait for the same.
        return (await asyncio.shield(task)).proved

    def _start(
        self, key: bytes, sent: Presented, token: Token | None, payer: str | None
    ) -> asyncio.Task[_Known]:
        allowance = Allowance()
        if payer is not None:
            allowance = self._allowances.setdefault(payer, allowance)
        if wait := allowance.take():
            raise _too_many(wait)
        task = asyncio.create_task(self._prove(key, sent, token, allowance))
        place = (key, token.hash if token else "")
        self._under_way[place] = task
        task.add_done_callback(lambda _: self._under_way.pop(place))
        return task

    async def _prove(
        self, key: bytes, sent: Presented, token: Token | None, allowance: Allowance
    ) -> _Known:
        async with self._turns[token is not None]:
            proved = await to_thread.run_sync(proves, token, sent.secret)
        if token and proved:
            allowance.give_back()
            self._note_use(token)
        until = time.monotonic() + _KEPT_S
        known = _Known(token.hash if token else "", proved, until)
        self._kept.pop(key, None)
        while len(self._kept) >= _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = known
        return known

    def _note_use(self, token: Token) -> None:
        """Leave the time for `supertwin token list`, where there is room to write."""
        path = used_file(self._home, token)
        with contextlib.suppress(OSError):
            path.touch(mode=0o600)
            os.utime(path)

    def _hash(self, sent: Presented) -> bytes:
        text = f"{sent.id}_{sent.secret}".encode()
        return hashlib.blake2b(text, key=self._key, digest_size=32).digest()


def _payer(sent: Presented, token: Token | None) -> str:
    """Whose allowance pays; unknown ids share one."""
    return sent.id if token else ""


def _too_many(wait: float) -> ApiError:
    seconds = math.ceil(wait)
    return ApiError(
        429,
        "too-many-attempts",
        "Too many wrong tokens",
        f"too many tokens were wrong lately: try again in {seconds} s",
        headers={"Retry-After": str(seconds)},
    )
