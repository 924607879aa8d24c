"""The policies in the table of placements: every word of the policy language.

The policies are also parsed here, independently of the parser under test.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pinning.policy import Policy, SharePolicy
from tests.pinning.hwloc import KINDS, Machine

_BIG = ("l2", "l3", "die", "numa", "socket")
_EACH = [f"{kind}={count}" for kind in _BIG for count in (2, 4)]
_EACH += [f"{kind}=1" for kind in KINDS]
_SHARE = [f"share:{kind}" for kind in KINDS]
_DISTINCT = [f"distinct:{kind}" for kind in KINDS]
_DOMAINS = ("S0", "S1", "M0", "M1", "C0", "C1", "D0", "D1")

POLICIES: dict[str, list[str]] = {
    "compact": ["compact"],
    "compact-cores": ["compact-cores"],
    "scatter": ["scatter"],
    "idle": [
        "idle",
        *(f"idle+{word}" for word in (*_DISTINCT, *_SHARE)),
        *("idle+per:core=1", "idle+per:numa=1", "idle+per:l3=2+distinct:core"),
        *("idle+per:numa=1+distinct:socket", "idle+per:core=1+distinct:l2"),
    ],
    "distinct": [
        *_DISTINCT,
        *(f"{word}+scatter" for word in _DISTINCT),
        *("distinct:l2+distinct:l3", "distinct:core+distinct:numa"),
    ],
    "share": [
        *_SHARE,
        *(f"{word}:of={{last}}" for word in _SHARE),
        *(f"{word}+distinct:core" for word in _SHARE),
        *(f"{word}+scatter" for word in _SHARE),
        *("share:socket+share:l3", "share:numa+share:l2:of={last}"),
    ],
    "per": [
        *(f"per:{each}" for each in _EACH),
        *(f"per:{each}+distinct:l1" for each in _EACH),
        *(f"per:{each}+scatter" for each in _EACH),
        *(f"per:core=1+{word}" for word in _DISTINCT),
        *(f"per:numa=1+{word}" for word in _DISTINCT),
        *("per:l2=1+distinct:numa", "per:l3=1+distinct:die", "per:die=2+distinct:l3"),
        *("per:socket=2+share:l3", "per:socket=2+share:l2+distinct:core"),
    ],
    "exclude": [
        "exclude:{first}",
        *("exclude:{third}", "exclude:{third}+scatter", "exclude:{third}+distinct:l2"),
        *("exclude:{third}+per:socket=2", "exclude:{third}+share:l3+compact-cores"),
        *("exclude:{third}+idle", "exclude:{all}", "exclude:{third}+exclude:{first}"),
    ],
    "near": [
        *("{near}", "{near}+compact-cores", "{near}+scatter", "{near}+distinct:l3"),
        *("{near}+per:socket=1", "{near}+{far}", "{near}+exclude:{third}"),
        "{near}+cores:e",
    ],
    "cores": [
        *(f"cores:{kind}" for kind in "pe"),
        *(f"cores:{kind}+compact-cores" for kind in "pe"),
        *(f"cores:{kind}+scatter" for kind in "pe"),
        *(f"cores:{kind}+distinct:l2" for kind in "pe"),
        *("cores:e+exclude:{third}", "cores:p+exclude:{third}"),
        *("cores:e+share:l2", "cores:p+per:l2=1", "cores:e+per:core=1+distinct:l2"),
    ],
    "likwid": [
        *("N:0-{m}", "0-{m}", "{third}", "L:S0:0-{m}", "E:N:{n}", "E:N:{n}:1:2"),
        *(f"{domain}:0-{{m}}" for domain in _DOMAINS),
        *(f"E:{domain}:{{n}}" for domain in _DOMAINS),
        *(f"E:{domain}:{{n}}:1:2" for domain in _DOMAINS),
        *(f"E:{domain}:{{n}}:2:4" for domain in ("S0", "M0", "C0")),
        *(f"{letter}:scatter:{{n}}" for letter in "SMCD"),
        *("S0:0-{m}@S1:0-{m}", "M1:0@E:S0:{n}", "N:0@S0:0-{m}", "S0", "M1"),
    ],
}


def policies(machine: Machine, count: int) -> Iterator[tuple[str, str]]:
    """Each word, and a policy with it, for a machine and a number of threads."""
    known = {
        "n": str(count),
        "m": str(count - 1),
        "first": str(machine.order[0]),
        "last": str(machine.order[-1]),
        "third": ",".join(map(str, machine.order[::3])),
        "all": ",".join(map(str, machine.order)),
    }
    for word, texts in POLICIES.items():
        devices = _devices(machine) if word == "near" else [{}]
        for text in texts:
            for named in devices:
                found = text.format(**named, **known)
                yield word, f"likwid:{found}" if word == "likwid" else found


def _devices(machine: Machine) -> list[dict[str, str]]:
    """Each device, and another one if there is any."""
    words = [f"near:{device.kind}={device.name}" for device in machine.devices]
    found = []
    for place, near in enumerate(words):
        others = (one for one in words[place:] + words[:place] if one != near)
        found.append({"near": near, "far": next(others, "compact")})
    return found


def parse_policy(text: str) -> Policy:
    """Parse a well-formed policy, independently of `read_policy`."""
    policy = Policy(text)
    for word in text.split("+"):
        policy = replace(policy, **_read(policy, *word.partition(":")[::2]))
    return policy


def _read(policy: Policy, name: str, value: str) -> dict[str, Any]:
    kind, _, more = value.partition(":" if name == "share" else "=")
    if name == "compact-cores":
        return {"order": "compact", "distinct": (*policy.distinct, "core")}
    if name == "share":
        of = int(more.removeprefix("of=")) if more else None
        return {"share": (*policy.share, SharePolicy(kind, of))}
    known: dict[str, Any] = {
        "distinct": (*policy.distinct, value),
        "near": (*policy.near, (kind, more)),
        "cores": value,
        "likwid": value,
    }
    if name in known:
        return {name: known[name]}
    if name == "per":
        return {"per": (kind, int(more))}
    if name == "exclude":
        return {"exclude": policy.exclude.union(map(int, value.split(",")))}
    return {"order": name}
