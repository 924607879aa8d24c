"""Remembers when each process was last seen, for processes that have ended."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from core.linux.private_folder import make_private
from ingest.sources.processes import Identity, parse_identity

# Above this number the oldest are removed.
MOST = 100_000
_TABLE = """CREATE TABLE IF NOT EXISTS seen (
    identity TEXT PRIMARY KEY, pid INTEGER NOT NULL, name TEXT NOT NULL,
    at REAL NOT NULL) WITHOUT ROWID"""
_INDEX = "CREATE INDEX IF NOT EXISTS seen_by_pid ON seen (pid, at)"
_TRIM = """DELETE FROM seen WHERE identity IN (
    SELECT identity FROM seen ORDER BY at DESC LIMIT -1 OFFSET ?)"""


@dataclass(frozen=True)
class Sighting:
    """One process as it was last seen."""

    identity: Identity
    name: str
    at: datetime


@dataclass(frozen=True)
class Sightings:
    """A small database of sightings; losing it does no other harm."""

    path: Path

    def note(self, identity: Identity, name: str, at: datetime) -> None:
        """Record that a process was seen."""
        row = (str(identity), identity.pid, name, at.timestamp())
        with self._open() as base:
            base.execute("INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?)", row)
            base.execute(_TRIM, (MOST,))

    def by_number(self, pid: int) -> Sighting | None:
        """Return the last process that was seen with a pid."""
        return self._one("pid = ? ORDER BY at DESC", pid)

    def by_identity(self, identity: Identity) -> Sighting | None:
        """Return exactly this process, not another with its pid."""
        return self._one("identity = ?", str(identity))

    def _one(self, condition: str, value: int | str) -> Sighting | None:
        text = f"SELECT identity, name, at FROM seen WHERE {condition} LIMIT 1"  # noqa: S608
        with self._open() as base:
            row = base.execute(text, (value,)).fetchone()
        found = parse_identity(row[0]) if row else None
        if found is None:
            return None
        return Sighting(found, row[1], datetime.fromtimestamp(row[2], UTC))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        make_private(self.path.parent)
        with closing(sqlite3.connect(self.path, timeout=2)) as base, base:
            base.execute(_TABLE)
            base.execute(_INDEX)
            yield base
