"""Find hosts by any of their names, and compare past states of a host."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ingest.history.changes import Change, changes, deltas_query
from ingest.history.states import State, pair, read_states, states_query
from ingest.load.publish import Store
from ingest.loading import open_store
from ontology.iris import IdError, Iris
from queries.errors import UnknownHostError
from queries.names import Found, choose
from queries.run import saved_rows


@dataclass(frozen=True)
class Comparison:
    """The changes of a host from one state to another."""

    host: str
    older: State
    newer: State
    changes: Sequence[Change]


def find_host(twin: Endpoint, text: str) -> Found:
    """Find a host by name, alias or address.

    Raises UnknownHostError, which names the nearest, and AmbiguousHostError.
    """
    return choose(saved_rows(twin, "fleet/find"), text)


def compare(
    settings: Settings, name: str, first: str = "", last: str = ""
) -> Comparison:
    """Compare two states of a host, by default the last two.

    Raises UnknownHostError and NoSuchStateError.
    """
    iris = Iris(settings.base)
    with open_store(settings) as store:
        host, states = past(store, iris, name)
        older, newer = pair(states, host, first, last)
        rows = store.history.select(
            deltas_query(iris, host, older.number, newer.number)
        )
    found = changes(rows, iris, host, {state.number: state for state in states})
    return Comparison(host, older, newer, found)


def past(store: Store, iris: Iris, name: str) -> tuple[str, list[State]]:
    """Find a host in the twin, or only in the history, and its states.

    Raises UnknownHostError.
    """
    try:
        host = find_host(store.twin, name).host
    except UnknownHostError:
        # A name that cannot be an id is not a host either.
        with suppress(IdError):
            if states := _states(store, iris, name):
                return name, states
        raise
    return host, _states(store, iris, host)


def _states(store: Store, iris: Iris, host: str) -> list[State]:
    return read_states(store.history.select(states_query(iris, host)))
