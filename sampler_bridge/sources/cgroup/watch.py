"""Notices control groups that come and go, and keeps the list of them."""

import json
import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event, Lock

from cgroups.errors import CgroupError
from cgroups.groups import Group, Mount, make_group, read_allowed, telling_mounts
from cgroups.ledger import LEDGER_FILE, Ledger, Life, read_ledger, to_document
from cgroups.mounts import read_mounts
from cgroups.roots import Found, Root, find_groups
from sampler_bridge.files import read_json, write_whole
from sampler_bridge.sources.cgroup.reader import given
from sampler_bridge.worker import Worker

_LOG = logging.getLogger(__name__)

_LOOK_SECONDS = 1.0
# What a group may use is written after it was made, and seldom changes later.
_YOUNG_MS, _SELDOM_MS = 5_000, 20_000
# A look takes a twentieth of the time at most, however often it is asked for, but one
# that was slow once costs no more than the next second.
_SHARE = 20
_SHORTEST_SECONDS = 0.02
MOST = 4096
_BOOT = Path("proc/sys/kernel/random/boot_id")


class CgroupWatch(Worker):
    """Keeps the groups below some roots: ``look`` gives those that run now.

    Its list stands in the state folder; ``keep`` of the ended ones stay in it. ``root``
    is where proc and the mounts are.
    """

    def __init__(
        self, roots: tuple[Root, ...], keep: int, state: Path, root: Path = Path("/")
    ) -> None:
        super().__init__("cgroups")
        self._roots = roots
        self._keep = keep
        self._path = state / LEDGER_FILE
        self._root = root
        self._lock = Lock()
        self._stopping = False
        self._changed = Event()
        self._mounts = self._read_mounts()
        boot = _boot(root)
        kept = _kept(self._path) or Ledger(boot, {})
        self._ledger = kept.at(_now_ms(), boot)
        self._groups: dict[str, Group] = {}
        self._asked: dict[str, int] = {}
        self._look_after = 0.0
        self._written: Ledger | None = None
        self._told: set[str] = set()

    @property
    def problems(self) -> tuple[str, ...]:
        """What is not watched, and why."""
        return tuple(self._ledger.problems)

    def look(self) -> Mapping[str, Group]:
        """The groups that run now, by path, as of a moment ago: see _SHARE."""
        with self._lock:
            began = time.monotonic()
            if began >= self._look_after:
                self._take(find_groups([m.path for m in self._mounts], self._roots))
                took = time.monotonic() - began
                pause = max(_SHORTEST_SECONDS, min(_SHARE * took, _LOOK_SECONDS))
                self._look_after = began + pause
            return self._groups

    def stop(self, seconds: float) -> None:
        """End, within ``seconds``; what runs then is found again at the next start."""
        self._stopping = True
        self._changed.set()
        self._thread.join(seconds)

    def _work(self) -> None:
        while not self._stopping:
            self._changed.clear()
            self.look()
            self._describe()
            self._write()
            self._changed.wait(_LOOK_SECONDS)

    def _take(self, found: Found) -> None:
        """End what went, begin what came, and go on with what is the same."""
        self._tell(found)
        groups = self._chosen(found)
        if self._is_known(groups):
            return
        now = _now_ms()
        running, ended = dict(self._ledger.running), list(self._ledger.ended)
        for path, life in self._ledger.running.items():
            if path not in groups or not life.is_of(groups[path]):
                ended.append(replace(running.pop(path), ended=now))
                self._asked.pop(path, None)
        for path, group in groups.items():
            running[path] = _continued(running.get(path), group, now)
        kept = ended[-self._keep :] if self._keep else []
        self._ledger = replace(self._ledger, running=running, ended=kept)
        self._groups = groups
        self._changed.set()

    def _is_known(self, groups: Mapping[str, Group]) -> bool:
        known = self._groups
        return groups.keys() == known.keys() == self._ledger.running.keys() and all(
            group.numbers == known[path].numbers for path, group in groups.items()
        )

    def _chosen(self, found: Found) -> dict[str, Group]:
        """The groups to watch; of too many, those that are watched already first."""
        known = [path for path in found.folders if path in self._groups]
        new = [path for path in found.folders if path not in self._groups]
        some = (known + new)[:MOST]
        made: dict[str, Group] = {}
        for path in some:
            numbers, old = found.folders[path], self._groups.get(path)
            same = old is not None and old.numbers == numbers
            made[path] = (
                old if old and same else make_group(path, numbers, self._mounts)
            )
        return made

    def _describe(self) -> None:
        """Read again what groups may use, of young ones each time.

        It takes a while: nobody who looks is kept waiting.
        """
        now = _now_ms()
        with self._lock:
            running, groups = dict(self._ledger.running), self._groups
        due = [life for life in running.values() if self._is_due(life, now)]
        known = {}
        for life in due:
            group = groups[life.path]
            allowed, metrics = read_allowed(group), given(group)
            if metrics:  # else it went meanwhile
                known[life.path] = replace(life, allowed=allowed, metrics=metrics)
        with self._lock:
            self._asked |= dict.fromkeys(known, now)
            self._learn(known.values())

    def _learn(self, lives: Iterable[Life]) -> None:
        """Take up what is known of groups, as far as they are still the same."""
        running = dict(self._ledger.running)
        for life in lives:
            if life.path in running and running[life.path].began == life.began:
                running[life.path] = life
        if running != self._ledger.running:
            self._ledger = replace(self._ledger, running=running)

    def _is_due(self, life: Life, now_ms: int) -> bool:
        young = now_ms - life.began < _YOUNG_MS
        return young or now_ms - self._asked.get(life.path, 0) >= _SELDOM_MS

    def _tell(self, found: Found) -> None:
        """Say once what is not watched, and why."""
        problems = _problems(found, self._roots, self._mounts)
        for problem in problems:
            if problem not in self._told:
                _LOG.warning("%s", problem)
        self._told = {*problems}
        if problems != tuple(self._ledger.problems):
            self._ledger = replace(self._ledger, problems=problems)

    def _write(self) -> None:
        with self._lock:
            ledger = self._ledger
        if ledger is self._written:
            return
        try:
            write_whole(self._path, json.dumps(to_document(ledger)))
        except OSError as error:
            _LOG.debug("no list of cgroups written: %s", error.strerror)
        else:
            self._written = ledger

    def _read_mounts(self) -> list[Mount]:
        if not self._roots:
            return []
        try:
            return telling_mounts(read_mounts(self._root), self._root)
        except OSError as error:
            _LOG.warning("cgroups are not watched: %s", error)
            return []


