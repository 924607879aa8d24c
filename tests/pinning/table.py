"""Checks that placements meet the constraints of their policies, on known machines.

``python -m tests.pinning.table [FOLDER]`` loads hwloc's XML of machines into a graph
store of its own and places 1, 2, 4, 8 and all threads by every policy. It compares each
placement and each refusal with the output of hwloc's own tools, prints a table of
placements and refusals, and exits 1 if anything is wrong. Without a folder, it uses the
machines of the repository's tests, and of ``../shared/machines/hwloc`` if that exists.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from core.stores.endpoint import Endpoint
from ingest.hwloc.read import parse_hwloc
from ingest.probe import hwloc_document
from ontology.iris import Iris
from pinning.choose import choose, from_rows
from pinning.devices import core_cpus, near_cpus
from pinning.errors import LimitError, PlaceError
from pinning.placement import PolicyFacts
from pinning.policy import Policy, read_policy
from pinning.saved import policy_query, read_spread, spread_text
from pinning.tree import Tree, read_tree
from queries.catalogue import saved_query
from tests.agreement import MACHINES, ROOT, host_name
from tests.ingest.documents import describe_json, synthetic
from tests.pinning.hwloc import Machine, read_machine, readable
from tests.pinning.limits import alike, limit
from tests.pinning.policies import POLICIES, parse_policy, policies
from tests.pinning.rules import could, expected, likwid, violations
from tests.servers import Fuseki

IRIS = Iris("http://localhost:8000")
# Synthetic hwloc machines: various nestings, and siblings with distant numbers.
SHAPES = {
    "two-sockets": "pack:2 numa:2 l3:2 l2:2 l1d:1 core:1 pu:2(indexes=2*16:1*2)",
    "numa-within-l3": "pack:2 l3:1 numa:2 l2:2 l1d:1 core:1 pu:2(indexes=2*8:1*2)",
    "dies": "pack:2 die:2 numa:1 l3:2 l2:2 l1d:1 core:1 pu:1",
    "cores-of-one-l2": "pack:1 numa:1 l3:1 l2:3 l1d:4 core:1 pu:1",
    # The smallest memory counts, whatever its number.
    "wide-memory-first": "pack:2(indexes=1,0) [numa(indexes=2,3,0,4,5,1)] "
    "l3:2 [numa] core:2 pu:2(indexes=2*8:1*2)",
    "groups": "pack:2 group:3 l2:2 core:1 pu:3",
    "numbered-in-turn": "numa:1 pack:2 l3:1 l2:4 core:1 "
    "pu:2(indexes=0,8,2,10,4,12,6,14,1,9,3,11,5,13,7,15)",
}
# With devices, two types of cores, several kinds of memory, and disallowed threads.
EVERYTHING = ROOT / "tests/ingest/machines/everything.v3.xml"
Rows = list[dict[str, Any]]


@dataclass
class Verdict:
    """The result of one machine, by policy words; ``wrong`` describes each error."""

    threads: int
    placed: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Judged:
    """A machine in the twin's view and in that of hwloc's tools, and made-up loads."""

    twin: Endpoint
    tree: Tree
    devices: Rows
    kinds: Rows
    machine: Machine

    @property
    def loads(self) -> dict[int, int]:
        """Loads in %: steps of 5 by core, unequal siblings, and irrelevant noise."""
        found = {}
        for place, core in enumerate(self.machine.sets["core"]):
            for nth, cpu in enumerate(sorted(core, reverse=place % 2 == 1)):
                found[cpu] = 5 * (place * 7 % 13) + 10 * nth + cpu % 2
        return found


def judge(one: Judged, counts: Sequence[int] = ()) -> Verdict:
    """Try every policy on one machine, with the given counts or 1, 2, 4, 8 and all."""
    total = len(one.machine.order)
    verdict = Verdict(total)
    if one.tree.allowed != one.machine.cpus:
        verdict.wrong.append("the twin has other threads")
    for count in counts or sorted({1, 2, 4, 8, total}):
        for word, text in policies(one.machine, count):
            _judge_one(one, word, text, count, verdict)
    return verdict


def _judge_one(one: Judged, word: str, text: str, count: int, verdict: Verdict) -> None:
    policy, machine = parse_policy(text), one.machine
    try:
        cpus = placed(one, read_policy(text), count)
    except (LimitError, PlaceError) as error:
        verdict.refused[word] += 1
        found = [*_false(machine, policy, count, str(error))]
    else:
        verdict.placed[word] += 1
        found = [*_faults(one, policy, count, cpus)]
    verdict.wrong += [f"{text[:60]} {count}: {why}" for why in found]


def placed(one: Judged, policy: Policy, count: int) -> list[int]:
    """The placement, from the twin's data and the made-up loads."""
    host, threads = one.tree.host, None if policy.likwid else count
    known = PolicyFacts(
        {near: near_cpus(host, one.devices, *near) for near in policy.near},
        {**core_cpus(host, one.kinds)} if policy.cores else {},
        {cpu: load / 100 for cpu, load in one.loads.items()},
    )
    query = policy_query(host, policy, threads)
    if query and policy.order != "idle":
        cpus = [row["cpu"] for row in one.twin.table(query.text).records()]
        return [*from_rows(one.tree, policy, threads, known, cpus).cpus]
    return computed(one.twin, one.tree, policy, threads, known)


