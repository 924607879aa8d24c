"""The limit that a refusal must name, counted from the output of hwloc's tools."""

from pinning.policy import Policy
from tests.pinning.hwloc import Cpus, Machine
from tests.pinning.rules import candidates, narrowed, room, roomy

NOUNS = {
    "core": "core",
    "l1": "L1 cache",
    "l2": "L2 cache",
    "l3": "L3 cache",
    "die": "die",
    "numa": "NUMA domain",
    "socket": "socket",
}


def limit(machine: Machine, policy: Policy, count: int) -> str:
    """Words that a refusal must contain: the first obstacle, and its limit.

    Empty for likwid: expressions, whose refusals have no number of threads.
    """
    if policy.likwid:
        return ""
    return (
        alike(machine, policy)
        or _nothing_left(machine, policy)
        or _lacking(machine, policy)
        or _too_few(machine, policy, count)
    )


def alike(machine: Machine, policy: Policy) -> str:
    """What is said of a device equally near to all CPUs, or of cores of one kind.

    If there is only one NUMA domain, devices do count as near to it.
    """
    near = [d.cpus for d in machine.devices if (d.kind, d.name) in policy.near]
    if machine.cpus in near and len(machine.sets["numa"]) > 1:
        return "that is nearer to some CPUs than to others"
    return "are of one kind" if policy.cores and not machine.cores else ""


def _nothing_left(machine: Machine, policy: Policy) -> str:
    left = machine.cpus
    for word, cpus in narrowed(machine, policy):
        if not left & cpus:
            return f"{word} leaves no CPU of the {len(left)} of "
        left &= cpus
    return ""


def _lacking(machine: Machine, policy: Policy) -> str:
    if policy.per:
        kinds = [policy.per[0]]
    else:
        kinds = [share.kind for share in policy.share] or [*policy.distinct]
    lacking = (f"has no {NOUNS[kind]}" for kind in kinds if not machine.sets[kind])
    return next(lacking, "")


def _too_few(machine: Machine, policy: Policy, count: int) -> str:
    if policy.per:
        return _per(machine, policy, *policy.per, count)
    free = candidates(machine, policy)
    most = room(machine, policy, free)
    if policy.share:
        return f" has {most}, {count} asked"
    if not policy.distinct:
        return f"{_some(most, 'thread')} may be used, {count} asked"
    scarce = min(policy.distinct, key=lambda kind: _held(machine, kind, free))
    return f"{_some(most, NOUNS[scarce])}, {count} asked"


def _per(machine: Machine, policy: Policy, kind: str, each: int, count: int) -> str:
    if count % each:
        return f"per:{kind}={each} gives multiples of {each} threads, {count} asked"
    return f"{_some(roomy(machine, policy), NOUNS[kind])} of "


def _held(machine: Machine, kind: str, cpus: Cpus) -> int:
    return len({machine.of(kind, cpu) for cpu in cpus} - {None})


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
