"""Reads the profile of a run that is stored here, and writes it in a format."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from core.errors import NotFoundError
from observations.events import kept_lines
from observations.profiles.formats import folded, speedscope
from observations.profiles.pprof import pprof
from observations.profiles.profile import Profile, profile_of
from observations.session.repetition import EVENTS


class StoredProfile(NamedTuple):
    """The profile of run ``id``, with its start (Unix time) and duration in ns."""

    id: str
    profile: Profile
    start_ns: int
    duration_ns: int


FORMATS: Mapping[str, Callable[[StoredProfile], bytes]] = {
    "pprof": lambda one: pprof(one.profile, one.start_ns, one.duration_ns),
    "folded": lambda one: folded(one.profile),
    "speedscope": lambda one: speedscope(one.profile, one.id),
}


_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}")


def stored_profile(id_: str, events: bytes) -> StoredProfile:
    """Return the profile in the events of a run; raises NotFoundError."""
    named = {line.event["event"]: line.event for line in kept_lines(events)}
    found = profile_of(named.get("profile"))
    if found.reason:
        why = found.reason if "profile" in named else "observe it with --profile"
        detail = f"run {id_[:80]!r} has no profile: {why}"
        raise NotFoundError("no-profile", "No profile", detail)
    start = named["started"]["start_ns"]
    return StoredProfile(id_, found, start, _end(named, start) - start)


def _end(named: Mapping[str, Mapping[str, int]], start: int) -> int:
    return named["ended"]["end_ns"] if "ended" in named else start


def read_profile(home: Path, id_: str) -> StoredProfile:
    """Return the profile of a run in a state folder; raises NotFoundError."""
    path = home / "observations" / id_ / EVENTS
    if not _NAME.fullmatch(id_) or not path.is_file():  # a pipe would block
        detail = f"run {id_[:80]!r} is not stored here: it ran elsewhere, or never"
        raise NotFoundError("no-profile", "No profile", detail)
    return stored_profile(id_, path.read_bytes())
