"""Notices control groups that come and go, and keeps a list of them."""

import errno
import json
import logging
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock

from core.linux.cgroups.errors import CgroupError
from core.linux.cgroups.groups import (
    Cgroup,
    Mount,
    make_group,
    read_allowed,
    telling_mounts,
)
from core.linux.cgroups.ledger import (
    LEDGER_FILE,
    CgroupLife,
    Ledger,
    read_ledger,
    to_document,
)
from core.linux.cgroups.mounts import read_mounts
from core.linux.cgroups.roots import CgroupRoot, RootMatches, find_groups
from core.linux.files import read_json, write_whole
from sampler_bridge.sources.cgroup.hidden import Folders, with_hidden
from sampler_bridge.sources.cgroup.inotify import FolderWatch
from sampler_bridge.sources.cgroup.reader import given
from sampler_bridge.sources.cgroup.uses import CgroupActivity
from sampler_bridge.worker import Worker

_LOG = logging.getLogger(__name__)

_CALM_SECONDS, _LOOK_SECONDS = 5.0, 1.0  # between scans while no group runs; otherwise
# The limits of a group are written after its creation, and seldom change later.
_YOUNG_MS, _SELDOM_MS = 5_000, 20_000
# Scans take at most a twentieth of the time, however often `look` is called, but a slow
# scan delays the next one by at most a second.
_SHARE = 20
_SHORTEST_SECONDS = 0.02
# Time for scans that inotify events cause, saved up while there are none: a group that
# lives for 0.2 s is noticed, and a thousand that come and go cost no more.
_MOST_BUDGET_SECONDS = 0.5
MOST = 4096
_FIXES = {
    errno.EACCES: "let the bridge's account read it",
    errno.EPERM: "let the bridge's account read it",
    errno.EMFILE: "raise the bridge's limit of open files (ulimit -n)",
    errno.ENFILE: "raise the system's limit of open files (fs.file-max)",
}
_BOOT = Path("proc/sys/kernel/random/boot_id")


