"""What the bridge says about its hosts, as `supertwin status` prints it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.settings.state import read_json
from ontology.ids import encode_id
from sampling.account.bridge_status import BridgeStatus

_FIGURES = (
    *("started", "stopped", "host", "last_tick_ms", "expected", "carried", "fetched"),
    *("written", "late", "missing", "reasons", "resent", "queue", "damaged"),
    "losing",
    *("fetch_seconds", "write_seconds", "sent_bytes", "cpu_seconds", "rss_bytes"),
    *("uncounted", "tick_offset_seconds", "clock_seconds", "pcp"),
)
_MIB = 1 << 20


@dataclass(frozen=True)
class SamplingStatus:
    """The accounts of this host and all others, and why some hosts are not sampled.

    ``losing`` are the hosts that lose points at present, and those with a folder that
    the bridge cannot use. ``processes`` says why the kernel is not read for them, and
    ``hidden`` which of them it does not show.
    """

    account: dict[str, Any]
    hosts: dict[str, dict[str, Any]]
    unreached: dict[str, str]
    tick_spread_seconds: float | None
    losing: tuple[str, ...] = ()
    processes: str = ""
    hidden: str = ""


def status_path(state: Path, host: str) -> Path:
    """The status file of a host in the state folder of a bridge."""
    return state / "hosts" / encode_id(host) / "status.json"


def read_sampled(state: Path, own: str) -> SamplingStatus:
    """Read what the bridge of a state folder says; ``own`` is the name of this host."""
    process = read_json(state / "status.json") or {}
    access = process.get("processes") or {}
    others = [name for name in process.get("hosts") or {} if name != own]
    accounts = {name: _account(state, name) for name in (own, *others)}
    losing = [name for name, account in accounts.items() if _losing_reasons(account)]
    return SamplingStatus(
        accounts.pop(own),
        accounts,
        process.get("unreached") or {},
        process.get("tick_spread_seconds"),
        (*losing, *(process.get("unusable") or ())),
        access.get("reason") or "",
        access.get("hidden") or "",
    )


def sampled_lines(sampled: SamplingStatus) -> list[str]:
    """Describe it in a few lines; none if a bridge says nothing yet."""
    try:
        return list(_all_lines(sampled))
    except (AttributeError, KeyError, TypeError, ValueError):  # another version
        return []


def _losing_reasons(account: dict[str, Any]) -> list[str]:
    """Why the log of a host takes or gives no points, and which points it loses."""
    status = BridgeStatus(account)
    return list(filter(None, (status.log_reason, status.losing_reason)))


def _account(state: Path, host: str) -> dict[str, Any]:
    """The figures of the account, from the status of a host."""
    status = read_json(status_path(state, host)) or {}
    return {name: status[name] for name in _FIGURES if name in status}


def _all_lines(sampled: SamplingStatus) -> Iterator[str]:
    if sampled.account:
        yield from _lines(sampled.account)
    for host, account in sampled.hosts.items():
        yield from _host_lines(host, account)
    if sampled.processes:
        yield f"processes are read through PCP, which costs more: {sampled.processes}"
    if sampled.hidden:
        yield sampled.hidden
    for host, reason in sampled.unreached.items():
        yield f"{host}: not sampled: {reason}"
    if sampled.hosts and sampled.tick_spread_seconds is not None:
        spread = sampled.tick_spread_seconds * 1000
        count = len(sampled.hosts) + 1
        yield f"the last ticks of {count} hosts began within {spread:.1f} ms"


def _host_lines(host: str, account: dict[str, Any]) -> Iterator[str]:
    if not account:
        yield f"{host}: no status yet"
        return
    missing, queue = sum(account["reasons"].values()), account["queue"]
    yield (
        f"{host}: {account['expected']:,} expected = {account['written']:,} written + "
        f"{missing:,} missing + {queue['points']:,} waiting; fetch "
        f"{_times(account['fetch_seconds'])}{_in_step(account)}"
    )
    if reason := account["pcp"]["reason"]:
        yield f"  {reason}"
    yield from (f"  {reason}" for reason in _losing_reasons(account))


def _in_step(account: Mapping[str, Any]) -> str:
    """How far from its ticks a host is sampled, and how far its clock is off."""
    offset, clock = account["tick_offset_seconds"], account["clock_seconds"]
    step = f", {offset['p50'] * 1000:.1f} ms after the tick" if offset else ""
    if not clock:
        return step
    ahead, uncertainty = (clock[name] * 1000 for name in ("ahead", "uncertainty"))
    return f"{step}, clock {ahead:+.1f} ms (within {uncertainty:.1f})"


def _lines(account: dict[str, Any]) -> Iterator[str]:
    missing = {why: n for why, n in account["reasons"].items() if n}
    queue = account["queue"]
    yield (
        f"points since {account['started']}: {account['expected']:,} expected = "
        f"{account['written']:,} written + {sum(missing.values()):,} missing + "
        f"{queue['points']:,} waiting"
    )
    if missing:
        listed = ", ".join(f"{points:,} {why}" for why, points in missing.items())
        yield f"  missing: {listed}"
    yield from (f"  {reason}" for reason in _losing_reasons(account))
    yield (
        f"  fetch {_times(account['fetch_seconds'])}, write "
        f"{_times(account['write_seconds'])}{_in_step(account)}; "
        f"{account['sent_bytes'] / _MIB:,.1f} MiB sent, "
        f"log {queue['bytes'] / _MIB:,.1f} "
        f"MiB, CPU {account['cpu_seconds']:,.1f} s, RAM "
        f"{account['rss_bytes'] / _MIB:,.0f} MiB"
    )
    if absence := account["uncounted"]:
        yield (
            f"  nothing was counted for {absence['seconds']:,.1f} s until "
            f"{absence['until']}, about {absence['points']:,} points: "
            f"{absence['reason']}"
        )


def _times(quantiles: Mapping[str, float]) -> str:
    if not quantiles:
        return "-"
    return f"{quantiles['p50'] * 1000:.1f} ms (p99 {quantiles['p99'] * 1000:.1f})"
