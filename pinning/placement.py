"""A placement of threads, the facts that it needs, and checks of every request."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pinning import reason
from pinning.errors import PlaceError, PolicyError
from pinning.policy import Policy
from pinning.tree import Tree

MOST_THREADS = 100_000


@dataclass(frozen=True)
class PolicyFacts:
    """Facts other than the tree that a policy may need.

    ``near`` has the CPUs nearest to a device by its (kind, name), ``cores`` the CPUs of
    ``p`` and of ``e`` cores, ``load`` the load of each CPU from 0 to 1, and ``spread``
    the CPUs that ``pinning/scatter`` chooses from a set.
    """

    near: Mapping[tuple[str, str], Collection[int]] = field(default_factory=dict)
    cores: Mapping[str, Collection[int]] = field(default_factory=dict)
    load: Mapping[int, float] = field(default_factory=dict)
    spread: Mapping[frozenset[int], Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Placement:
    """CPUs in the order in which threads should use them, and why these.

    It is preliminary while there are sets in ``unspread``: run ``pinning/scatter`` over
    each of them, and choose again with the results.
    """

    host: str
    policy: str
    cpus: tuple[int, ...]
    reason: str
    unspread: tuple[frozenset[int], ...] = ()


def placement(
    tree: Tree, policy: Policy, cpus: Sequence[int], known: PolicyFacts
) -> Placement:
    """The placement on these CPUs, with its reason."""
    near = [reason.near(tree, *one, known.near[one]) for one in policy.near]
    words = reason.sentences(tree, policy, cpus, near)
    words += reason.warnings(tree, policy, cpus, known.near)
    return Placement(tree.host, policy.text, tuple(cpus), " ".join(words))


def check_count(policy: Policy, threads: int | None) -> None:
    """Raise PolicyError for a number of threads that no host can have."""
    if threads is None and not (policy.per or policy.likwid):
        raise PolicyError(f"{policy.text} needs the number of threads: give threads")
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise PolicyError(f"{threads} threads: ask for 1 to {MOST_THREADS}")


def check(tree: Tree, policy: Policy, threads: int | None, known: PolicyFacts) -> None:
    """Raise PinningError if no host can meet a request, or it names what this lacks."""
    tree.check()
    check_count(policy, threads)
    if policy.order == "idle" and not known.load:
        raise PlaceError(
            f"the load of {tree.host} is not known: nothing samples "
            "kernel.percpu.cpu.idle there now; leave idle out"
        )
    check_named(tree, policy.exclude, "exclude")


def check_named(tree: Tree, cpus: Collection[int], word: str) -> None:
    """Raise PlaceError for a CPU that the host does not have."""
    unknown = sorted(set(cpus) - tree.cpus)
    if unknown:
        last = max(tree.cpus)
        raise PlaceError(
            f"{word}: {tree.host} has no CPU {unknown[0]}; its last is {last}"
        )