class CgroupWatch(Worker):
    """Keeps the groups below some roots: ``look`` gives those that run now.

    Its list is in the state folder and keeps the last ``keep`` ended groups. ``root``
    is the folder that contains proc and the mounts.
    """

    def __init__(
        self,
        roots: tuple[CgroupRoot, ...],
        keep: int,
        state: Path,
        root: Path = Path("/"),
    ) -> None:
        super().__init__("cgroups")
        self._roots = roots
        self._keep = keep
        self._path = state / LEDGER_FILE
        self._root = root
        self._lock = Lock()
        self._stopping = False
        self._folders = FolderWatch()
        self._budget, self._budget_at = _MOST_BUDGET_SECONDS, time.monotonic()
        self._uses = CgroupActivity()
        self._mounts: list[Mount] | None = None
        boot = _boot(root)
        kept = _kept(self._path) or Ledger(boot, {})
        self._ledger = kept.at(_now_ms(), boot)
        self._groups: dict[str, Cgroup] = {}
        self._described_at: dict[str, int] = {}
        self._searched: set[str] = set()
        self._look_after = self._calm_until = 0.0
        self._is_overdue = False  # something changed, but a scan was put off
        self._written: Ledger | None = None
        self._reported: set[str] = set()

    @property
    def problems(self) -> tuple[str, ...]:
        """What is not watched, and why."""
        return tuple(self._ledger.problems)

    def look(self) -> Mapping[str, Cgroup]:
        """The groups that run now, by path; scans are limited, see _SHARE."""
        with self._lock:
            began = time.monotonic()
            if began >= (self._calm_until if self._is_calm else self._look_after):
                took = self._timed_scan(began)
                pause = max(_SHORTEST_SECONDS, min(_SHARE * took, _LOOK_SECONDS))
                self._look_after = began + pause
            return self._groups

    @property
    def _is_calm(self) -> bool:
        """Whether no group runs, and the thread notices at once if one comes."""
        problem = self._folders.problem or self._ledger.problems
        return self.alive and not (self._groups or self._is_overdue or problem)

    def _look_within_budget(self) -> None:
        """Scan although the last scan is recent, as long as saved time remains."""
        with self._lock:
            now = time.monotonic()
            more = (now - self._budget_at) / _SHARE
            self._budget = min(self._budget + more, _MOST_BUDGET_SECONDS)
            self._budget_at = now
            self._is_overdue = True
            if self._budget > 0:
                self._budget -= self._timed_scan(now)

    def _timed_scan(self, began: float) -> float:
        self._calm_until, self._is_overdue = began + _CALM_SECONDS, False
        self._scan()
        return time.monotonic() - began

    def stop(self, seconds: float) -> None:
        """End, within ``seconds``; the next start finds running groups again."""
        self._stopping = True
        self._folders.wake()
        self._thread.join(seconds)

    def _work(self) -> None:
        while not self._stopping:
            self.look()
            # Another scan finds groups that came before their folder was watched.
            while self._watch_folders() and not self._stopping:
                self._look_within_budget()
            self._describe()
            self._write()
            self._wait()
        self._folders.close()

    def _watch_folders(self) -> bool:
        with self._lock:
            folders, files = self._searched, self._uses.files(self._groups)
        return self._folders.watch(folders, files)

    def _wait(self) -> None:
        """Wait until the next scan; a group that becomes used or empty causes none."""
        until = time.monotonic() + (_CALM_SECONDS if self._is_calm else _LOOK_SECONDS)
        while True:
            has_changed = self._folders.wait(max(until - time.monotonic(), 0.0))
            written = self._folders.take_written()
            with self._lock:
                self._uses.read(written, _now_ms())
            if has_changed:
                self._look_within_budget()
            if has_changed or not written or time.monotonic() >= until:
                return

    def _scan(self) -> None:
        """Scan for groups; while the mounts are unknown, leave the list as it is."""
        try:
            if self._mounts is None:
                self._mounts = self._read_mounts()
        except OSError as error:
            self._report((f"cgroups are not watched: {error}",))
            return
        mounts = self._mounts
        found = find_groups([mount.path for mount in mounts], self._roots)
        self._searched = found.looked
        unwatched = (self._folders.problem,) if self._folders.problem else ()
        self._report((*_problems(found, self._roots, mounts), *unwatched))
        self._update(with_hidden(found, self._numbers()), mounts)

    def _numbers(self) -> dict[str, Mapping[str, int]]:
        """The known folder numbers of running groups, by path."""
        numbers = {path: life.numbers for path, life in self._ledger.running.items()}
        return numbers | {path: one.numbers for path, one in self._groups.items()}

    def _update(self, folders: Folders, mounts: Sequence[Mount]) -> None:
        """End groups that are gone, add new ones, and continue the others."""
        groups = self._chosen(folders, mounts)
        if self._is_known(groups):
            return
        now = _now_ms()
        running, ended = dict(self._ledger.running), list(self._ledger.ended)
        for path, life in self._ledger.running.items():
            if path not in groups or not life.is_of(groups[path]):
                end = self._uses.end(path, now)
                ended.append(replace(running.pop(path), ended=end))
                self._described_at.pop(path, None)
        for path, group in groups.items():
            running[path] = _continued(running.get(path), group, now)
        kept = ended[-self._keep :] if self._keep else []
        self._ledger = replace(self._ledger, running=running, ended=kept)
        self._groups = groups
        self._folders.wake()

    def _is_known(self, groups: Mapping[str, Cgroup]) -> bool:
        known = self._groups
        return groups.keys() == known.keys() == self._ledger.running.keys() and all(
            group.numbers == known[path].numbers for path, group in groups.items()
        )

    def _chosen(self, folders: Folders, mounts: Sequence[Mount]) -> dict[str, Cgroup]:
        """The groups to watch; if there are too many, known groups come first."""
        known = [path for path in folders if path in self._ledger.running]
        new = [path for path in folders if path not in self._ledger.running]
        made: dict[str, Cgroup] = {}
        for path in (known + new)[:MOST]:
            numbers, old = folders[path], self._groups.get(path)
            same = old is not None and old.numbers == numbers
            made[path] = old if old and same else make_group(path, numbers, mounts)
        return made

    def _describe(self) -> None:
        """Read the limits and metrics of groups again, of young ones each time.

        This takes a while, so it does not hold the lock.
        """
        now = _now_ms()
        with self._lock:
            running, groups = dict(self._ledger.running), self._groups
        known = {}
        for path, group in groups.items():
            if not self._is_due(life := running[path], now):
                continue
            allowed, metrics = read_allowed(group), given(group)
            if metrics:  # otherwise it has ended meanwhile
                known[path] = replace(life, allowed=allowed, metrics=metrics)
        with self._lock:
            self._described_at |= dict.fromkeys(known, now)
            self._add_descriptions(known.values())

    def _add_descriptions(self, lives: Iterable[CgroupLife]) -> None:
        """Add what was read about groups, if they are still the same."""
        running = dict(self._ledger.running)
        for life in lives:
            now = running.get(life.path)
            # It may have gained folders while it was read.
            if now and now.began == life.began:
                known = replace(now, allowed=life.allowed, metrics=life.metrics)
                running[life.path] = known
        if running != self._ledger.running:
            self._ledger = replace(self._ledger, running=running)

    def _is_due(self, life: CgroupLife, now_ms: int) -> bool:
        young = now_ms - life.began < _YOUNG_MS
        return young or now_ms - self._described_at.get(life.path, 0) >= _SELDOM_MS

    def _report(self, problems: tuple[str, ...]) -> None:
        """Log each problem once, and keep the problems in the list."""
        for problem in problems:
            if problem not in self._reported:
                _LOG.warning("%s", problem)
        self._reported = {*problems}
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
        return telling_mounts(read_mounts(self._root), self._root)


