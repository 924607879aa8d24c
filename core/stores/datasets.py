"""The datasets of this installation, and a lock for writing a host."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from core.linux.lock import turn
from core.settings.accounts import fuseki_account
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ontology.ids import encode_id

Progress = Callable[[str], None]


@contextmanager
def writing(settings: Settings, host: str, progress: Progress) -> Iterator[None]:
    """Lock a host for writing: two writers would disorder its history."""

    def wait() -> None:
        progress(f"another command writes {host}: waiting until it is done")

    with turn(settings.home / "turns", wait, encode_id(host)):
        yield


def dataset(settings: Settings, name: str, timeout: float | None = None) -> Endpoint:
    """Return a client of one of the two datasets, with our account.

    ``timeout`` is in seconds; the default is that of queries in the settings.
    """
    url, seconds = f"{settings.fuseki}/{name}", timeout or settings.query_timeout
    return Endpoint(url, timeout=seconds, account=fuseki_account(settings))
