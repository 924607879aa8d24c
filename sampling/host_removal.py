"""Removes a host: its twin, and the PMCD that counts events on it."""

from core.errors import SuperTwinError
from core.settings.settings import Settings
from core.stores.datasets import Progress, writing
from ingest.history.history import forget, keep_whole
from ingest.host_history import find_past_host
from ingest.hwloc.topology_file import topology_path
from ingest.load.publish import TwinStores
from ingest.load.register import registration_delete
from ingest.loading import open_store
from ontology.iris import Iris
from sampling.agents import running
from sampling.counters.counters import end
from sampling.plan_file.notify import notify


def remove(settings: Settings, name: str, history: bool, progress: Progress) -> None:
    """Remove the twin of a host; its history stays, unless `history` is set.

    Raises UnknownHostError.
    """
    iris = Iris(settings.base)
    with open_store(settings) as store:
        host, _ = find_past_host(store, iris, name)
        with writing(settings, host, progress):
            _end_counting(settings, host, store, progress)
            if not history:
                keep_whole(store.twin, store.history, iris, host)
            store.twin.update(registration_delete(iris, host))
            if history:
                forget(store.history, iris, host)
            topology_path(settings.home, host).unlink(missing_ok=True)
    notify(settings.home / "bridge")


def _end_counting(
    settings: Settings, host: str, store: TwinStores, progress: Progress
) -> None:
    """End our PMCDs on the host; an unreachable host is removed anyway."""
    try:
        end(settings, host, store.twin, progress)
    except SuperTwinError as error:
        progress(f"PMU events may still be counted on {host}: {error}")
    try:
        running.end(settings, host, store.twin, progress)
    except SuperTwinError as error:
        progress(f"agents may still run on {host}: {error}")
