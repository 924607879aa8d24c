"""Finds control groups when they are created and removed, and keeps a list of them."""

import json
import logging
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
from core.linux.cgroups.roots import CgroupRoot, find_groups
from core.linux.files import read_json, write_whole
from sampler_bridge.sources.cgroup.activity import CgroupActivity
from sampler_bridge.sources.cgroup.hidden import Folders, with_hidden
from sampler_bridge.sources.cgroup.inotify import FolderWatch
from sampler_bridge.sources.cgroup.problems import problems_of
from sampler_bridge.sources.cgroup.reader import available_metrics
from sampler_bridge.worker import Worker

_LOG = logging.getLogger(__name__)

# Between two scans while no group runs, and otherwise.
_IDLE_SECONDS, _SCAN_SECONDS = 5.0, 1.0
# The limits of a group are written soon after its creation, and seldom change later.
_YOUNG_MS, _REREAD_MS = 5_000, 20_000
# Scans take at most a twentieth of the time, however often `running` is called, but a
# slow scan delays the next one by at most a second.
_SHARE = 20
_SHORTEST_PAUSE = 0.02
# Time for scans after inotify events, which is saved up while there are none. Therefore
# a group that lives for 0.2 s is noticed, and a thousand of them cause no more scans.
_MOST_BUDGET_SECONDS = 0.5
MOST = 4096
_BOOT = Path("proc/sys/kernel/random/boot_id")