def _kept(path: Path) -> Ledger | None:
    try:
        return read_ledger(read_json(path))
    except FileNotFoundError:
        pass
    except (OSError, ValueError, CgroupError) as error:
        _LOG.warning("%s cannot be read (%s): starting a new list", path, error)
    return None


def _continued(life: CgroupLife | None, group: Cgroup, now_ms: int) -> CgroupLife:
    if life is None:
        return CgroupLife(group.path, now_ms, group.versions, group.numbers)
    # Its folders disappear one after another: keep what is known of it meanwhile.
    versions = tuple(sorted({*life.versions, *group.versions}))
    return replace(life, versions=versions, numbers={**life.numbers, **group.numbers})


def _problems(
    found: RootMatches, roots: tuple[CgroupRoot, ...], mounts: Sequence[Mount]
) -> tuple[str, ...]:
    where = ", ".join(mount.path for mount in mounts) or "anything: none is mounted"
    problems = [
        f"cgroup root {root.text!r} is not below {where}; it is watched for"
        for root in roots
        if root.is_plain and not _is_there(root, mounts, found)
    ]
    if len(found.folders) > MOST:
        problems.append(f"more than {MOST} cgroups match: the others are left out")
    problems += [f"cgroup folder {path!a} has no printable name" for path in found.odd]
    problems += [_unread(path, number) for path, number in found.unread.items()]
    return tuple(sorted(problems)[:20])


def _unread(path: str, number: int) -> str:
    fix = _FIXES.get(number, "free what the system lacks")
    return (
        f"cgroup folder {path} cannot be read ({os.strerror(number)}), so the groups "
        f"below it count as running: {fix}"
    )


def _is_there(root: CgroupRoot, mounts: Sequence[Mount], found: RootMatches) -> bool:
    folders = ["/".join((mount.path, *root.names)) for mount in mounts]
    return any(found.may_hide(one) or Path(one).is_dir() for one in folders)


def _boot(root: Path) -> str:
    try:
        return (root / _BOOT).read_text().strip()
    except OSError:
        return ""


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
