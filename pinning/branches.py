"""hwloc's tree of nested sets."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass
class Branch:
    """A set of threads and its subsets, ordered by their lowest thread."""

    cpus: frozenset[int]
    children: list["Branch"] = field(default_factory=list)


def branches(cpus: frozenset[int], held: Iterable[frozenset[int]]) -> Branch:
    """The tree of the ``held`` sets and of single threads.

    Sets that overlap others without nesting are left out. Children are in the order of
    their lowest thread, as in hwloc.
    """
    root = Branch(cpus)
    smallest = dict.fromkeys(cpus, root)
    sets = {*held, *(frozenset({cpu}) for cpu in cpus)} - {cpus, frozenset()}
    for members in sorted(sets, key=lambda one: (-len(one), min(one))):
        parents = {id(smallest[cpu]) for cpu in members}
        if len(parents) > 1:
            continue
        branch = Branch(members)
        smallest[min(members)].children.append(branch)
        smallest.update(dict.fromkeys(members, branch))
    _sort(root)
    return root


def _sort(branch: Branch) -> None:
    branch.children.sort(key=lambda child: min(child.cpus))
    for child in branch.children:
        _sort(child)


def leaves(branch: Branch) -> Iterator[int]:
    """The threads, depth first."""
    if not branch.children:
        yield from sorted(branch.cpus)
    for child in branch.children:
        yield from leaves(child)
