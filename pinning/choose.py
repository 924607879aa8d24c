"""Choose CPUs: a policy and a tree in, CPUs and the reason in words out.

If a policy is a saved query, the CPUs are its rows (`from_rows`). For other policies,
`choose` computes the CPUs. It also computes why a request cannot be met.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from pinning import reason
from pinning.errors import LimitError, PlaceError
from pinning.likwid import likwid_cpus
from pinning.placement import (
    Placement,
    PolicyFacts,
    check,
    check_named,
    placement,
)
from pinning.policy import Policy, SharePolicy
from pinning.tree import ThreadDomain, Tree

# Loads that differ by less than this count as equal.
LOAD_STEP = 0.05


def choose(
    tree: Tree, policy: Policy, threads: int | None, known: PolicyFacts | None = None
) -> Placement:
    """Choose the CPUs for some threads; raises PinningError if that is impossible.

    ``threads`` may be None if the policy sets the number, as per: and likwid: do.
    """
    known = known or PolicyFacts()
    check(tree, policy, threads, known)
    chosen = _Choice(tree, policy, known)
    made = placement(tree, policy, chosen.cpus(threads), known)
    return replace(made, unspread=tuple(chosen.unspread))


def from_rows(
    tree: Tree,
    policy: Policy,
    threads: int | None,
    known: PolicyFacts,
    cpus: Sequence[int],
) -> Placement:
    """The placement on the CPUs of a policy's saved query.

    Raises PinningError, which names the limit, if there are fewer than requested.
    """
    check(tree, policy, threads, known)
    if not cpus or len(cpus) != _wanted(tree, policy, threads):
        choose(tree, policy, threads, known)
        raise LimitError(f"the twin of {tree.host} changed in the meantime: ask again")
    return placement(tree, policy, cpus, known)


def _wanted(tree: Tree, policy: Policy, threads: int | None) -> int:
    """The number of CPUs requested; 0 if it is not a multiple of what per: gives."""
    kind, each = policy.per or ("", 1)
    if threads is not None:
        return 0 if threads % each else threads
    found = [d for d in tree.domains(kind) if not tree.allowed.isdisjoint(d.cpus)]
    return each * len(found)


class _Choice:
    """One choice; ``unspread`` are sets of CPUs over which threads are to be spread."""

    def __init__(self, tree: Tree, policy: Policy, known: PolicyFacts) -> None:
        self.tree, self.policy, self.known = tree, policy, known
        self.unspread: list[frozenset[int]] = []

    def cpus(self, threads: int | None) -> list[int]:
        if self.policy.likwid:
            return self._likwid(self.policy.likwid, threads)
        candidates = self._candidates()
        if self.policy.per:
            return self._per(candidates, *self.policy.per, threads)
        return self._shared(candidates, threads or 0, self.policy.share)

    def _likwid(self, text: str, threads: int | None) -> list[int]:
        cpus = likwid_cpus(self.tree, text)
        if threads not in (None, len(cpus)):
            named = f"{len(cpus)} CPU{'' if len(cpus) == 1 else 's'}"
            raise LimitError(f"likwid:{text} names {named}, {threads} asked")
        return cpus

    # ---- which threads may be taken at all

    def _candidates(self) -> frozenset[int]:
        tree, policy = self.tree, self.policy
        left = tree.allowed - policy.exclude
        self._check_left(left, "exclude", "CPU", tree.allowed)
        for device in policy.near:
            near = frozenset(self.known.near[device])
            before, left = left, left & near
            self._check_left(
                left, f"near:{'='.join(filter(None, device))}", "CPU", before
            )
        if policy.cores:
            before, left = left, left & frozenset(self.known.cores[policy.cores])
            self._check_left(left, f"cores:{policy.cores}", "CPU", before)
        return left

    def _check_left(
        self, left: Collection[int], word: str, noun: str, before: Collection[int]
    ) -> None:
        if not left:
            raise LimitError(
                f"{word} leaves no {noun} of the {len(before)} of {self.tree.host}"
            )

    # ---- where they are taken

    def _per(
        self, candidates: frozenset[int], kind: str, each: int, threads: int | None
    ) -> list[int]:
        found = [d for d in self._ordered(kind) if not candidates.isdisjoint(d.cpus)]
        if not found:
            raise LimitError(f"{self.tree.host} has no {reason.noun(kind)}")
        if threads is not None and threads % each:
            raise LimitError(
                f"per:{kind}={each} gives multiples of {each} threads, {threads} asked"
            )
        wanted = len(found) if threads is None else threads // each
        taken = list(self._filled(found, candidates, each, wanted, threads is None))
        if len(taken) < wanted:
            what = reason.nouns(kind, len(taken))
            rule = reason.constraint(self.policy)
            raise LimitError(
                f"{len(taken)} {what} of {self.tree.host} can take "
                f"{reason.threads(each)}{rule}, {wanted} asked"
            )
        return [cpu for some in taken for cpu in some]

    def _filled(
        self,
        found: Sequence[ThreadDomain],
        candidates: frozenset[int],
        each: int,
        wanted: int,
        every: bool,
    ) -> Iterator[list[int]]:
        left = candidates
        for domain in found:
            try:
                cpus = self._shared(left & domain.cpus, each, self.policy.share)
            except LimitError:
                if every:
                    self._check_alone(candidates, domain, each)
                continue
            yield cpus
            left -= self._held(cpus)
            wanted -= 1
            if not wanted:
                return

    def _check_alone(
        self, candidates: frozenset[int], domain: ThreadDomain, each: int
    ) -> None:
        """Raise LimitError if a domain has no room even without other threads."""
        try:
            self._shared(candidates & domain.cpus, each, self.policy.share)
        except LimitError as error:
            where = f"{reason.name(self.tree, domain)} of {self.tree.host}"
            raise LimitError(f"{where}: {error}") from None

    def _held(self, cpus: Iterable[int]) -> frozenset[int]:
        """All CPUs that share a component that must be distinct with one of these."""
        kinds = self.policy.distinct
        found = (self.tree.domain(kind, cpu) for cpu in cpus for kind in kinds)
        return frozenset().union(*(one.cpus for one in found if one))

    def _shared(
        self, candidates: frozenset[int], count: int, share: tuple[SharePolicy, ...]
    ) -> list[int]:
        """Use the first domain with room for all threads."""
        if not share:
            return self._apart(candidates, count)
        for domain in self._sharable(share[0]):
            with suppress(LimitError):
                return self._shared(candidates & domain.cpus, count, share[1:])
        raise LimitError(self._no_room(candidates, count, share))

    def _no_room(
        self, candidates: frozenset[int], count: int, share: tuple[SharePolicy, ...]
    ) -> str:
        for one in share:
            if not self.tree.domains(one.kind):
                return f"{self.tree.host} has no {reason.noun(one.kind)}"
        (kind, of), inner = (share[0].kind, share[0].of), share[1:]
        which = "no" if of is None else "not the"
        at = "" if of is None else f" of CPU {of}"
        within = "".join(reason.within(one) for one in inner)
        rule = reason.constraint(self.policy)
        most = self._most(candidates, share)
        return (
            f"{which} {reason.noun(kind)}{at} of {self.tree.host} has room{within} for "
            f"{reason.threads(count)}{rule}: "
            f"{'the largest' if of is None else 'it'} has {most}, {count} asked"
        )

    def _most(self, candidates: frozenset[int], share: tuple[SharePolicy, ...]) -> int:
        """The largest number of threads for which there is room."""
        if not share:
            return len(self._reduced(candidates))
        found = (candidates & one.cpus for one in self._sharable(share[0]))
        return max((self._most(inside, share[1:]) for inside in found), default=0)

    def _sharable(self, share: SharePolicy) -> list[ThreadDomain]:
        if share.of is None:
            return self._ordered(share.kind)
        check_named(self.tree, [share.of], f"share:{share.kind}")
        if share.of not in self.tree.allowed:
            raise PlaceError(
                f"CPU {share.of} of {self.tree.host} is offline or not allowed"
            )
        found = self.tree.domain(share.kind, share.of)
        return [found] if found else []

    # ---- in which order

    def _ordered(self, kind: str) -> list[ThreadDomain]:
        found = self.tree.domains(kind)
        if self.policy.order != "idle":
            return list(found)
        return sorted(found, key=lambda domain: self._busy(domain.cpus))

    def _apart(self, candidates: frozenset[int], count: int) -> list[int]:
        reduced = self._reduced(candidates)
        if len(reduced) < count:
            raise LimitError(self._too_few(candidates, len(reduced), count))
        if self.policy.order == "scatter":
            return self._spread(reduced, count)
        return reduced[:count]

    def _spread(self, cpus: Sequence[int], count: int) -> list[int]:
        """The CPUs that ``pinning/scatter`` chose; the first ones until it was run."""
        spread = self.known.spread.get(frozenset(cpus))
        if spread is None:
            self.unspread.append(frozenset(cpus))
        return list(cpus[:count] if spread is None else spread)

    def _reduced(self, candidates: Iterable[int]) -> list[int]:
        """The candidates in order, each distinct from the earlier ones."""
        taken: set[str] = set()
        kept = []
        for cpu in sorted(candidates, key=self._place):
            found = [self.tree.domain(kind, cpu) for kind in self.policy.distinct]
            names = {one.iri for one in found if one}
            if len(names) == len(found) and taken.isdisjoint(names):
                taken |= names
                kept.append(cpu)
        return kept

    def _place(self, cpu: int) -> tuple[float, float, int]:
        """A sort key: for idle, the load of core and thread; then the tree order."""
        place = self.tree.order[cpu]
        if self.policy.order != "idle":
            return 0, 0, place
        core = self.tree.domain("core", cpu)
        busy = self._busy(core.cpus) if core else self._busy([cpu])
        return busy, self._busy([cpu]), place

    def _busy(self, cpus: Collection[int]) -> float:
        """The mean load in steps; a thread without a value counts as fully busy.

        An offline thread is ignored.
        """
        known = self.known.load
        loads = [known.get(cpu, 1.0) for cpu in self.tree.allowed & {*cpus}] or [1.0]
        return round(sum(loads) / len(loads) / LOAD_STEP)

    def _too_few(self, candidates: frozenset[int], most: int, count: int) -> str:
        return reason.too_few(self.tree, self.policy, candidates, most, count)
