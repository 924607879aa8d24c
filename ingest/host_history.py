"""Find hosts by any of their names, and compare past states of a host."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ingest.history.changes import TwinChange, changes, deltas_query
from ingest.history.states import HostState, pair, read_states, states_query
from ingest.load.publish import TwinStores
from ingest.loading import open_store
from ontology.iris import IdError, Iris
from queries.errors import UnknownHostError
from queries.names import ResolvedHost, choose
from queries.run import saved_rows


@dataclass(frozen=True)
class HostComparison:
    """The changes of a host from one state to another."""

    host: str
    older: HostState
    newer: HostState
    changes: Sequence[TwinChange]


def find_host(twin: Endpoint, text: str) -> ResolvedHost:
    """Find a host by name, alias or address.

    Raises UnknownHostError, which names the nearest, and AmbiguousHostError.
    """
    return choose(saved_rows(twin, "fleet/find"), text)


def compare(
    settings: Settings, name: str, first: str = "", last: str = ""
) -> HostComparison:
    """Compare two states of a host, by default the last two.

    Raises UnknownHostError and NoSuchStateError.
    """
    iris = Iris(settings.base)
    with open_store(settings) as store:
        host, states = find_past_host(store, iris, name)
        older, newer = pair(states, host, first, last)
        rows = store.history.select(
            deltas_query(iris, host, older.number, newer.number)
        )
    found = changes(rows, iris, host, {state.number: state for state in states})
    return HostComparison(host, older, newer, found)


def find_past_host(
    store: TwinStores, iris: Iris, name: str
) -> tuple[str, list[HostState]]:
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


def _states(store: TwinStores, iris: Iris, host: str) -> list[HostState]:
    return read_states(store.history.select(states_query(iris, host)))
