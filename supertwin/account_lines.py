"""The account of the bridge, as `supertwin status` prints it."""

from collections.abc import Iterator, Mapping
from typing import Any

_FIGURES = (
    *("started", "stopped", "host", "last_tick_ms", "expected", "carried", "fetched"),
    *("written", "late", "missing", "reasons", "resent", "queue", "damaged"),
    *("fetch_seconds", "write_seconds", "sent_bytes", "cpu_seconds", "rss_bytes"),
    *("uncounted",),
)
_MIB = 1 << 20


def account_of(status: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of the account, out of all that the bridge says of itself."""
    return {name: status[name] for name in _FIGURES if name in status}


def account_lines(account: Mapping[str, Any]) -> list[str]:
    """The account in a few lines; none where a bridge says nothing yet."""
    try:
        return list(_lines(account))
    except (AttributeError, KeyError, TypeError, ValueError):  # of another version
        return []


def _lines(account: Mapping[str, Any]) -> Iterator[str]:
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
    yield (
        f"  fetch {_times(account['fetch_seconds'])}, write "
        f"{_times(account['write_seconds'])}; "
        f"{account['sent_bytes'] / _MIB:,.1f} MiB sent, "
        f"log {queue['bytes'] / _MIB:,.1f} "
        f"MiB, CPU {account['cpu_seconds']:,.1f} s, RAM "
        f"{account['rss_bytes'] / _MIB:,.0f} MiB"
    )
    if absence := account["uncounted"]:
        yield (
            f"  nobody counted for {absence['seconds']:,.1f} s until "
            f"{absence['until']}, about {absence['points']:,} points: "
            f"{absence['reason']}"
        )


def _times(quantiles: Mapping[str, float]) -> str:
    if not quantiles:
        return "-"
    return f"{quantiles['p50'] * 1000:.1f} ms (p99 {quantiles['p99'] * 1000:.1f})"
