"""Place ranks with threads on identical nodes, mapped, ranked and bound as in Open MPI.

Mapping distributes the ranks of a node over its slots, sockets, …, or all ranks over
the nodes in turn; ranking numbers them; binding defines the CPUs that each may use. A
rank has as many cores as threads, and uses the first thread of each.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from pinning import reason
from pinning.cpu_list import in_order, write_cpus
from pinning.errors import LimitError, PolicyError
from pinning.formats import COMMAND, find_format, rankfile, whole_node
from pinning.placement import MOST_THREADS
from pinning.tree import Tree

MAPS = ("slot", "node", "core", "l3", "numa", "socket")
RANKS = ("slot", "node")
BINDS = ("hwthread", "core", "l3", "numa", "socket", "none")
MOST_RANKS = MOST_NODES = 10_000
FORMATS_OF_RANKS = ("cpus", "rankfile", "srun")


@dataclass(frozen=True)
class HybridRequest:
    """The request; by default, map, rank and bind are those of Open MPI 4.1."""

    ranks: int
    threads: int = 1
    nodes: int = 1
    map: str = ""
    rank: str = ""
    bind: str = ""

    def settled(self) -> "HybridRequest":
        """Fill in Open MPI's defaults; raises PolicyError."""
        by, bind = self._defaults()
        by, bind = self.map or by, self.bind or bind
        made = HybridRequest(
            self.ranks,
            self.threads,
            self.nodes,
            _one_of("map", by, MAPS),
            _one_of("rank", self.rank or ("node" if by == "node" else "slot"), RANKS),
            _one_of("bind", bind, BINDS),
        )
        _positive("ranks", self.ranks, MOST_RANKS)
        _positive("threads", self.threads, MOST_THREADS)
        _positive("nodes", self.nodes, MOST_NODES)
        return made

    def _defaults(self) -> tuple[str, str]:
        """The defaults that `mpirun --display-devel-map` of Open MPI 4.1 shows."""
        if self.threads > 1:
            return "socket", "core"
        return ("core", "core") if self.ranks <= 2 else ("numa", "numa")


@dataclass(frozen=True)
class Rank:
    """One rank: the number of its node, a CPU per thread, and all CPUs it may use."""

    rank: int
    node: int
    threads: tuple[int, ...]
    cpus: tuple[int, ...]


@dataclass(frozen=True)
class RankLayout:
    """All ranks, the lowest first, and the reason for their places."""

    host: str
    wanted: HybridRequest
    ranks: tuple[Rank, ...]
    reason: str

    @property
    def cpus(self) -> list[int]:
        """The CPUs of all threads of the first node."""
        return [cpu for one in self.ranks if one.node == 0 for cpu in one.threads]


def lay_out(tree: Tree, request: HybridRequest) -> RankLayout:
    """Place the ranks on nodes that are all like the host; raises PinningError."""
    wanted = request.settled()
    tree.check()
    each = _split(wanted)
    places = [
        (tuple(threads), _bound(tree, wanted.bind, threads))
        for threads in _places(tree, wanted, max(each))
    ]
    ranks = tuple(
        Rank(number, node, *places[slot])
        for number, (node, slot) in enumerate(_numbered(wanted.rank, each))
    )
    words = _reason(tree, wanted, each) + _warning(tree, wanted, ranks)
    return RankLayout(tree.host, wanted, ranks, words)


