"""Which run uses which CPUs: two runs on one CPU would distort each other."""

from collections.abc import Iterable
from threading import Lock

_Named = dict[str, frozenset[int]]


class Cpus:
    """The CPUs of all hosts that runs hold or queue for, in the order of requests.

    Methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        # An empty set of CPUs means all CPUs of the host.
        self._had: dict[str, _Named] = {}
        self._queues: dict[str, _Named] = {}

    def take(
        self, host: str, cpus: Iterable[int], who: str, *, queues: bool = False
    ) -> str:
        """Reserve CPUs for ``who``; no CPUs means all of the host.

        Nothing is reserved if another run holds one of them, or asked earlier and
        ``queues`` for one: the return value names that run and the CPU, and is empty on
        success. A run that queues must ask again, or call `give_back`.
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
        """Reserve CPUs for a run that already uses them, even if others hold them."""
        with self._lock:
            self._had.setdefault(host, {})[who] = frozenset(cpus)

    def shared(self, host: str, who: str) -> str:
        """Name another run that holds one of ``who``'s CPUs; empty if there is none."""
        with self._lock:
            had = dict(self._had.get(host, {}))
            wanted = had.pop(who, None)
        return "" if wanted is None else _taken(host, wanted, had)

    def give_back(self, host: str, who: str) -> bool:
        """Release the CPUs and the place in the queue; True if any CPUs were held."""
        with self._lock:
            self._queues.get(host, {}).pop(who, None)
            return self._had.get(host, {}).pop(who, None) is not None

    def pinned(self, host: str) -> frozenset[int]:
        """Return all CPUs that runs reserved by number."""
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
    """Return the first CPU in both sets; None if there is none."""
    if not one or not other:
        return min(one or other, default=0)
    return min(one & other, default=None)
