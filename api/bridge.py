"""The bridge as its status file shows it."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# The bridge writes the file every second, whether or not a tick was due.
FRESH_S = 10.0
_LATEST_MS = 10**15


@dataclass(frozen=True)
class Bridge:
    """The last status of the bridge; ``reason`` says why it does not run."""

    status: dict[str, Any]
    reason: str = ""
    age: float | None = None

    @property
    def up(self) -> bool:
        """Whether the bridge runs."""
        return not self.reason

    @property
    def host(self) -> str:
        """The host that it samples, empty when unknown."""
        return str(self.status.get("host") or "")

    def samples(self, host: str) -> bool:
        """Whether it samples a host, as far as it says."""
        return self.host in ("", host)

    @property
    def waiting(self) -> int:
        """Points in its log that the store has not taken yet."""
        queue = self.status.get("queue")
        points = queue.get("points") if isinstance(queue, dict) else None
        return points if isinstance(points, int) else 0

    @property
    def pcp_reason(self) -> str:
        """Why PMCD gives nothing, empty when it is connected."""
        return _reason(self.status.get("pcp"), "connected", "PMCD is not connected")

    @property
    def store_reason(self) -> str:
        """Why the store takes nothing from the bridge, empty when it does."""
        return _reason(self.status.get("store"), "up", "the store is away")

    @property
    def last_tick_age(self) -> float | None:
        """Seconds since the last tick."""
        tick = self.status.get("last_tick_ms")
        if not isinstance(tick, int | float) or not abs(tick) < _LATEST_MS:
            return None
        return round(time.time() - tick / 1000, 3)

    def metric_reason(self, metric: str) -> str:
        """Why a sampled metric has no value, empty when it has."""
        metrics = self.status.get("metrics")
        found = metrics.get(metric) if isinstance(metrics, dict) else None
        return str(found.get("reason") or "") if isinstance(found, dict) else ""


def read_bridge(path: Path) -> Bridge:
    """Read the status file; whatever is wrong with it is the bridge's reason."""
    try:
        age = round(time.time() - path.stat().st_mtime, 3)
        status = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return Bridge({}, "it never wrote its status; `make up` starts it")
    except (OSError, ValueError, RecursionError) as error:
        return Bridge({}, f"{path} cannot be read: {error}")
    if not isinstance(status, dict):
        return Bridge({}, f"{path} holds no status")
    if age > FRESH_S:
        return Bridge(status, f"it last wrote its status {age:.0f} s ago", age)
    return Bridge(status, age=age)


def _reason(part: Any, flag: str, otherwise: str) -> str:
    if not isinstance(part, dict) or part.get(flag) is not False:
        return ""
    return str(part.get("reason") or otherwise)