def _one_of(what: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise PolicyError(f"{what}: {value[:40]!r}: expected one of {', '.join(known)}")
    return value


def _positive(what: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise PolicyError(f"{value} {what}: ask for 1 to {most}")


def _split(wanted: HybridRequest) -> list[int]:
    """The number of ranks per node, as equal as possible, the larger ones first."""
    if wanted.ranks < wanted.nodes:
        raise LimitError(
            f"{wanted.ranks} rank{_s(wanted.ranks)} cannot fill {wanted.nodes} nodes"
        )
    least, more = divmod(wanted.ranks, wanted.nodes)
    return [least + (node < more) for node in range(wanted.nodes)]


def _numbered(by: str, each: Sequence[int]) -> list[tuple[int, int]]:
    """Node and slot of each rank: node after node, or one of each node in turn."""
    nodes = [[(node, slot) for slot in range(n)] for node, n in enumerate(each)]
    turns = nodes if by == "slot" else zip_longest(*nodes)
    return [one for some in turns for one in some if one is not None]


def _places(tree: Tree, wanted: HybridRequest, count: int) -> Iterator[list[int]]:
    """The threads of the first `count` ranks of a node."""
    blocks = _blocks(tree, wanted)
    room = sum(map(len, blocks))
    if room < count:
        raise LimitError(_no_room(tree, wanted, room, count))
    turns = (one for turn in zip_longest(*blocks) for one in turn if one is not None)
    for _, threads in zip(range(count), turns, strict=False):
        yield threads


def _no_room(tree: Tree, wanted: HybridRequest, room: int, count: int) -> str:
    of = f" of {wanted.threads} cores each" if wanted.threads > 1 else ""
    cores = len(_cores(tree, tree.allowed))
    return (
        f"{room} rank{_s(room)}{of} fit on a node like {tree.host} "
        f"({cores} core{_s(cores)}, mapped by "
        f"{wanted.map}), {count} asked"
    )


def _blocks(tree: Tree, wanted: HybridRequest) -> list[list[list[int]]]:
    """The cores of each socket, cache, …, in order and in groups for one rank."""
    if wanted.map in ("slot", "node", "core"):
        return [_cut(_cores(tree, tree.allowed), wanted.threads)]
    found = tree.domains(wanted.map)
    if not found:
        raise LimitError(f"{tree.host} has no {reason.noun(wanted.map)}")
    held = (_cores(tree, domain.cpus & tree.allowed) for domain in found)
    return [_cut(cores, wanted.threads) for cores in held]


def _cut(cores: Sequence[int], each: int) -> list[list[int]]:
    whole = len(cores) // each * each
    return [list(cores[at : at + each]) for at in range(0, whole, each)]


def _cores(tree: Tree, cpus: frozenset[int]) -> list[int]:
    """The first allowed thread of each core, in the order of the tree."""
    first: dict[object, int] = {}
    for cpu in sorted(cpus, key=tree.order.__getitem__):
        first.setdefault(tree.domain("core", cpu) or cpu, cpu)
    return list(first.values())


def _bound(tree: Tree, bind: str, threads: Sequence[int]) -> tuple[int, ...]:
    if bind == "hwthread":
        return tuple(threads)
    if bind == "none":
        return tuple(sorted(tree.allowed))
    held: set[int] = set()
    for cpu in threads:
        domain = tree.domain(bind, cpu)
        if domain is None:
            what = reason.noun(bind)
            raise LimitError(f"{tree.host} has no {what} around CPU {cpu} to bind to")
        held |= domain.cpus
    return tuple(sorted(held & tree.allowed))


def _reason(tree: Tree, wanted: HybridRequest, each: Sequence[int]) -> str:
    nodes, count = wanted.nodes, wanted.threads
    many = f"{min(each)} to {max(each)}" if min(each) < max(each) else f"{each[0]}"
    on = f"{nodes} nodes like {tree.host}" if nodes > 1 else tree.host
    return (
        f"{wanted.ranks} rank{_s(wanted.ranks)} of {count} thread{_s(count)} on {on}: "
        f"{many} on each. "
        f"{_how(wanted.map)}, numbered by {wanted.rank}. A rank has {count} "
        f"core{_s(count)} of its own. {_bound_to(wanted)}."
    )


def _warning(tree: Tree, wanted: HybridRequest, ranks: Sequence[Rank]) -> str:
    """A sentence if the binding lets a rank use the whole node; otherwise empty."""
    is_bound = wanted.bind not in ("none", "hwthread")
    has_more = len(_cores(tree, tree.allowed)) > wanted.threads
    widest = max(len(one.cpus) for one in ranks)
    if not is_bound or not has_more or widest < len(tree.allowed):
        return ""
    return (
        f" Warning: binding to the {reason.noun(wanted.bind)} restricts nothing, since "
        f"it contains all {widest} CPUs of {tree.host}: bind to core, for example."
    )


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _bound_to(wanted: HybridRequest) -> str:
    if wanted.bind == "none":
        return "They are not bound"
    if wanted.bind == "hwthread":
        return "Each thread is bound to the first hardware thread of its core"
    count = wanted.threads if wanted.bind == "core" else 1
    return f"Each rank is bound to its {reason.nouns(wanted.bind, count)}"


def _how(by: str) -> str:
    if by == "node":
        return "Mapped to the nodes in turn, on each to one core after the other"
    if by in ("slot", "core"):
        return "Mapped to one core after the other, node after node"
    return f"Mapped to the {reason.noun(by)}s of a node in turn, node after node"


def lines(layout: RankLayout) -> list[str]:
    """One line per rank: its node, its threads in order, and the CPUs it may use."""
    return [
        f"rank {one.rank} node {one.node} threads {in_order(one.threads)} "
        f"bound {write_cpus(one.cpus)}"
        for one in layout.ranks
    ]


def write_ranks(tree: Tree, layout: RankLayout, name: str) -> str:
    """Write the ranks in a format; raises PolicyError for an unsuitable one."""
    if name == "cpus":
        return "\n".join(lines(layout))
    if name == "rankfile":
        nodes = layout.wanted.nodes
        named = [layout.host if nodes == 1 else f"+n{n}" for n in range(nodes)]
        return rankfile([(named[one.node], one.cpus) for one in layout.ranks])
    if name == "srun":
        return _srun(tree, layout)
    find_format(name)
    raise PolicyError(f"{name} cannot hold ranks: take {', '.join(FORMATS_OF_RANKS)}")


def _srun(tree: Tree, layout: RankLayout) -> str:
    wanted = layout.wanted
    masks = [
        f"{sum(1 << cpu for cpu in one.cpus):#x}"
        for one in layout.ranks
        if one.node == 0
    ]
    dealt = "cyclic" if wanted.rank == "node" else "block"
    # No --cpus-per-task: since 22.05 it means as few CPUs as possible.
    return (
        f"srun --nodes={wanted.nodes} {whole_node(tree)} --ntasks={wanted.ranks} "
        f"--ntasks-per-node={len(masks)} --distribution={dealt} "
        f"--cpu-bind=mask_cpu:{','.join(masks)} {COMMAND}"
    )
