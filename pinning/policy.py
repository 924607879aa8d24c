"""Policies: words joined by ``+`` or spaces, such as ``per:socket=4+distinct:l1``.

Each word narrows or orders the choice; together they are one Policy.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal

from pinning.cpu_list import read_cpus
from pinning.errors import PolicyError
from pinning.tree import KINDS

Order = Literal["compact", "scatter", "idle"]
Cores = Literal["p", "e"]

DEVICES = ("gpu", "nic", "disk")
# characters of a policy
LONGEST = 2000

# Every word with its meaning; an error about an unknown word lists them.
WORDS = {
    "compact": "SMT siblings, then the next core, then the next cache",
    "compact-cores": "the same, with one thread of each core",
    "scatter": "as far from each other as hwloc-distrib --single puts them",
    "idle": "the idlest first, by live load",
    "distinct:KIND": "no two share a core, l1, l2, l3, die, numa or socket",
    "share:KIND[:of=CPU]": "all share one, the one of that CPU or the first with room",
    "per:KIND=K": "K threads in each",
    "near:[gpu|nic|disk=]NAME": "in the NUMA domain nearest to a device",
    "cores:p|e": "only performance or only efficiency cores",
    "exclude:LIST": "not these CPUs, such as 0-3,8",
    "likwid:EXPRESSION": "an expression of likwid-pin, such as S0:0-3@S1:0-3",
}


@dataclass(frozen=True)
class SharePolicy:
    """All threads share one domain of a kind; ``of`` is a CPU that it must contain."""

    kind: str
    of: int | None = None


@dataclass(frozen=True)
class Policy:
    """How threads are chosen; ``text`` is the requested policy."""

    text: str
    order: Order | None = None
    distinct: tuple[str, ...] = ()
    share: tuple[SharePolicy, ...] = ()
    per: tuple[str, int] | None = None
    # Kind and name of each device; the kind is empty if only a name was given.
    near: tuple[tuple[str, str], ...] = ()
    cores: Cores | None = None
    exclude: frozenset[int] = frozenset()
    likwid: str | None = None


def read_policy(text: str) -> Policy:
    """Parse a policy; raises PolicyError."""
    if len(text) > LONGEST:
        raise PolicyError(f"a policy of {len(text)} characters: {LONGEST} are allowed")
    words = re.split(r"[+\s]+", text.strip())
    if words == [""]:
        raise PolicyError(f"the policy is empty; there are: {_known()}")
    policy = Policy("+".join(words))
    for word in words:
        policy = _with(policy, word)
    if policy.likwid and policy != Policy(policy.text, likwid=policy.likwid):
        raise PolicyError("likwid: cannot be combined: leave the other words out")
    return policy


def _with(policy: Policy, word: str) -> Policy:
    name, colon, value = word.partition(":")
    read = _READERS.get(name)
    if read is None or bool(colon) != (name not in _BARE):
        raise PolicyError(_unknown(word, name))
    if colon and not value:
        raise PolicyError(f"{word} needs a value: write {_form(name)}")
    return read(policy, value, word)


def _unknown(word: str, name: str) -> str:
    if name in _READERS:
        return f"{word!r} is incomplete or too long: write {_form(name)}"
    near = get_close_matches(name, _READERS, n=1, cutoff=0.6)
    hint = f"did you mean {_form(near[0])}? " if near else ""
    return f"no policy {word[:60]!r}; {hint}there are: {_known()}"


def _known() -> str:
    return ", ".join(WORDS)


def _form(name: str) -> str:
    return next(form for form in WORDS if re.split(r"[:]", form)[0] == name)


def _ordered(order: Order, *distinct: str) -> Callable[[Policy, str, str], Policy]:
    def read(policy: Policy, _value: str, word: str) -> Policy:
        if policy.order not in (None, order):
            raise PolicyError(f"{policy.order} and {word} are two orders: name one")
        return replace(
            policy, order=order, distinct=_once(policy.distinct, distinct, word)
        )

    return read


def _once(known: tuple[Any, ...], more: Iterable[Any], word: str) -> tuple[Any, ...]:
    if set(known) & set(more):
        raise PolicyError(f"{word} repeats the word before it: leave it out")
    return (*known, *more)


def _kind(value: str, word: str) -> str:
    if value not in KINDS:
        raise PolicyError(f"{word}: {value[:40]!r}: expected one of {', '.join(KINDS)}")
    return value


def _distinct(policy: Policy, value: str, word: str) -> Policy:
    kinds = [_kind(value, word)]
    return replace(policy, distinct=_once(policy.distinct, kinds, word))


def _share(policy: Policy, value: str, word: str) -> Policy:
    kind, colon, of = value.partition(":")
    cpu = None
    if colon:
        digits = of.removeprefix("of=")
        if digits == of or not re.fullmatch("[0-9]{1,6}", digits):
            raise PolicyError(f"{word}: write share:{kind}:of=CPU, such as of=5")
        cpu = int(digits)
    shared = [SharePolicy(_kind(kind, word), cpu)]
    return replace(policy, share=_once(policy.share, shared, word))


def _per(policy: Policy, value: str, word: str) -> Policy:
    kind, _, count = value.partition("=")
    if policy.per:
        raise PolicyError(f"{word}: there is a per: before it, and one is allowed")
    if not re.fullmatch("[1-9][0-9]{0,5}", count):
        raise PolicyError(f"{word}: write per:{kind}=K, such as per:socket=4")
    return replace(policy, per=(_kind(kind, word), int(count)))


def _near(policy: Policy, value: str, word: str) -> Policy:
    device, equals, name = value.rpartition("=")
    is_kind = device in DEVICES if equals else name not in DEVICES
    if not name or not is_kind:
        raise PolicyError(
            f"{word}: write near:gpu=NAME, near:nic=NAME, near:disk=NAME or near:NAME"
        )
    return replace(policy, near=_once(policy.near, [(device, name)], word))


def _cores(policy: Policy, value: str, word: str) -> Policy:
    wanted: Cores
    if value == "p":
        wanted = "p"
    elif value == "e":
        wanted = "e"
    else:
        raise PolicyError(f"{word}: write cores:p or cores:e")
    if policy.cores not in (None, wanted):
        raise PolicyError("cores:p and cores:e exclude each other: name one")
    return replace(policy, cores=wanted)


def _exclude(policy: Policy, value: str, _word: str) -> Policy:
    return replace(policy, exclude=policy.exclude | frozenset(read_cpus(value)))


def _likwid(policy: Policy, value: str, _word: str) -> Policy:
    return replace(policy, likwid=value)


_READERS: dict[str, Callable[[Policy, str, str], Policy]] = {
    "compact": _ordered("compact"),
    "compact-cores": _ordered("compact", "core"),
    "scatter": _ordered("scatter"),
    "idle": _ordered("idle"),
    "distinct": _distinct,
    "share": _share,
    "per": _per,
    "near": _near,
    "cores": _cores,
    "exclude": _exclude,
    "likwid": _likwid,
}
_BARE = ("compact", "compact-cores", "scatter", "idle")
