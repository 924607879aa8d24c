"""The recorded states of a host, and the selection of one by number, probe or time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from core.stores.results import TermRows
from ingest.errors import NoSuchStateError
from ontology.iris import Iris
from ontology.terms import PROV, ST


@dataclass(frozen=True)
class HostState:
    """One state: first seen `at` by `probe`; `until` is '' if it is the current one.

    `revises` is false if the state before it is unknown.
    """

    number: int
    at: str
    until: str
    probe: str
    probes: int
    last_seen: str
    revises: bool

    @property
    def moment(self) -> datetime:
        """The time when it was first seen."""
        return moment(self.at)


def states_query(iris: Iris, host: str) -> str:
    """The SELECT of all states of a host."""
    return f"""PREFIX st: <{ST}> PREFIX prov: <{PROV}>
    SELECT ?number ?at ?until ?probe ?revises
      (COUNT(?look) AS ?probes) (MAX(?end) AS ?last) {{
      GRAPH <{iris.history_graph(host)}> {{
        ?state st:stateNumber ?number ; prov:generatedAtTime ?at ;
               prov:wasGeneratedBy ?probe .
        OPTIONAL {{ ?state prov:invalidatedAtTime ?until }}
        OPTIONAL {{ ?state prov:wasRevisionOf ?before }}
        OPTIONAL {{ ?look st:saw ?state ; prov:endedAtTime ?end }}
      }}
      BIND (BOUND(?before) AS ?revises)
    }}
    GROUP BY ?number ?at ?until ?probe ?revises ORDER BY ?number"""


def read_states(rows: TermRows) -> list[HostState]:
    """The rows of `states_query`, oldest first."""
    return [
        HostState(
            number=int(str(number)),
            at=str(at),
            until=str(until or ""),
            probe=str(probe),
            probes=int(str(probes)),
            last_seen=str(last or at),
            revises=str(revises) == "true",
        )
        for number, at, until, probe, revises, probes, last in rows.rows
        if number is not None
    ]


def find_state(states: Sequence[HostState], host: str, text: str) -> HostState:
    """Find a state by number, by a probe's stamp or by a time when it was current.

    A date means its first moment, and times without a zone are UTC. Raises
    NoSuchStateError.
    """
    for state in states:
        if text in (str(state.number), state.probe, state.probe.rpartition("/")[2]):
            return state
    try:
        at = moment(text)
    except ValueError:
        raise NoSuchStateError(
            f"{text[:60]!r} is not a state, probe or time of {host}: give a state from "
            f"1 to {states[-1].number}, or a time such as 2026-11-21T08:00"
        ) from None
    before = [state for state in states if state.moment <= at]
    if not before:
        raise NoSuchStateError(
            f"{host} was first seen at {states[0].at}, after {text}: name a later time"
        )
    return before[-1]


def pair(
    states: Sequence[HostState], host: str, first: str = "", last: str = ""
) -> tuple[HostState, HostState]:
    """Choose two states to compare, older first: those named, else the last two.

    If only the first is named, compare it with the newest; if only the last, compare it
    with its predecessor. Raises NoSuchStateError.
    """
    if not states:
        raise NoSuchStateError(f"no state of {host} is recorded: probe it first")
    if first:
        one = find_state(states, host, first)
        other = find_state(states, host, last) if last else states[-1]
    else:
        other = find_state(states, host, last) if last else states[-1]
        one = states[max(0, states.index(other) - 1)]
    older, newer = sorted((one, other), key=lambda state: state.number)
    for state in states:
        if older.number < state.number <= newer.number and not state.revises:
            raise NoSuchStateError(
                f"states {older.number} and {newer.number} of {host} cannot be "
                f"compared, since the history before state {state.number} is unknown: "
                f"compare states from {state.number} on"
            )
    return older, newer


def moment(text: str) -> datetime:
    """Parse a time; raises ValueError."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