def _kept(path: Path) -> Ledger | None:
    try:
        return read_ledger(read_json(path))
    except FileNotFoundError:
        pass
    except (OSError, ValueError, CgroupError) as error:
        _LOG.warning("%s is not read (%s): its list begins anew", path, error)
    return None


def _continued(life: Life | None, group: Group, now_ms: int) -> Life:
    if life is None:
        return Life(group.path, now_ms, group.versions, group.numbers)
    # Its folders go one after the other: what it was is not forgotten meanwhile.
    versions = tuple(sorted({*life.versions, *group.versions}))
    return replace(life, versions=versions, numbers={**life.numbers, **group.numbers})


def _problems(
    found: Found, roots: tuple[Root, ...], mounts: list[Mount]
) -> tuple[str, ...]:
    where = ", ".join(mount.path for mount in mounts) or "anything: none is mounted"
    said = [
        f"cgroup root {root.text!r} is not below {where}; it is watched for"
        for root in roots
        if root.is_plain and not _is_there(root, mounts)
    ]
    if len(found.folders) > MOST:
        said.append(f"more than {MOST} cgroups match: the others are left out")
    said += [f"cgroup folder {path!a} has no printable name" for path in found.odd]
    said += [f"cgroup folder {path} cannot be read" for path in found.denied]
    return tuple(sorted(said)[:20])


def _is_there(root: Root, mounts: list[Mount]) -> bool:
    return any(Path(mount.path, *root.names).is_dir() for mount in mounts)


def _boot(root: Path) -> str:
    try:
        return (root / _BOOT).read_text().strip()
    except OSError:
        return ""


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
