"""Rules for placements, computed from the output of hwloc's tools for a machine.

There are three independent checks: which constraints of the policy a placement
violates, which CPUs it should have in which order, and, by counting, whether there is
room.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest

from pinning.policy import Policy, SharePolicy
from tests.pinning.hwloc import Cpus, Machine, distrib

# Loads in whole percent, by CPU.
Loads = Mapping[int, int]


def candidates(machine: Machine, policy: Policy) -> Cpus:
    """The CPUs that may be used at all."""
    free = machine.cpus
    for _, cpus in narrowed(machine, policy):
        free &= cpus
    return free


def narrowed(machine: Machine, policy: Policy) -> Iterator[tuple[str, Cpus]]:
    """The words that exclude CPUs, in order, with the CPUs that remain."""
    yield "exclude", machine.cpus - policy.exclude
    for kind, name in policy.near:
        same = (d.cpus for d in machine.devices if (d.kind, d.name) == (kind, name))
        yield f"near:{kind}={name}", frozenset().union(*same)
    if policy.cores:
        yield f"cores:{policy.cores}", machine.cores.get(policy.cores, frozenset())


# ---- violated constraints


def violations(machine: Machine, policy: Policy, cpus: Sequence[int]) -> Iterator[str]:
    """The constraints of a policy that a placement violates."""
    if len(set(cpus)) < len(cpus):
        yield "a CPU twice"
    if not set(cpus) <= candidates(machine, policy):
        yield "a CPU that may not be used"
    for kind in policy.distinct:
        held = _touched(machine, kind, cpus)
        if len(held) < len(cpus) or len(set(held)) < len(held):
            yield f"two share a {kind}"
    blocks = [cpus]
    if policy.per:
        kind, size = policy.per
        numbers = Counter(_touched(machine, kind, cpus))
        if set(numbers.values()) != {size} or numbers.total() < len(cpus):
            yield f"not {size} on each {kind}"
        blocks = [cpus[at : at + size] for at in range(0, len(cpus), size)]
    for share in policy.share:
        yield from _apart(machine, share, blocks)


def _apart(
    machine: Machine, share: SharePolicy, blocks: Iterable[Sequence[int]]
) -> Iterator[str]:
    for block in blocks:
        held = _touched(machine, share.kind, block)
        if len(set(held)) != 1 or len(held) < len(block):
            yield f"not all share one {share.kind}"
        elif share.of is not None and share.of not in held[0]:
            yield f"not the {share.kind} of CPU {share.of}"


def _touched(machine: Machine, kind: str, cpus: Iterable[int]) -> list[Cpus]:
    """The sets of a kind that contain some CPUs, one for each CPU that is in any."""
    return [held for cpu in cpus if (held := machine.of(kind, cpu))]


# ---- CPUs and their order


def expected(
    machine: Machine, policy: Policy, count: int, loads: Loads
) -> list[int] | None:
    """The CPUs in hwloc's order, the idlest first; None if there are too few.

    For ``scatter``, the result of the real `hwloc-distrib` on the remaining CPUs.
    """
    order = _Order(machine, policy, loads)
    free = candidates(machine, policy)
    if not policy.per:
        return order.shared(free, count, policy.share)
    kind, each = policy.per
    found: list[int] = []
    for domain in order.domains(kind):
        if len(found) == count:
            break
        # Sets that earlier CPUs occupy are no longer available.
        held = (s for one in policy.distinct for s in _touched(machine, one, found))
        left = (free & domain).difference(*held)
        found += order.shared(left, each, policy.share) or []
    return found if len(found) == count else None


class _Order:
    """hwloc's order of a machine, or the load's, among the CPUs of a policy."""

    def __init__(self, machine: Machine, policy: Policy, loads: Loads) -> None:
        self.machine, self.policy, self.loads = machine, policy, loads

    def domains(self, kind: str) -> list[Cpus]:
        return sorted(self.machine.sets[kind], key=self._busy)

    def shared(
        self, space: Cpus, count: int, share: tuple[SharePolicy, ...]
    ) -> list[int] | None:
        if not share:
            return self._taken(space, count)
        for domain in self.domains(share[0].kind):
            inside = space & domain if share[0].of in (None, *domain) else frozenset()
            if found := self.shared(inside, count, share[1:]):
                return found
        return None

    def _taken(self, space: Cpus, count: int) -> list[int] | None:
        holders = {cpu: self._holders(cpu) for cpu in self.machine.ordered(space)}
        left = sorted(
            (cpu for cpu, held in holders.items() if all(held)), key=self._place
        )
        kept: list[int] = []
        while left:
            kept.append(left[0])
            taken = {left[0]}.union(*holders[left[0]])
            left = [cpu for cpu in left if cpu not in taken]
        if len(kept) < count:
            return None
        if self.policy.order == "scatter":
            return distrib(self.machine.xml, count, frozenset(kept))
        return kept[:count]

    def _holders(self, cpu: int) -> list[Cpus]:
        """The sets that a CPU would have to itself; empty where the CPU is in none."""
        kinds = self.policy.distinct
        return [self.machine.of(kind, cpu) or frozenset() for kind in kinds]

    def _place(self, cpu: int) -> tuple[int, int]:
        return self._busy(self.machine.of("core", cpu) or {cpu}), self._busy({cpu})

    def _busy(self, cpus: Iterable[int]) -> int:
        """The mean load in steps of 5 %."""
        if self.policy.order != "idle":
            return 0
        known = [self.loads[cpu] for cpu in cpus]
        return round(sum(known) / len(known) / 5)


# ---- room


def could(machine: Machine, policy: Policy, count: int) -> bool:
    """Whether the machine has room, by plain counting."""
    if not policy.per:
        return room(machine, policy, candidates(machine, policy)) >= count
    _, each = policy.per
    return count % each == 0 and roomy(machine, policy) >= count // each


def roomy(machine: Machine, policy: Policy) -> int:
    """How many domains can hold the threads of per: at the same time."""
    kind, each = policy.per or ("", 0)
    free = candidates(machine, policy)
    found = [
        domain
        for domain in machine.sets[kind]
        if room(machine, policy, domain & free) >= each
    ]
    return _together(machine, policy, found)


def _together(machine: Machine, policy: Policy, domains: Iterable[Cpus]) -> int:
    """How many domains can hold their threads at the same time.

    Domains in the same larger set count once if no two threads may share that set.
    """
    within: dict[object, int] = defaultdict(int)
    for domain in domains:
        around = {
            held
            for kind in policy.distinct
            for held in _touched(machine, kind, domain)
            if not held <= domain
        }
        within[max(around, key=len) if around else domain] += 1
    return len(within)


def room(machine: Machine, policy: Policy, free: Cpus) -> int:
    """The number of threads that fit, in the roomiest of the sets to share."""
    spaces = [free]
    for share in policy.share:
        held = [s for s in machine.sets[share.kind] if share.of in (None, *s)]
        spaces = [space & one for space in spaces for one in held]
    return max((_most(machine, policy, space) for space in spaces), default=0)


def _most(machine: Machine, policy: Policy, space: Cpus) -> int:
    if not policy.distinct:
        return len(space)
    return min(len(set(_touched(machine, kind, space))) for kind in policy.distinct)


# ---- likwid's expressions, as likwid-pin 5.2.2 reads them


def likwid(machine: Machine, text: str) -> list[int] | None:
    """The CPUs of an expression; None if it names a missing CPU, or one twice.

    Sockets are counted by the system's numbers, all else in hwloc's order. In a domain,
    the first threads of all cores come first; after ``E:``, or for a domain without a
    list, the order is core by core.
    """
    found: list[int] = []
    for part in text.split("@"):
        try:
            found += _likwid_part(machine, part.removeprefix("L:"))
        except LookupError:
            return None
    return found if len(set(found)) == len(found) else None


def _likwid_part(machine: Machine, part: str) -> list[int]:
    head, *rest = part.split(":")
    if head == "E":
        cores = _domain(machine, rest[0])
        chunk, stride = (int(rest[2]), int(rest[3])) if rest[2:] else (1, 1)
        threads = enumerate(chain.from_iterable(cores))
        taken = [cpu for n, cpu in threads if n % stride < chunk]
        return [taken[n] for n in range(int(rest[1]))]
    if rest[:1] == ["scatter"]:
        turns = _turns(_turns(cores) for cores in _domains(machine, head))
        return [turns[n] for n in range(int(rest[1]))]
    if head[0].isdigit():
        known = {cpu: cpu for cpu in machine.order}
        return [known[cpu] for cpu in _numbers(part)]
    cores = _domain(machine, head)
    if not rest:
        return [cpu for core in cores for cpu in core]
    threads = _turns(cores)
    return [threads[n] for n in _numbers(rest[0])]


def _numbers(text: str) -> list[int]:
    found: list[int] = []
    for one in text.split(","):
        first, _, last = one.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def _domain(machine: Machine, name: str) -> list[list[int]]:
    return _domains(machine, name[0])[int(name[1:] or 0)]


def _domains(machine: Machine, letter: str) -> list[list[list[int]]]:
    """The cores of each domain, and the threads of each core."""
    sockets = sorted(machine.sets["socket"], key=machine.sockets.__getitem__)
    cores = [machine.ordered(core) for core in machine.sets["core"]]
    if letter == "M":
        # By their lowest threads, regardless of sockets.
        return [_cores(sorted(cores, key=min), held) for held in machine.sets["numa"]]
    cores = [core for held in sockets for core in _cores(cores, held)]
    found = [
        _cores(cores, within & held)
        for held in sockets
        for within in _things(machine, letter)
        if within & held
    ]
    return [[core for some in found for core in some]] if letter == "N" else found


def _things(machine: Machine, letter: str) -> Sequence[Cpus]:
    """Only last-level caches; without dies, the sockets count as dies."""
    if letter == "C":
        caches = (machine.sets[level] for level in ("l3", "l2", "l1"))
        return next(filter(None, caches), ())
    return (letter == "D" and machine.sets["die"]) or machine.sets["socket"]


def _cores(cores: Iterable[list[int]], held: Cpus) -> list[list[int]]:
    inside = ([cpu for cpu in core if cpu in held] for core in cores)
    return [core for core in inside if core]


def _turns(lists: Iterable[Sequence[int]]) -> list[int]:
    """The first of each, then the second of each, and so on."""
    turns = zip_longest(*lists)
    return [cpu for turn in turns for cpu in turn if cpu is not None]
