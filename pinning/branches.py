"""hwloc's tree of nested sets, and its way of spreading threads over it."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field


@dataclass
class Branch:
    """A set of threads and its subsets, ordered by their lowest thread."""

    cpus: frozenset[int]
    children: list["Branch"] = field(default_factory=list)


def branches(cpus: frozenset[int], held: Iterable[frozenset[int]]) -> Branch:
    """The tree of these sets and of single threads; overlapping sets are left out.

    Children are in the order of their lowest thread, as in hwloc.
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


def spread(root: Branch, candidates: Collection[int], count: int) -> list[int]:
    """`count` threads as far apart as hwloc_distrib() places them.

    Each branch gets threads in proportion to its candidates, rounded so that earlier
    branches get the remainder, and so on recursively. Of the set that remains for one
    thread the lowest is taken, as by `hwloc-distrib --single`. `count` is at most the
    number of candidates. See hwloc_distrib() in hwloc's helper.h.
    """
    pruned = _prune(root, frozenset(candidates))
    return [min(cpus) for cpus in _distribute([pruned], count)]


def _prune(branch: Branch, candidates: frozenset[int]) -> Branch:
    kept = [child for child in branch.children if not candidates.isdisjoint(child.cpus)]
    return Branch(
        branch.cpus & candidates, [_prune(child, candidates) for child in kept]
    )


def _distribute(roots: Sequence[Branch], count: int) -> list[frozenset[int]]:
    weight = sum(len(root.cpus) for root in roots)
    given, found = 0, list[frozenset[int]]()
    for root in roots:
        before, given = given, given + len(root.cpus)
        share = _rounded_up(given * count, weight) - _rounded_up(before * count, weight)
        if share > 1 and root.children:
            found += _distribute(root.children, share)
        elif share:
            found += [root.cpus] * share
        else:
            # It gets no thread of its own and extends the set before it.
            found[-1] |= root.cpus
    return found


def _rounded_up(value: int, by: int) -> int:
    return -(-value // by)
