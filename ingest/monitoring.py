"""What to sample on a host after its first load; a parameter of loading."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.stores.datasets import Progress

if TYPE_CHECKING:
    from ingest.schema.schema import ProbeDocument


@dataclass(frozen=True)
class Monitoring:
    """The monitor plan of a document and its notification; see ``sampling.monitoring``.

    ``metrics`` returns the metrics to sample on a document's host. ``with_bridge`` adds
    the bridge's own metrics; its flag says whether the bridge runs on that host.
    ``notify`` makes plans be read again.
    """

    metrics: Callable[["ProbeDocument", Progress], list[str]]
    with_bridge: Callable[["ProbeDocument", bool], "ProbeDocument"]
    notify: Callable[[], object]
