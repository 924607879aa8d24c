"""Who runs on which CPUs: two observations at once would measure each other."""

from collections.abc import Iterable
from threading import Lock

_ALL = range(1 << 16)


class Cpus:
    """The CPUs of all hosts that observations have; threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._had: dict[str, dict[str, frozenset[int]]] = {}

    def take(self, host: str, cpus: Iterable[int], who: str) -> str:
        """Give CPUs, all of the host where none are named, to somebody.

        Nothing is given, and the answer says who has which, where one is taken.
        """
        wanted = frozenset(cpus) or frozenset(_ALL)
        with self._lock:
            had = self._had.setdefault(host, {})
            for other, theirs in had.items():
                if both := wanted & theirs:
                    return f"observation {other} has CPU {min(both)} of {host}"
            had[who] = wanted
        return ""

    def give_back(self, host: str, who: str) -> bool:
        """Nobody has them any more; whether somebody had."""
        with self._lock:
            return self._had.get(host, {}).pop(who, None) is not None

    def pinned(self, host: str) -> frozenset[int]:
        """All that somebody asked for by number."""
        with self._lock:
            had = self._had.get(host, {}).values()
        return frozenset().union(*(cpus for cpus in had if len(cpus) < len(_ALL)))
