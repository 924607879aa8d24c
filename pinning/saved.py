"""The saved query of a policy: its rows, in order, are the CPUs.

Combinations of words and likwid: have no such query. They are computed from the rows of
other queries; only the spreading of ``scatter`` is always done by its saved query.
"""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pinning.cpu_list import in_order, write_cpus
from pinning.policy import Policy
from queries.binding import Scalar
from queries.catalogue import saved_query

SCATTER = "pinning/scatter"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class BoundQuery:
    """A saved query with values for its parameters; None leaves a parameter open."""

    name: str
    params: Mapping[str, Scalar | None]

    @property
    def text(self) -> str:
        """The SPARQL."""
        return saved_query(self.name).bind(self.params)

    @property
    def command(self) -> str:
        """The command that shows its rows."""
        options = (f"--{name} {shlex.quote(str(v))}" for name, v in self._given())
        return " ".join(("supertwin query", self.name, *options))

    def address(self, base: str, ending: str = "") -> str:
        """The URL of its rows; with the ending ``.rq``, that of its text."""
        given = urlencode(self._given())
        return f"{base.rstrip('/')}/queries/{self.name}{ending}?{given}"

    def _given(self) -> list[tuple[str, Scalar]]:
        return [(name, v) for name, v in self.params.items() if v is not None]


def policy_query(host: str, policy: Policy, threads: int | None) -> BoundQuery | None:
    """The query whose rows are the CPUs; None for a combination and for likwid:."""
    words = _words(policy) or [("compact", {})]
    if policy.likwid or len(words) > 1:
        return None
    ((word, params),) = words
    return BoundQuery(f"pinning/{word}", {"host": host, "threads": threads, **params})


def _words(policy: Policy) -> list[tuple[str, dict[str, Scalar | None]]]:
    """The words of a policy, each with the parameters of its query."""
    found: list[tuple[str, dict[str, Scalar | None]]] = []
    if policy.order in ("scatter", "idle"):
        found.append((policy.order, {}))
    found += [("distinct", {"kind": kind}) for kind in policy.distinct]
    found += [("share", {"kind": one.kind, "of": one.of}) for one in policy.share]
    if policy.per:
        found.append(("per", {"kind": policy.per[0], "each": policy.per[1]}))
    found += [("near", {"kind": kind or None, "name": n}) for kind, n in policy.near]
    if policy.cores:
        found.append(("cores", {"kind": policy.cores}))
    if policy.exclude:
        found.append(("exclude", {"cpus": in_order(sorted(policy.exclude))}))
    return found


def spread_text(host: str, sets: Iterable[frozenset[int]], count: int) -> str:
    """The SPARQL that spreads some threads over each set of CPUs."""
    each: list[dict[str, Scalar]] = [
        {"host": host, "threads": count, "among": write_cpus(cpus)} for cpus in sets
    ]
    return saved_query(SCATTER).bind_each(each)


def read_spread(
    sets: Iterable[frozenset[int]], rows: Iterable[Row]
) -> dict[frozenset[int], Sequence[int]]:
    """The CPUs for each set, from the rows of that query."""
    found = defaultdict(list)
    for row in rows:
        found[row["among"]].append(row["cpu"])
    return {cpus: found[write_cpus(cpus)] for cpus in sets}
