"""Where SuperTwin itself runs a command: here, where it outlives us, or over ssh."""

import os
import pwd
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from core.linux.ssh.address import parse_address
from core.settings.settings import Settings
from core.stores.datasets import dataset
from ingest.remote_hosts import address_of
from observations.launch import Event, Running
from observations.local_runner import beside
from observations.remote_runner import there
from observations.session.repetition import PROGRAM
from observations.session.run_request import Wish


@contextmanager
def started(settings: Settings, wish: Wish, folder: Path) -> Iterator[Running]:
    """Start the program of a run's folder on the wish's host, or follow it further.

    Raises MendableError for a host that nothing leads to, and RemoteLoginError.
    """
    if wish.asked.host == settings.host:
        with beside(folder, PROGRAM, _environment(), wish.user) as running:
            yield running
        return
    with dataset(settings, "twin") as twin:
        address = parse_address(address_of(twin, wish.asked.host))
    with there(
        (folder / PROGRAM).read_bytes(), address, settings.ssh_config
    ) as running:
        yield running


def uid_of(wish: Wish) -> int | None:
    """The user that runs the command of a wish here; None where that is ours."""
    return pwd.getpwnam(wish.user).pw_uid if wish.user else None


def lives(started: Event) -> bool:
    """Whether the process that a runner on this machine told of is still there."""
    try:
        stat = Path(f"/proc/{started['pid']}/stat").read_bytes()
        ticks = int(stat.rpartition(b") ")[2].split()[19])
        return bool(ticks == started["start_ticks"])
    except (OSError, KeyError, IndexError, ValueError):  # nothing was started
        return False


def _environment() -> Mapping[str, str]:
    """What a command inherits: nothing of our settings, of which some are secret."""
    return {k: v for k, v in os.environ.items() if not k.startswith("SUPERTWIN_")}
