"""Who runs on which CPUs: two observations at once would measure each other."""

from collections.abc import Iterable
from threading import Lock

_Named = dict[str, frozenset[int]]


class Cpus:
    """The CPUs of all hosts that observations have, or queue for, in the order in which
    they came; threads may share it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        # Nobody's names: all of a host.
        self._had: dict[str, _Named] = {}
        self._queues: dict[str, _Named] = {}

    def take(
        self, host: str, cpus: Iterable[int], who: str, *, queues: bool = False
    ) -> str:
        """Give CPUs, all of the host where none are named, to somebody.

        Nothing is given where another has one, or came first and ``queues`` for one;
        the answer says who and which. Who queues asks again, or gives back.
        """
        wanted = frozenset(cpus)
        with self._lock:
            had = self._had.setdefault(host, {})
            queue = self._queues.setdefault(host, {})
            reason = _taken(host, wanted, had) or _queued(host, wanted, queue, who)
            if not reason:
                queue.pop(who, None)
                had[who] = wanted
            elif queues:
                queue.setdefault(who, wanted)
        return reason

    def keep(self, host: str, cpus: Iterable[int], who: str) -> None:
        """Give CPUs to somebody who runs on them already, whoever else has them."""
        with self._lock:
            self._had.setdefault(host, {})[who] = frozenset(cpus)

    def shared(self, host: str, who: str) -> str:
        """Who else has one of somebody's CPUs, and which; empty where nobody has."""
        with self._lock:
            had = dict(self._had.get(host, {}))
            wanted = had.pop(who, None)
        return "" if wanted is None else _taken(host, wanted, had)

    def give_back(self, host: str, who: str) -> bool:
        """Nobody has them, or queues for them, any more; whether somebody had."""
        with self._lock:
            self._queues.get(host, {}).pop(who, None)
            return self._had.get(host, {}).pop(who, None) is not None

    def pinned(self, host: str) -> frozenset[int]:
        """All that somebody asked for by number."""
        with self._lock:
            return frozenset().union(*self._had.get(host, {}).values())


def _taken(host: str, wanted: frozenset[int], had: _Named) -> str:
    for other, theirs in had.items():
        if (cpu := _shared(wanted, theirs)) is not None:
            return f"observation {other} has CPU {cpu} of {host}"
    return ""


def _queued(host: str, wanted: frozenset[int], queue: _Named, who: str) -> str:
    for other, theirs in queue.items():
        if other == who:
            break
        if (cpu := _shared(wanted, theirs)) is not None:
            return f"observation {other} came first and waits for CPU {cpu} of {host}"
    return ""


def _shared(one: frozenset[int], other: frozenset[int]) -> int | None:
    """The first CPU that both ask for."""
    if not one or not other:
        return min(one or other, default=0)
    return min(one & other, default=None)
