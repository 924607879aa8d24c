"""Choose CPUs: a policy and a tree in, CPUs and the reason in words out."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from pinning import reason
from pinning.branches import spread
from pinning.errors import LimitError, PlaceError, PolicyError
from pinning.likwid import likwid_cpus
from pinning.policy import Policy, SharePolicy
from pinning.tree import ThreadDomain, Tree

# Loads that differ by less than this count as equal.
LOAD_STEP = 0.05
MOST_THREADS = 100_000


@dataclass(frozen=True)
class PolicyFacts:
    """Facts other than the tree that a policy may need.

    ``near`` are the CPUs nearest to a device by (kind, name); ``cores`` are those of
    ``p`` and ``e``; ``load`` is the load of each CPU, from 0 to 1.
    """

    near: Mapping[tuple[str, str], Collection[int]] = field(default_factory=dict)
    cores: Mapping[str, Collection[int]] = field(default_factory=dict)
    load: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Placement:
    """CPUs in the order in which threads should use them, and why these."""

    host: str
    policy: str
    cpus: tuple[int, ...]
    reason: str


def choose(
    tree: Tree, policy: Policy, threads: int | None, known: PolicyFacts | None = None
) -> Placement:
    """Choose the CPUs for some threads; raises PinningError if that is impossible.

    ``threads`` may be None if the policy gives the number: with per: and likwid:.
    """
    tree.check()
    _check(policy, threads)
    if policy.order == "idle" and not (known and known.load):
        raise PlaceError(
            f"the load of {tree.host} is not known: nothing samples "
            "kernel.percpu.cpu.idle there now; leave idle out"
        )
    chosen = _Choice(tree, policy, known or PolicyFacts())
    cpus = chosen.cpus(threads)
    words = reason.sentences(tree, policy, cpus, chosen.notes)
    return Placement(tree.host, policy.text, tuple(cpus), " ".join(words))


def _check(policy: Policy, threads: int | None) -> None:
    if threads is None and not (policy.per or policy.likwid):
        raise PolicyError(f"{policy.text} needs the number of threads: give threads")
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise PolicyError(f"{threads} threads: ask for 1 to {MOST_THREADS}")


class _Choice:
    """One choice; ``notes`` are parts of the reason that only the algorithm knows."""

    def __init__(self, tree: Tree, policy: Policy, known: PolicyFacts) -> None:
        self.tree, self.policy, self.known = tree, policy, known
        self.notes: list[str] = []

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
        self._check_named(policy.exclude, "exclude")
        left = tree.allowed - policy.exclude
        self._check_left(left, "exclude", "CPU", tree.allowed)
        for device in policy.near:
            near = frozenset(self.known.near[device])
            before, left = left, left & near
            self._check_left(
                left, f"near:{'='.join(filter(None, device))}", "CPU", before
            )
            self.notes.append(reason.near(tree, *device, near))
        if policy.cores:
            before, left = left, left & frozenset(self.known.cores[policy.cores])
            self._check_left(left, f"cores:{policy.cores}", "CPU", before)
        return left

    def _check_named(self, cpus: Collection[int], word: str) -> None:
        unknown = sorted(set(cpus) - self.tree.cpus)
        if unknown:
            last = max(self.tree.cpus)
            raise PlaceError(
                f"{word}: {self.tree.host} has no CPU {unknown[0]}; its last is {last}"
            )

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
        """All CPUs that share with some CPUs what must be distinct, in any domain."""
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
        self._check_named([share.of], f"share:{share.kind}")
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
            return spread(self.tree.root, reduced, count)
        return reduced[:count]

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
        """Idle cores first, if load counts; else the position in the tree."""
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
