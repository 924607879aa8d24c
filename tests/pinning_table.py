"""Do placements keep what their policies promise, on real machines?

``python -m tests.pinning_table [FOLDER]`` loads every hwloc XML of a folder into a
graph store of its own, places 1, 2, 4, 8 and all threads by every policy, and holds
each answer, and each refusal, against what hwloc's own tools say of the machine
(``expected.json``); scatter against the real ``hwloc-distrib --single``. It prints a
table of placements, refusals and violations, and exits 1 where there are any. The
folder is by default ``../shared/machines/hwloc``, beside the checkout.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingest.description import describe
from ingest.hwloc.read import parse_hwloc
from ingest.probe import hwloc_document
from ontology.iris import Iris
from pinning.branches import spread
from pinning.choose import choose
from pinning.errors import LimitError
from pinning.policy import Policy, read_policy
from pinning.tree import Tree, read_tree
from queries.catalogue import saved_query
from queries.endpoint import Endpoint
from tests.agreement import MACHINES, expectations, host_name
from tests.servers import Fuseki

IRIS = Iris("http://localhost:8000")
# By the words of policies: what expected.json calls it.
LISTED = {
    "core": "Core",
    "l1": "L1dCache",
    "l2": "L2Cache",
    "l3": "L3Cache",
    "numa": "NUMANode",
    "socket": "Package",
}
_DISTINCT = [f"distinct:{kind}" for kind in LISTED]
_SHARE = [f"share:{kind}" for kind in ("l2", "l3", "numa", "socket")]
_PER = [f"per:{kind}={count}" for kind in ("socket", "numa", "l3") for count in (1, 4)]
POLICIES = [
    "compact",
    "compact-cores",
    "scatter",
    *_DISTINCT,
    *(f"{one}+scatter" for one in _DISTINCT),
    *_SHARE,
    *(f"{one}:of=4" for one in _SHARE),
    *(f"{one}+distinct:core" for one in _SHARE),
    *_PER,
    *(f"{one}+{more}" for one in _PER for more in ("distinct:l1", "scatter")),
    "per:socket=2+share:l3",
    "exclude:0+compact",
]
Sets = list[frozenset[int]]


@dataclass
class Verdict:
    """What came of one machine; ``wrong`` are violations in words."""

    placed: int = 0
    refused: int = 0
    agreed: int = 0
    compared: int = 0
    wrong: list[str] = field(default_factory=list)


class Machine:
    """A tree from the store, and what hwloc's tools say of the same machine."""

    def __init__(self, tree: Tree, said: dict[str, Any]) -> None:
        self.tree = tree
        self.sets: dict[str, Sets] = {
            kind: _smallest(said[name]) for kind, name in LISTED.items()
        }

    def of(self, kind: str, cpu: int) -> frozenset[int] | None:
        return next((held for held in self.sets[kind] if cpu in held), None)

    def touched(self, kind: str, cpus: Sequence[int]) -> list[frozenset[int]]:
        """The sets of a kind that some CPUs are in, one for each CPU."""
        return [held for cpu in cpus if (held := self.of(kind, cpu))]


def _smallest(lists: list[list[int]]) -> Sets:
    """Sets without those that only widen others, as memory beside memory does."""
    ordered = sorted({frozenset(one) for one in lists if one}, key=len)
    taken: set[int] = set()
    kept = []
    for one in ordered:
        if one - taken:
            kept.append(one - taken)
            taken |= one
    return sorted(kept, key=min)


def counts(total: int) -> list[int]:
    """1, 2, 4, 8 and N threads."""
    return sorted({1, 2, 4, 8, total})


def violations(machine: Machine, policy: Policy, cpus: Sequence[int]) -> Iterator[str]:
    """What a placement breaks."""
    if len(set(cpus)) < len(cpus):
        yield "a CPU twice"
    if not set(cpus) <= machine.tree.allowed - policy.exclude:
        yield "a CPU that may not be used"
    for kind in policy.distinct:
        yield from _apart(machine, kind, cpus)
    blocks = [cpus]
    if policy.per:
        yield from _each(machine, *policy.per, cpus)
        size = policy.per[1]
        blocks = [cpus[at : at + size] for at in range(0, len(cpus), size)]
    for share in policy.share:
        for block in blocks:
            held = machine.touched(share.kind, block)
            if len(set(held)) != 1 or len(held) < len(block):
                yield f"not all share one {share.kind}"
            elif share.of is not None and share.of not in held[0]:
                yield f"not the {share.kind} of CPU {share.of}"
    if policy.text == "compact":
        yield from _full(machine, cpus)


def _apart(machine: Machine, kind: str, cpus: Sequence[int]) -> Iterator[str]:
    held = machine.touched(kind, cpus)
    if len(set(held)) < len(cpus):
        yield f"two share a {kind}"


def _each(
    machine: Machine, kind: str, count: int, cpus: Sequence[int]
) -> Iterator[str]:
    numbers = Counter(machine.touched(kind, cpus))
    if set(numbers.values()) != {count} or numbers.total() < len(cpus):
        yield f"not {count} on each {kind}"


def _full(machine: Machine, cpus: Sequence[int]) -> Iterator[str]:
    """Compact leaves at most one core half used."""
    used = set(cpus)
    if sum(not held <= used for held in set(machine.touched("core", cpus))) > 1:
        yield "more than one core is half used"


