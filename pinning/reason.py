"""The reason for a placement, or for its failure, in words."""

from collections.abc import Collection, Mapping, Sequence

from pinning.cpu_list import in_order, write_cpus
from pinning.policy import Policy, SharePolicy
from pinning.tree import KINDS, ThreadDomain, Tree

_ORDERS = {
    "compact": "in the order of the topology tree: SMT siblings, then the next core, "
    "then the next cache",
    "scatter": "spread over the topology tree in proportion to its branches, the "
    "lowest CPU of each part, as hwloc-distrib --single does",
    "idle": "the idlest cores first, by live load in steps of 5 %, then in the order "
    "of the topology tree",
}


def noun(kind: str) -> str:
    """``L3 cache`` for ``l3``."""
    return KINDS[kind]


def nouns(kind: str, count: int) -> str:
    """The noun, in the plural unless ``count`` is 1."""
    return KINDS[kind] + ("" if count == 1 else "s")


def threads(count: int) -> str:
    """``1 thread``, ``2 threads``."""
    return f"{count} thread{'' if count == 1 else 's'}"


def within(share: SharePolicy) -> str:
    """`` in one L3 cache``, or `` in the L3 cache of CPU 3``."""
    if share.of is None:
        return f" in one {noun(share.kind)}"
    return f" in the {noun(share.kind)} of CPU {share.of}"


def name(tree: Tree, domain: ThreadDomain) -> str:
    """The name of one domain: by its number, or by its CPUs."""
    if domain.kind in ("numa", "socket") and domain.number is not None:
        return f"{noun(domain.kind)} {domain.number}"
    return f"the {noun(domain.kind)} of {_these(domain.cpus & tree.allowed)}"


def near(tree: Tree, device: str, called: str, cpus: Collection[int]) -> str:
    """The sentence that names the CPUs near to a device."""
    return f"Nearest to {f'{device} {called}'.strip()} {_are(cpus)} {_these(cpus)}."


def of_query(command: str) -> str:
    """The sentence for CPUs that are the rows of a saved query."""
    return f"They are the rows of `{command}`."


def computed(queries: Sequence[str], *, by_load: bool) -> str:
    """The sentence for CPUs that are computed from the rows of several queries."""
    *most, last = queries
    rows = f"over the rows of {', '.join(most)} and {last}"
    load = ", and from the live load" if by_load else ""
    return f"No saved query gives this choice: it is computed {rows}{load}."


def warnings(
    tree: Tree,
    policy: Policy,
    cpus: Sequence[int],
    near: Mapping[tuple[str, str], Collection[int]],
) -> list[str]:
    """A sentence for each word of a policy that restricts nothing on this host."""
    useless = [
        f"near:{'='.join(filter(None, one))}"
        for one in policy.near
        if tree.allowed <= {*near[one]}
    ]
    for share in policy.share:
        shared = tree.domain(share.kind, cpus[0])
        if shared and tree.allowed <= shared.cpus:
            useless.append(f"share:{share.kind}")
    return [
        f"Warning: {word} restricts nothing, since it means all CPUs of {tree.host}."
        for word in useless
    ]


def _these(cpus: Collection[int]) -> str:
    """``CPU 0``, ``CPUs 0-3``."""
    return f"{_cpus(cpus)} {write_cpus(cpus)}"


def _cpus(cpus: Collection[int]) -> str:
    return "CPU" if len(cpus) == 1 else "CPUs"


def _are(cpus: Collection[int]) -> str:
    return "is" if len(cpus) == 1 else "are"


def constraint(policy: Policy) -> str:
    """`` that share no L1 cache``, or empty."""
    if not policy.distinct:
        return ""
    return f" that share no {' and no '.join(map(noun, policy.distinct))}"


def too_few(
    tree: Tree, policy: Policy, candidates: Collection[int], most: int, count: int
) -> str:
    """``24 L3 caches, 30 asked``: the limit that was exceeded."""
    for kind in policy.distinct:
        if not tree.domains(kind):
            return f"{tree.host} has no {noun(kind)}"
    if not policy.distinct:
        return f"{threads(most)} may be used, {count} asked"
    held = {kind: _count(tree, kind, candidates) for kind in policy.distinct}
    kind = min(held, key=lambda one: held[one])
    if held[kind] <= most:
        return f"{held[kind]} {nouns(kind, held[kind])}, {count} asked"
    return f"{threads(most)}{constraint(policy)}, {count} asked"


def _count(tree: Tree, kind: str, cpus: Collection[int]) -> int:
    return len({d.iri for d in (tree.domain(kind, cpu) for cpu in cpus) if d})


def sentences(
    tree: Tree, policy: Policy, cpus: Sequence[int], notes: Sequence[str]
) -> list[str]:
    """The whole reason, one sentence per rule."""
    some = f"{threads(len(cpus))} on {tree.host}"
    first = f"{some}: {_cpus(cpus)} {in_order(cpus)}."
    if policy.likwid:
        return [first, f"They are what likwid-pin means by {policy.likwid}."]
    return [first, *_limits(tree, policy), *notes, *_rules(tree, policy, cpus)]


def _limits(tree: Tree, policy: Policy) -> list[str]:
    found = []
    off = tree.cpus - tree.allowed
    if off:
        found.append(f"{_these(off)} {_are(off)} offline or not allowed.")
    if policy.exclude:
        found.append(f"{_these(policy.exclude)} {_are(policy.exclude)} excluded.")
    if policy.cores:
        kind = "performance" if policy.cores == "p" else "efficiency"
        found.append(f"Only {kind} cores.")
    return found


def _rules(tree: Tree, policy: Policy, cpus: Sequence[int]) -> list[str]:
    found = []
    if policy.per:
        kind, each = policy.per
        count = len(cpus) // each
        found.append(f"{each} on each of {count} {nouns(kind, count)}.")
    for share in policy.share:
        found.append(_share(tree, policy, share.kind, share.of, cpus))
    for kind in policy.distinct:
        count = len(tree.domains(kind))
        found.append(
            f"No two share {_article(kind)}: there are {count} {nouns(kind, count)}."
        )
    found.append(f"Taken {_ORDERS[policy.order or 'compact']}.")
    return found


def _article(kind: str) -> str:
    return f"{'an' if kind.startswith('l') else 'a'} {noun(kind)}"


def _share(
    tree: Tree, policy: Policy, kind: str, of: int | None, cpus: Sequence[int]
) -> str:
    if policy.per:
        return f"Those of each share {_article(kind)}."
    shared = tree.domain(kind, cpus[0])
    which = "the first with room" if of is None else f"that of CPU {of}"
    return f"All share {name(tree, shared) if shared else noun(kind)}, {which}."
