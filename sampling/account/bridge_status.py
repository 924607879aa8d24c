"""The bridge according to its status files: its own, and one for each host."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ontology.ids import encode_id
from sampling.account.losses import losing_line
from sampling.account.reasons import GapCause, read_cause

# The bridge writes the file every two seconds, whether or not a tick was due.
FRESH_S = 10.0
_LATEST_MS = 10**15
_STATUS, _HOSTS = "status.json", "hosts"
_SHOWN = 5


@dataclass(frozen=True)
class BridgeStatus:
    """The last status of one host; ``reason`` says why the bridge does not run.

    ``probes`` are the states of the probes of its machine, by name.
    ``not_sampled`` says why the bridge does not sample that host; it is empty if it
    does. ``elsewhere`` describes the losses of the other hosts that it samples.
    """

    status: dict[str, Any]
    reason: str = ""
    age: float | None = None
    not_sampled: str = ""
    elsewhere: tuple[str, ...] = ()
    probes: Mapping[str, str] = field(default_factory=dict)

    @property
    def up(self) -> bool:
        """Whether the bridge runs."""
        return not self.reason

    @property
    def waiting(self) -> int:
        """Points in its log that the store does not have yet."""
        points = self._queue.get("points")
        return points if isinstance(points, int) else 0

    @property
    def behind_s(self) -> float:
        """How long the oldest of them has waited, in seconds; 0 if unknown.

        Some points always wait for a moment, since they are sent together.
        """
        return _age(self._queue.get("oldest_ms")) or 0.0

    @property
    def log_reason(self) -> str:
        """Why no points get through its log to the store; empty if they do."""
        reason = self._queue.get("reason")
        host = self.status.get("host")
        return f"points of {host} do not reach the store: {reason}" if reason else ""

    @property
    def losing_reason(self) -> str:
        """How many points were lost in the last seconds and why; empty if none."""
        losing = self.status.get("losing")
        if not isinstance(losing, dict) or not losing.get("points"):
            return ""
        return losing_line(str(self.status.get("host")), losing)

    @property
    def pcp_reason(self) -> str:
        """Why PMCD gives no values; empty if it is connected."""
        return _reason(self.status.get("pcp"), "connected", "PMCD is not connected")

    @property
    def store_reason(self) -> str:
        """Why the store takes nothing from the bridge; empty if it does."""
        return _reason(self.status.get("store"), "up", "the store is unreachable")

    @property
    def last_tick_age(self) -> float | None:
        """Seconds since the last tick."""
        return _age(self.status.get("last_tick_ms"))

    def metric_cause(self, metric: str) -> GapCause | None:
        """Why a sampled metric has no value; None if it has one."""
        metrics = self.status.get("metrics")
        return read_cause(metrics.get(metric)) if isinstance(metrics, dict) else None

    @property
    def _queue(self) -> dict[str, Any]:
        queue = self.status.get("queue")
        return queue if isinstance(queue, dict) else {}


def read_bridge(state: Path, host: str) -> BridgeStatus:
    """What the bridge of a state folder says about a host.

    A fault of its files becomes the bridge's reason.
    """
    process = _read(state / _STATUS)
    hosts = process.status.get("hosts")
    if not isinstance(hosts, dict):
        return BridgeStatus({}, process.reason, process.age)
    elsewhere = tuple(_elsewhere(process.status, host))
    if host not in hosts:
        why = _not_sampled(process.status, host)
        return BridgeStatus({}, process.reason, process.age, why, elsewhere)
    found = _read(state / _HOSTS / encode_id(host) / _STATUS)
    reason = process.reason or found.reason
    own = process.status.get("probes") if host == process.status.get("host") else None
    probes = own if isinstance(own, dict) else {}
    age = process.age
    return BridgeStatus(found.status, reason, age, elsewhere=elsewhere, probes=probes)


def _read(path: Path) -> BridgeStatus:
    try:
        age = round(time.time() - path.stat().st_mtime, 3)
        status = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return BridgeStatus({}, "it never wrote its status: start it with `make up`")
    except (OSError, ValueError, RecursionError) as error:
        return BridgeStatus({}, f"{path} cannot be read: {error}")
    if not isinstance(status, dict):
        return BridgeStatus(
            {},
            f"{path} contains no status; a running bridge writes it every 2 s",
        )
    if age > FRESH_S:
        reason = f"it last wrote its status {age:.0f} s ago: see log/bridge.log"
        return BridgeStatus(status, reason, age)
    return BridgeStatus(status, age=age)


def _age(tick: Any) -> float | None:
    """Seconds since a tick in Unix milliseconds; None if it is not a valid time."""
    if not isinstance(tick, int | float) or not abs(tick) < _LATEST_MS:
        return None
    return round(time.time() - tick / 1000, 3)


def _elsewhere(status: dict[str, Any], own: str) -> Iterator[str]:
    """The losses of all other hosts, from the bridge's own status."""
    for name, summary in status["hosts"].items():
        if name != own and isinstance(summary, dict):
            other = BridgeStatus({**summary, "host": name})
            if reason := other.log_reason or other.losing_reason:
                yield reason
    unusable = status.get("unusable")
    for name in unusable if isinstance(unusable, list) else ():
        if name != own:
            yield _not_sampled(status, name)


def _not_sampled(status: dict[str, Any], host: str) -> str:
    unreached = status.get("unreached")
    if isinstance(unreached, dict) and host in unreached:
        return f"the bridge here cannot reach {host!r}: {unreached[host]}"
    known = [repr(name) for name in status["hosts"]]
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    names = ", ".join(known[:_SHOWN]) + more
    return (
        f"the bridge here samples {names or 'no host'}, but not {host!r}: see "
        "`supertwin status`"
    )


def _reason(part: Any, flag: str, otherwise: str) -> str:
    if not isinstance(part, dict) or part.get(flag) is not False:
        return ""
    return str(part.get("reason") or otherwise)