def could(machine: Machine, policy: Policy, count: int) -> bool:
    """Whether the machine has room, by plain counting."""
    free = machine.tree.allowed - policy.exclude
    if policy.per:
        kind, each = policy.per
        if count % each:
            return False
        fitting = [
            s for s in machine.sets[kind] if _room(machine, policy, s & free, each)
        ]
        return len(fitting) >= count // each
    return _room(machine, policy, free, count)


def _room(machine: Machine, policy: Policy, free: frozenset[int], count: int) -> bool:
    spaces = [free]
    for share in policy.share:
        held = [s for s in machine.sets[share.kind] if share.of in (None, *s)]
        spaces = [space & one for space in spaces for one in held]
    return any(_most(machine, policy, space) >= count for space in spaces)


def _most(machine: Machine, policy: Policy, space: frozenset[int]) -> int:
    if not policy.distinct:
        return len(space)
    return min(len(set(machine.touched(k, [*space]))) for k in policy.distinct)


def judge(machine: Machine, xml: Path) -> Verdict:
    """Every policy and count on one machine; scatter against hwloc-distrib."""
    verdict = Verdict()
    total = len(machine.tree.allowed)
    for text in POLICIES:
        for count in counts(total):
            _judge_one(machine, text, count, verdict)
    for count in spreads(total):
        ours = spread(machine.tree.root, machine.tree.allowed, count)
        theirs = distrib(xml, count)
        verdict.compared += 1
        verdict.agreed += ours == theirs
        if ours != theirs:
            verdict.wrong.append(f"scatter {count}: {ours}, hwloc-distrib {theirs}")
    return verdict


def spreads(total: int) -> list[int]:
    """Counts to compare with hwloc-distrib, which repeats CPUs beyond the total."""
    some = {1, 2, 3, 4, 5, 7, 8, 12, 16, total // 2, total - 1, total}
    return sorted(count for count in some if 1 <= count <= total)


def _judge_one(machine: Machine, text: str, count: int, verdict: Verdict) -> None:
    policy = read_policy(text)
    if any(share.of not in (None, *machine.tree.allowed) for share in policy.share):
        return
    what = f"{text} {count}"
    try:
        cpus = choose(machine.tree, policy, count).cpus
    except LimitError as error:
        verdict.refused += 1
        if could(machine, policy, count):
            verdict.wrong.append(f"{what}: refused: {error}")
        return
    verdict.placed += 1
    if len(cpus) != count:
        verdict.wrong.append(f"{what}: {len(cpus)} CPUs")
    verdict.wrong += [f"{what}: {why}" for why in violations(machine, policy, cpus)]


def distrib(xml: Path, count: int) -> list[int]:
    """What the real hwloc-distrib gives; ``xml`` is one that this hwloc can read."""
    answer = subprocess.run(
        ["hwloc-distrib", "--single", "--taskset", str(count)],
        env={**os.environ, "HWLOC_XMLFILE": str(xml)},
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(mask, 16).bit_length() - 1 for mask in answer.stdout.split()]


def readable(path: Path, folder: Path) -> Path:
    """A copy that hwloc 2 takes, which refuses XML of version 3."""
    text = path.read_text("utf-8")
    text = re.sub(r'(<topology version=")3\.0"', r'\g<1>2.0"', text, count=1)
    copy = folder / path.name
    copy.write_text(text, "utf-8")
    return copy


def load(twin: Endpoint, path: Path, host: str) -> None:
    """Only the twin, unjudged: the shapes have tests of their own."""
    described = describe(hwloc_document(host, parse_hwloc(path.read_bytes())), IRIS)
    twin.put_graph(str(IRIS.twin_graph(host)), described.twin.graph())


def stored_tree(twin: Endpoint, host: str) -> Tree:
    """The tree of a host, by the saved queries."""
    return read_tree(
        host, *(_rows(twin, name, host) for name in ("threads", "components"))
    )


def _rows(twin: Endpoint, name: str, host: str) -> list[dict[str, Any]]:
    answer = twin.select(saved_query(f"pinning/{name}").bind({"host": host}))
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.values()]


def verdicts(twin: Endpoint, folder: Path, copies: Path) -> dict[str, Verdict]:
    """All machines of a folder, by file name."""
    found = {}
    for path, said in expectations(folder).items():
        load(twin, path, host_name(path))
        machine = Machine(stored_tree(twin, host_name(path)), said)
        found[path.name] = judge(machine, readable(path, copies))
    return found


def table(found: dict[str, Verdict]) -> str:
    """One line a machine, and what is wrong below it."""
    width = max(map(len, found), default=7)
    lines = [f"{'machine':{width}} placed refused violations hwloc-distrib"]
    for name, one in found.items():
        lines.append(
            f"{name:{width}} {one.placed:6} {one.refused:7} {len(one.wrong):10} "
            f"{one.agreed:6} of {one.compared}"
        )
        lines += [f"  {line}" for line in one.wrong]
    return "\n".join(lines)


def main(folder: Path) -> int:
    """Print the table; 1 for any violation, 2 where there is nothing to judge."""
    if not expectations(folder):
        print(f"{folder} holds no expected.json: give a folder of machines")
        return 2
    with (
        tempfile.TemporaryDirectory() as home,
        Fuseki(Path(home) / "fuseki") as fuseki,
        Endpoint(f"{fuseki.url}/twin") as twin,
    ):
        found = verdicts(twin, folder, Path(home))
    print(table(found))
    wrong = sum(len(one.wrong) for one in found.values())
    print(f"{len(POLICIES)} policies on {len(found)} machines: {wrong} violations")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else MACHINES))