def computed(
    twin: Endpoint, tree: Tree, policy: Policy, threads: int | None, known: PolicyFacts
) -> list[int]:
    """The placement, computed over rows; only its spreading is a query."""
    made = choose(tree, policy, threads, known)
    while made.unspread:
        each = policy.per[1] if policy.per else threads or 0
        text = spread_text(tree.host, made.unspread, each)
        more = read_spread(made.unspread, twin.table(text).records())
        known = replace(known, spread={**known.spread, **more})
        made = choose(tree, policy, threads, known)
    return [*made.cpus]


def _false(machine: Machine, policy: Policy, count: int, message: str) -> Iterator[str]:
    """The errors of a refusal: there is room, or it does not name the limit."""
    if _could(machine, policy, count):
        yield f"refused: {message}"
    elif (wanted := limit(machine, policy, count)) not in message:
        yield f"{message!r} does not say {wanted!r}"


def _could(machine: Machine, policy: Policy, count: int) -> bool:
    if policy.likwid:
        return likwid(machine, policy.likwid) is not None
    return not alike(machine, policy) and could(machine, policy, count)


def _faults(one: Judged, policy: Policy, count: int, cpus: list[int]) -> list[str]:
    if policy.likwid:
        wanted = likwid(one.machine, policy.likwid)
        return [] if cpus == wanted else [f"{cpus}, likwid's rules say {wanted}"]
    wanted = expected(one.machine, policy, count, one.loads)
    other = [] if cpus == wanted else [f"{cpus}, by hwloc's order {wanted}"]
    return [*violations(one.machine, policy, cpus), *other]


def load(twin: Endpoint, path: Path, host: str) -> None:
    """Load only the twin, without validation: the shapes have tests of their own."""
    described = describe_json(
        hwloc_document(host, parse_hwloc(path.read_bytes())), IRIS
    )
    twin.put_graph(str(IRIS.twin_graph(host)), described.twin.graph())


def stored_tree(twin: Endpoint, host: str) -> Tree:
    """The tree of a host, from the saved queries."""
    names = ("pinning/threads", "pinning/components")
    return read_tree(host, *(_rows(twin, name, host) for name in names))


def _rows(twin: Endpoint, name: str, host: str) -> Rows:
    answer = twin.select(saved_query(name).bind({"host": host}))
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.values()]


def judged(
    twin: Endpoint, path: Path, folder: Path, counts: Sequence[int] = ()
) -> Verdict:
    """Judge one machine through the store; files for hwloc's tools go to a folder."""
    host = host_name(path)
    load(twin, path, host)
    names = ("topology/near-devices", "topology/cpu-kinds")
    rows = (_rows(twin, name, host) for name in names)
    machine = read_machine(readable(path, folder))
    return judge(Judged(twin, stored_tree(twin, host), *rows, machine), counts)


def own_machines(folder: Path) -> list[Path]:
    """The XML of the repository's own machines; writes the synthetic ones."""
    for name, shape in SHAPES.items():
        (folder / f"{name}.xml").write_bytes(synthetic(shape))
    return [EVERYTHING, *(folder / f"{name}.xml" for name in SHAPES)]


def table(found: Mapping[str, Verdict]) -> str:
    """One line a machine, one column a word, and the errors below."""
    lines = [
        ["machine", "threads", *POLICIES, "wrong"],
        ["---"] * (len(POLICIES) + 3),
        *([name, *_cells(one)] for name, one in found.items()),
    ]
    wrong = [f"{name}: {why}" for name, one in found.items() for why in one.wrong]
    return "\n".join([f"| {' | '.join(line)} |" for line in lines] + wrong)


def _cells(one: Verdict) -> list[str]:
    cells = [f"{one.placed[word]}/{one.refused[word]}" for word in POLICIES]
    return [str(one.threads), *cells, str(len(one.wrong))]


def main(folder: Path | None) -> int:
    """Print the table; return 1 for any violation, 2 if there are no machines."""
    with (
        tempfile.TemporaryDirectory() as home,
        tempfile.TemporaryDirectory() as copies,
        Fuseki(Path(home) / "fuseki") as fuseki,
        Endpoint(f"{fuseki.url}/twin") as twin,
    ):
        paths = sorted((folder or MACHINES).glob("*.xml"))
        paths += [] if folder else own_machines(Path(home))
        if not paths:
            print(f"{folder} holds no XML of hwloc")
            return 2
        found = {path.name: judged(twin, path, Path(copies)) for path in paths}
    print(table(found))
    return _summed(found)


def _summed(found: Mapping[str, Verdict]) -> int:
    placed = sum(one.placed.total() for one in found.values())
    refused = sum(one.refused.total() for one in found.values())
    wrong = sum(len(one.wrong) for one in found.values())
    count = sum(map(len, POLICIES.values()))
    print(
        f"{count} policies on {len(found)} machines: {placed} placed, "
        f"{refused} refused, {wrong} wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else None))
