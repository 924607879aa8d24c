"""What a host is sampled for from its first load on: loading is handed this."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.stores.datasets import Progress


@dataclass(frozen=True)
class Monitoring:
    """The monitor plan of a document, and whom to tell; ``sampling.monitoring`` has it.

    ``metrics`` are the names that a document's host is sampled for. ``with_bridge``
    adds what the bridge itself gives; whether it is on that host is told. ``notify``
    has plans read again.
    """

    metrics: Callable[[dict[str, Any], Progress], list[str]]
    with_bridge: Callable[[dict[str, Any], bool], dict[str, Any]]
    notify: Callable[[], object]
