"""Builds the roofline model of a host from rows of saved queries."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from benchmarks.errors import NoBenchmarkError
from benchmarks.machine import MAIN_MEMORY, REMOTE_MEMORY
from benchmarks.roofline import Peak, Point, Roof, Roofline, placed
from core.stores.endpoint import Endpoint
from queries.catalogue import saved_query
from queries.errors import UnknownHostError
from queries.names import unknown
from queries.run import saved_rows

_FLOPS, _BYTES, _HZ = "FLOPS", "BYTE-PER-SEC", "HZ"
# Streaming stores avoid a level instead of measuring it.
_NOT_A_ROOF = "streaming-store"

# The saved queries that the model is built from.
ROOFS, POINTS = QUERIES = ("benchmarks/roofs", "benchmarks/points")
# The saved query that has the number of threads of each socket.
SOCKETS = "inventory/cpu"

Rows = Sequence[Mapping[str, Any]]


def read_roofline(
    twin: Endpoint, host: str, threads: int | None, precision: str
) -> Roofline:
    """Read the model of a host from its graph.

    Raises NoBenchmarkError and UnknownHostError.
    """
    roofs = saved_rows(twin, ROOFS, {"host": host})
    points = twin.texts(saved_query(POINTS).bind({"host": host}))
    try:
        return roofline(host, roofs, points, threads, precision)
    except NoBenchmarkError as error:
        names = [str(row["host"]) for row in saved_rows(twin, "inventory/names")]
        if host not in names:
            raise UnknownHostError(unknown(host, names)) from None
        sockets = saved_rows(twin, SOCKETS, {"host": host})
        raise not_measured(error, host, threads, sockets) from None


def not_measured(
    error: NoBenchmarkError, host: str, threads: int | None, sockets: Rows
) -> NoBenchmarkError:
    """Return the error for more threads than a host has, or else the given one.

    The rows are those of `inventory/cpu`.
    """
    most = sum(int(row["threads"]) for row in sockets)
    if not most or threads is None or threads <= most:
        return error
    return NoBenchmarkError(
        f"{host} has {most} threads: give --threads {most} or fewer"
    )


def roofline(
    host: str, roofs: Rows, points: Rows, threads: int | None, precision: str
) -> Roofline:
    """Build the model for some threads, by default the most that were measured.

    The rows are those of `benchmarks/roofs` and `benchmarks/points`, the latter also as
    texts. Raises NoBenchmarkError.
    """
    counts = sorted({int(row["threads"]) for row in roofs})
    if not counts or (threads is not None and threads not in counts):
        raise NoBenchmarkError(_lacking(host, threads, counts))
    count = counts[-1] if threads is None else threads
    policy, rows = _one_policy([row for row in roofs if row["threads"] == count])
    peaks = tuple(_peaks(rows, precision))
    found = tuple(_roofs(rows))
    if not peaks or not found:
        raise NoBenchmarkError(_lacking(host, threads, []))
    clock = max((row["value"] for row in rows if _unit(row) == _HZ), default=0.0)
    model = Roofline(host, count, policy, float(clock), found, peaks, ())
    own = (row for row in points if int(row["threads"]) == count)
    found_points = (_placed(model, row) for row in own)
    return replace(model, points=tuple(found_points))


def _lacking(host: str, threads: int | None, counts: Sequence[int]) -> str:
    if counts:
        known = ", ".join(map(str, counts))
        return (
            f"the roofs of {host} were measured on {known} threads, not on {threads}: "
            f"`supertwin bench carm --host {host} --threads {threads}` measures them"
        )
    measured = f"`supertwin bench quick --host {host}` measures them"
    return f"no roofs of {host} were measured: {measured}"


def _one_policy(rows: Rows) -> tuple[str, Rows]:
    """Return the rows of the newest thread set: two policies may have one size."""
    newest = max(rows, key=lambda row: str(row["at"]))
    policy = str(newest["policy"])
    return policy, [row for row in rows if row["policy"] == policy]


def _unit(row: Mapping[str, Any]) -> str:
    return str(row["unit"]).rpartition("/")[2]


def _roofs(rows: Rows) -> Iterable[Roof]:
    """Return the best kernel of each level, with the highest bandwidth first."""
    best: dict[str, Roof] = {}
    for row in rows:
        if _unit(row) != _BYTES or row["kernel"] == _NOT_A_ROOF:
            continue
        roof = Roof(
            str(row["level"]),
            float(row["best"]),
            f"{row['isa']} {row['kernel']}",
            str(row["result"]),
            *_about(row),
        )
        if roof.level not in best or roof.bandwidth > best[roof.level].bandwidth:
            best[roof.level] = roof
    # L1, L2, L3, DRAM: the order of the levels, not of noisy figures.
    last = (MAIN_MEMORY, REMOTE_MEMORY)
    return sorted(
        best.values(),
        key=lambda roof: (roof.level in last, last[0] != roof.level, roof.level),
    )


def _about(row: Mapping[str, Any]) -> tuple[float | None, str, str]:
    """Return theory, time and concern of a result."""
    theory = None if row["theory"] is None else float(row["theory"])
    return theory, _time(row), str(row["concern"] or "")


def _time(row: Mapping[str, Any]) -> str:
    """Return the time of a row as ``2026-11-21T16:38:21Z``."""
    at = datetime.fromisoformat(str(row["at"])).astimezone(UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _peaks(rows: Rows, precision: str) -> Iterable[Peak]:
    """Return the peaks of one precision, the highest first."""
    found = [
        Peak(
            str(row["kernel"]),
            str(row["isa"]),
            str(row["precision"]),
            float(row["best"]),
            str(row["result"]),
            *_about(row),
        )
        for row in rows
        if _unit(row) == _FLOPS and row["precision"] == precision
    ]
    return sorted(found, key=lambda peak: -peak.rate)


def _placed(model: Roofline, row: Mapping[str, Any]) -> Point:
    return placed(
        model,
        Point(
            str(row["name"]),
            str(row["kind"]),
            int(row["threads"]),
            float(row["intensity"]),
            float(row["rate"]),
            str(row["run"]),
            _time(row),
            str(row["traffic"]),
        ),
    )
