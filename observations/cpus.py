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
        self._held: dict[str, _Named] = {}
        self._queues: dict[str, _Named] = {}

    def take(
        self, host: str, cpus: Iterable[int], owner: str, *, queues: bool = False
    ) -> str:
        """Reserve CPUs for ``owner``; no CPUs means all of the host.

        Nothing is reserved if another run holds one of them, or asked earlier and
        ``queues`` for one: the return value names that run and the CPU, and is empty on
        success. A run that queues must ask again, or call `release`.
        """
        wanted = frozenset(cpus)
        with self._lock:
            held = self._held.setdefault(host, {})
            queue = self._queues.setdefault(host, {})
            reason = _taken_by(host, wanted, held) or _queued_behind(
                host, wanted, queue, owner
            )
            if not reason:
                queue.pop(owner, None)
                held[owner] = wanted
            elif queues:
                queue.setdefault(owner, wanted)
        return reason

    def keep(self, host: str, cpus: Iterable[int], owner: str) -> None:
        """Reserve CPUs for a run that already uses them, even if others hold them."""
        with self._lock:
            self._held.setdefault(host, {})[owner] = frozenset(cpus)

    def shared(self, host: str, owner: str) -> str:
        """Name another run that holds one of ``owner``'s CPUs; empty if there is
        none.
        """
        with self._lock:
            held = dict(self._held.get(host, {}))
            wanted = held.pop(owner, None)
        return "" if wanted is None else _taken_by(host, wanted, held)

    def release(self, host: str, owner: str) -> bool:
        """Release the CPUs and the place in the queue; True if any CPUs were held."""
        with self._lock:
            self._queues.get(host, {}).pop(owner, None)
            return self._held.get(host, {}).pop(owner, None) is not None

    def pinned(self, host: str) -> frozenset[int]:
        """Return all CPUs that runs reserved by number."""
        with self._lock:
            return frozenset().union(*self._held.get(host, {}).values())


def _taken_by(host: str, wanted: frozenset[int], held: _Named) -> str:
    for other, theirs in held.items():
        if (cpu := _first_shared(wanted, theirs)) is not None:
            return f"observation {other} has CPU {cpu} of {host}"
    return ""


def _queued_behind(host: str, wanted: frozenset[int], queue: _Named, owner: str) -> str:
    for other, theirs in queue.items():
        if other == owner:
            break
        if (cpu := _first_shared(wanted, theirs)) is not None:
            return f"observation {other} came first and waits for CPU {cpu} of {host}"
    return ""


def _first_shared(one: frozenset[int], other: frozenset[int]) -> int | None:
    """Return the first CPU in both sets; None if there is none."""
    if not one or not other:
        return min(one or other, default=0)
    return min(one & other, default=None)
