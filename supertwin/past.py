"""Hosts by any of their names, what was in the past of one, and its end."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from ingest.errors import IngestError
from ingest.hwloc.topology_file import topology_path
from ingest.load.publish import Store
from ingest.load.register import forgotten
from ingest.past.changes import Change, changes, deltas_query
from ingest.past.history import forget, keep_whole
from ingest.past.states import State, pair, read_states, states_query
from ontology.iris import IdError, Iris
from queries.asking import saved_rows
from queries.endpoint import Endpoint
from queries.errors import UnknownHostError
from queries.names import Found, choose
from remote_login.errors import RemoteLoginError
from sampler_bridge.plan.nudge import nudge
from supertwin.counting.counters import end
from supertwin.errors import SuperTwinError
from supertwin.loading import Progress, open_store, writing
from supertwin.settings import Settings


@dataclass(frozen=True)
class Comparison:
    """What changed on a host from one state to another."""

    host: str
    older: State
    newer: State
    changes: Sequence[Change]


def find_host(twin: Endpoint, text: str) -> Found:
    """The host that a name, an alias or an address means.

    Raises UnknownHostError, which names the nearest, and AmbiguousHostError.
    """
    return choose(saved_rows(twin, "fleet/find"), text)


def compare(
    settings: Settings, name: str, first: str = "", last: str = ""
) -> Comparison:
    """What changed on a host between two states, by default the last two.

    Raises UnknownHostError and NoSuchStateError.
    """
    iris = Iris(settings.base)
    with open_store(settings) as store:
        host, states = _past(store, iris, name)
        older, newer = pair(states, host, first, last)
        rows = store.history.select(
            deltas_query(iris, host, older.number, newer.number)
        )
    found = changes(rows, iris, host, {state.number: state for state in states})
    return Comparison(host, older, newer, found)


def remove(settings: Settings, name: str, history: bool, progress: Progress) -> None:
    """End the twin of a host; its past stays, unless `history` goes too.

    Raises UnknownHostError.
    """
    iris = Iris(settings.base)
    with open_store(settings) as store:
        host, _ = _past(store, iris, name)
        with writing(settings, host, progress):
            _end_counting(settings, host, store, progress)
            if not history:
                keep_whole(store.twin, store.history, iris, host)
            store.twin.update(forgotten(iris, host))
            if history:
                forget(store.history, iris, host)
            topology_path(settings.home, host).unlink(missing_ok=True)
    nudge(settings.home / "bridge")


def _end_counting(
    settings: Settings, host: str, store: Store, progress: Progress
) -> None:
    """Leave no PMCD there; one that is out of reach keeps no host in the twin."""
    try:
        end(settings, host, store.twin, progress)
    except (SuperTwinError, IngestError, RemoteLoginError) as error:
        progress(f"what counts PMU events on {host} could not be ended: {error}")


def _past(store: Store, iris: Iris, name: str) -> tuple[str, list[State]]:
    """A host of the twin, or one that is in the past alone."""
    try:
        host = find_host(store.twin, name).host
    except UnknownHostError:
        # What cannot be an id is no host either.
        with suppress(IdError):
            if states := _states(store, iris, name):
                return name, states
        raise
    return host, _states(store, iris, host)


def _states(store: Store, iris: Iris, host: str) -> list[State]:
    return read_states(store.history.select(states_query(iris, host)))
