"""Probes that are added and removed, and how they are checked before."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sampling.probes.binary import find_target, identity_of
from sampling.probes.definition import (
    MOST,
    PROBES_FILE,
    CodeProbe,
    Target,
    read_probes,
    save_probes,
)
from sampling.probes.errors import NoSuchProbeError, ProbeError, ProbeExistsError


def probes_file(home: Path) -> Path:
    """The file that lists the probes, below the folder of the state."""
    return home / "bridge" / PROBES_FILE


def checked(probe: CodeProbe) -> tuple[CodeProbe, list[str]]:
    """The probe with its places in the binary, and warnings.

    Raises ProbeTargetError and ProbeArgumentError.
    """
    if not probe.begin.binary:
        return probe, []
    path = os.path.realpath(probe.begin.binary)
    probe = replace(probe, begin=replace(probe.begin, binary=path))
    begin = find_target(probe.begin, int(probe.argument or 0))
    warnings = _warnings(probe.begin, begin.partly_inlined)
    if begin.untyped:
        warnings.append(
            f"no DWARF describes {probe.begin.name}: integer {probe.argument} of its "
            "arguments is taken to have 64 bits"
        )
    found = replace(probe, begins=begin.places, build_id=identity_of(path))
    if not probe.end:
        return found, warnings
    last = replace(probe.end, binary=path)
    end = find_target(last)
    warnings += _warnings(last, end.partly_inlined)
    return replace(found, end=last, ends=end.places), warnings


def _warnings(target: Target, partly_inlined: bool) -> list[str]:
    if not partly_inlined:
        return []
    return [f"some calls of {target.name} were inlined: they are not counted"]


def check_name(home: Path, name: str, change: bool) -> None:
    """Raise ProbeExistsError, or with ``change`` NoSuchProbeError, for a name."""
    known = read_probes(probes_file(home))
    if change:
        _known(known, name)
    elif name in known:
        raise ProbeExistsError(
            f"there is a probe {name}, on {known[name].begin}: use another name, "
            "remove it, or give --change"
        )
    elif len(known) >= MOST:
        raise ProbeError(f"{MOST} probes are the most: remove one first")


def save(home: Path, probe: CodeProbe, change: bool) -> None:
    """Add a probe to the file, or replace the one of its name; the bridge follows."""
    with _locked(home) as path:
        check_name(home, probe.name, change)
        save_probes(path, {**read_probes(path), probe.name: probe})


def remove(home: Path, name: str) -> CodeProbe:
    """Remove a probe from the file; raises NoSuchProbeError."""
    with _locked(home) as path:
        known = read_probes(path)
        gone = _known(known, name)
        save_probes(path, {k: v for k, v in known.items() if k != name})
    return gone


def _known(known: dict[str, CodeProbe], name: str) -> CodeProbe:
    if name not in known:
        raise NoSuchProbeError(
            f"no probe has the name {name[:64]!r}: `supertwin probes list` lists them"
        )
    return known[name]


@contextmanager
def _locked(home: Path) -> Iterator[Path]:
    """The file, which no other command changes meanwhile."""
    path = probes_file(home)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with path.with_name(f"{PROBES_FILE}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield path