class CgroupWatch(Worker):
    """Watches the groups below some roots, and keeps a list of them in ``state``.

    The list includes the last ``keep`` groups that ended. ``root`` is the folder that
    contains proc and the mounts.
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
        self._activity = CgroupActivity()
        self._mounts: list[Mount] | None = None
        boot = _boot(root)
        ledger = _read_list(self._path) or Ledger(boot, {})
        self._ledger = ledger.at(_now_ms(), boot)
        self._groups: dict[str, Cgroup] = {}
        self._described_at: dict[str, int] = {}
        self._searched: set[str] = set()
        self._next_scan = self._next_idle_scan = 0.0
        self._is_overdue = False  # something changed, but a scan was put off
        self._written: Ledger | None = None
        self._reported: set[str] = set()

    @property
    def problems(self) -> tuple[str, ...]:
        """What is not watched, and why."""
        return tuple(self._ledger.problems)

    def running(self) -> Mapping[str, Cgroup]:
        """The groups that run now, by path; scans only as often as _SHARE allows."""
        with self._lock:
            began = time.monotonic()
            if began >= (self._next_idle_scan if self._is_idle else self._next_scan):
                took = self._timed_scan(began)
                pause = max(_SHORTEST_PAUSE, min(_SHARE * took, _SCAN_SECONDS))
                self._next_scan = began + pause
            return self._groups

    @property
    def _is_idle(self) -> bool:
        """Whether no group runs, and the thread notices at once if one is created."""
        problem = self._folders.problem or self._ledger.problems
        return self.alive and not (self._groups or self._is_overdue or problem)

    def _scan_within_budget(self) -> None:
        """Scan, even soon after the last scan, if saved time is left."""
        with self._lock:
            now = time.monotonic()
            more = (now - self._budget_at) / _SHARE
            self._budget = min(self._budget + more, _MOST_BUDGET_SECONDS)
            self._budget_at = now
            self._is_overdue = True
            if self._budget > 0:
                self._budget -= self._timed_scan(now)

    def _timed_scan(self, began: float) -> float:
        self._next_idle_scan, self._is_overdue = began + _IDLE_SECONDS, False
        self._scan()
        return time.monotonic() - began

    def stop(self, seconds: float) -> None:
        """End within ``seconds``; running groups stay in the list as running."""
        self._stopping = True
        self._folders.wake()
        self._join(seconds)

    def _work(self) -> None:
        while not self._stopping:
            self.running()
            # Another scan finds groups created before their parent folder was watched.
            while self._watch_folders() and not self._stopping:
                self._scan_within_budget()
            self._describe()
            self._write()
            self._wait()
        self._folders.close()

    def _watch_folders(self) -> bool:
        with self._lock:
            folders, files = self._searched, self._activity.files(self._groups)
        return self._folders.watch(folders, files)

    def _wait(self) -> None:
        """Wait until a scan is due or folders change; scan in the second case."""
        until = time.monotonic() + (_IDLE_SECONDS if self._is_idle else _SCAN_SECONDS)
        while True:
            has_changed = self._folders.wait(max(until - time.monotonic(), 0.0))
            written = self._folders.take_written()
            with self._lock:
                self._activity.read(written, _now_ms())
            if has_changed:
                self._scan_within_budget()
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
        self._report((*problems_of(found, self._roots, mounts, MOST), *unwatched))
        self._update(with_hidden(found, self._numbers()), mounts)

    def _numbers(self) -> dict[str, Mapping[str, int]]:
        """The known folder numbers of running groups, by path."""
        numbers = {path: life.numbers for path, life in self._ledger.running.items()}
        return numbers | {path: one.numbers for path, one in self._groups.items()}

    def _update(self, folders: Folders, mounts: Sequence[Mount]) -> None:
        """End groups that are gone, add new ones, and continue the others."""
        groups = self._select(folders, mounts)
        if self._is_unchanged(groups):
            return
        now = _now_ms()
        running, ended = dict(self._ledger.running), list(self._ledger.ended)
        for path, life in self._ledger.running.items():
            if path not in groups or not life.is_of(groups[path]):
                end = self._activity.end(path, now)
                ended.append(replace(running.pop(path), ended=end))
                self._described_at.pop(path, None)
        for path, group in groups.items():
            running[path] = _continued(running.get(path), group, now)
        kept = ended[-self._keep :] if self._keep else []
        self._ledger = replace(self._ledger, running=running, ended=kept)
        self._groups = groups
        self._folders.wake()

    def _is_unchanged(self, groups: Mapping[str, Cgroup]) -> bool:
        known = self._groups
        return groups.keys() == known.keys() == self._ledger.running.keys() and all(
            group.numbers == known[path].numbers for path, group in groups.items()
        )

    def _select(self, folders: Folders, mounts: Sequence[Mount]) -> dict[str, Cgroup]:
        """The groups to watch; if there are too many, known groups come first."""
        known = [path for path in folders if path in self._ledger.running]
        new = [path for path in folders if path not in self._ledger.running]
        groups: dict[str, Cgroup] = {}
        for path in (known + new)[:MOST]:
            numbers, old = folders[path], self._groups.get(path)
            is_same = old is not None and old.numbers == numbers
            groups[path] = old if old and is_same else make_group(path, numbers, mounts)
        return groups

    def _describe(self) -> None:
        """Read the limits and metrics of groups again if they are due.

        Reading takes long, so it does not hold the lock.
        """
        now = _now_ms()
        with self._lock:
            running, groups = dict(self._ledger.running), self._groups
        known = {}
        for path, group in groups.items():
            if not self._is_due(life := running[path], now):
                continue
            allowed, metrics = read_allowed(group), available_metrics(group)
            if metrics:  # otherwise the group has ended
                known[path] = replace(life, allowed=allowed, metrics=metrics)
        with self._lock:
            self._described_at |= dict.fromkeys(known, now)
            self._add_descriptions(known.values())

    def _add_descriptions(self, lives: Iterable[CgroupLife]) -> None:
        """Add what was read about groups, if they are still the same."""
        running = dict(self._ledger.running)
        for life in lives:
            now = running.get(life.path)
            # The group may have gained folders while it was read.
            if now and now.began == life.began:
                known = replace(now, allowed=life.allowed, metrics=life.metrics)
                running[life.path] = known
        if running != self._ledger.running:
            self._ledger = replace(self._ledger, running=running)

    def _is_due(self, life: CgroupLife, now_ms: int) -> bool:
        young = now_ms - life.began < _YOUNG_MS
        return young or now_ms - self._described_at.get(life.path, 0) >= _REREAD_MS

    def _report(self, problems: tuple[str, ...]) -> None:
        """Log each new problem, and write the problems into the list."""
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
            _LOG.debug("the list of cgroups was not written: %s", error.strerror)
        else:
            self._written = ledger

    def _read_mounts(self) -> list[Mount]:
        if not self._roots:
            return []
        return telling_mounts(read_mounts(self._root), self._root)


def _read_list(path: Path) -> Ledger | None:
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
    # Folders of a group disappear one after another: keep those that were known.
    versions = tuple(sorted({*life.versions, *group.versions}))
    return replace(life, versions=versions, numbers={**life.numbers, **group.numbers})


def _boot(root: Path) -> str:
    try:
        return (root / _BOOT).read_text().strip()
    except OSError:
        return ""


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
