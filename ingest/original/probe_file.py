"""Read probe files of the original SuperTwin (sparcityeu/Digital-SuperTwin).

Pure. The events in a file are libpfm4's and its metrics are only names. Both stay in
the document below ``original``, since our own catalogues describe them.
"""

import json
from collections.abc import Iterator
from typing import Any

from ingest.gaps import report_gap
from ingest.original.tlbs import tlbs
from ingest.original.topology import topology
from ingest.original.values import (
    bytes_in,
    count,
    entries,
    hertz,
    malformed,
    member,
    size,
    speed,
    text,
    whole,
)

_HERE = "the file"
# Keys that all of the original's files have, and no others.
MARKS = ("affinity", "PMUs", "metrics_avail")
_TYPES = {"core PMU": "core", "uncore PMU": "uncore", "OS generic PMU": "os"}


def parse_original(content: bytes) -> dict[str, Any]:
    """Parse the facts in a file, by source as in one of our probes.

    Sources: os, board, cpu, hwloc, clocks, disks, nics, lshw, pfm, tlbs if there are
    any, and original. The last holds what no other source has: events and metrics by
    name and, below ``disagreements``, contradictions within the file. Values that
    cannot be described are reported as gaps. Raises ProbeDocumentError.
    """
    file = _object(content)
    threads, found = topology(file), tlbs(member(file, _HERE, "cpu", "tlb"))
    _report_gpus(file)
    return {
        "os": _system(file),
        "board": _board(file),
        "cpu": _cpu(file, threads),
        "hwloc": threads,
        "clocks": _clocks(file, threads),
        "disks": list(_disks(file)),
        "nics": list(_nics(file)),
        "lshw": _lshw(file),
        "pfm": {"pmus": list(_pmus(file))},
        **({"tlbs": {"core_type": None, "tlbs": found}} if found else {}),
        "original": {
            "metrics": _metrics(file),
            "events": {name: _events(pmu) for name, pmu in _models(file).items()},
            "gpus": member(file, _HERE, "gpus") or {},
            "disagreements": list(disagreements(file, threads)),
        },
    }


def _object(content: bytes) -> dict[str, Any]:
    try:
        file = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise malformed("the file", f"valid JSON ({error})") from None
    if not isinstance(file, dict) or not all(mark in file for mark in MARKS):
        raise malformed("the file", "an object with affinity, PMUs and metrics_avail")
    return file


def _system(file: dict[str, Any]) -> dict[str, Any]:
    return {
        "hostname": text(file, _HERE, "hostname"),
        "os_name": text(file, _HERE, "os"),
        "kernel": text(file, _HERE, "system", "kernel", "version"),
        "architecture": text(file, _HERE, "arch"),
    }


def _board(file: dict[str, Any]) -> dict[str, Any]:
    board = ("system", "motherboard")
    bios = ("system", "bios")
    return {
        "board": {
            "vendor": text(file, _HERE, *board, "vendor"),
            "model": text(file, _HERE, *board, "name"),
        },
        "system": {"uuid": text(file, _HERE, "uuid")},
        "bios": {key: text(file, _HERE, *bios, key) for key in _BIOS},
    }


_BIOS = ("vendor", "version", "date")


def _cpu(file: dict[str, Any], threads: dict[str, Any]) -> dict[str, Any]:
    """Assume that all sockets are alike, as the original does."""
    model = {
        "name": text(file, _HERE, "cpu", "specs", "model"),
        "flags": (text(file, _HERE, "cpu", "specs", "flags") or "").split() or None,
    }
    return {"sockets": {str(s["os_index"]): model for s in threads["sockets"]}}


def _clocks(file: dict[str, Any], threads: dict[str, Any]) -> dict[str, Any]:
    specs = entries(file, _HERE, "cpu", "specs")
    clock = {
        end: hertz(specs.get(f"{end}_mhz"), f"{_HERE}.cpu.specs.{end}_mhz")
        for end in ("min", "max")
    }
    return {str(t["os_index"]): clock for t in threads["threads"]}


def _disks(file: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield disks with a size: lshw named some NVMe disks after a sensor."""
    for name, disk in entries(file, _HERE, "disk").items():
        if name == "no_disks":
            continue
        place = f"{_HERE}.disk.{name[:40]}"
        stated, model = member(disk, place, "size"), text(disk, place, "model")
        if bytes_ := bytes_in(stated):
            yield {"name": name, "size": bytes_, "model": model}
        else:
            expected = "a size, so the disk is left out"
            report_gap(f"{place}.size ({model})", stated, expected)


def _nics(file: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Read network interfaces; a virtual one has "virtual" in place of each fact."""
    for name, nic in entries(file, _HERE, "network").items():
        place = f"{_HERE}.network.{name[:40]}"
        facts = {key: text(nic, place, key) for key in _NIC}
        virtual = facts["virtual"] == "yes"
        known = {k: None if v == "virtual" else v for k, v in facts.items()}
        yield {
            "name": name,
            "mac": known["serial"],
            "speed": speed(known["speed"], f"{place}.speed"),
            "up": _is_up(known["link"], place),
            "virtual": virtual,
            "ipv4": known["ipv4"],
            "businfo": known["businfo"],
            "vendor": known["vendor"],
            "model": known["model"],
            "firmware": known["firmware"],
        }


_NIC = (
    "serial",
    "speed",
    "link",
    "virtual",
    "ipv4",
    "businfo",
    "vendor",
    "model",
    "firmware",
)


def _is_up(word: str | None, place: str) -> bool | None:
    if word not in (None, "yes", "no"):
        report_gap(f"{place}.link", word, "yes or no")
    return {"yes": True, "no": False}.get(word or "")


def _report_gpus(file: dict[str, Any]) -> None:
    """Report likwid's GPUs as gaps: they lack the PCI address that identifies a GPU."""
    for name in entries(file, _HERE, "gpus"):
        report_gap(f"{_HERE}.gpus", name, "a GPU with a PCI address")


def _lshw(file: dict[str, Any]) -> dict[str, Any]:
    banks = entries(file, _HERE, "memory", "banks")
    return {
        "memory": size(
            member(file, _HERE, "memory", "total", "size"), f"{_HERE}.memory.total.size"
        ),
        "memory_banks": [_bank(name, bank) for name, bank in banks.items()],
        "disks": [],
        "nics": [],
    }


def _bank(name: str, bank: Any) -> dict[str, Any]:
    place = f"{_HERE}.memory.banks.{name[:40]}"
    return {
        "slot": text(bank, place, "slot") or name,
        "size": size(member(bank, place, "size"), f"{place}.size"),
        "clock": count(member(bank, place, "clock"), f"{place}.clock") or None,
        "description": text(bank, place, "description"),
        "vendor": text(bank, place, "vendor"),
        "model": text(bank, place, "model"),
    }


def _models(file: dict[str, Any]) -> dict[str, Any]:
    return entries(file, _HERE, "PMUs")


def _pmus(file: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, pmu in _models(file).items():
        place = f"{_HERE}.PMUs.{name[:40]}"
        features = entries(pmu, place, "features")
        yield {
            "name": name,
            "description": text(features, place, "name"),
            "type": _pmu_type(text(features, place, "type"), place),
            "counters": count(features.get("counters"), f"{place}.counters"),
            "fixed_counters": None,
            "max_encoding": count(features.get("max_encoding"), f"{place}.max_encoding")
            or None,
            "event_count": count(features.get("no_events"), f"{place}.no_events"),
            "events": [],
        }


def _pmu_type(word: str | None, place: str) -> str | None:
    if word and word not in _TYPES:
        report_gap(f"{place}.type", word, f"one of {', '.join(_TYPES)}")
    return _TYPES.get(word or "")


def _events(pmu: Any) -> list[list[str]]:
    """Name and description of each event; unit masks follow a colon."""
    found = pmu.get("events") if isinstance(pmu, dict) else None
    return [
        [str(word) for word in event[:2]]
        for event in (found if isinstance(found, list) else [])
        if isinstance(event, list) and len(event) == 2
    ]


def _metrics(file: dict[str, Any]) -> list[str]:
    names = file["metrics_avail"]
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise malformed(f"{_HERE}.metrics_avail", "a list of names")
    return names


def disagreements(file: dict[str, Any], threads: dict[str, Any]) -> Iterator[str]:
    """Find counts in the file that differ from the number of listed items."""
    specs = entries(file, _HERE, "cpu", "specs")
    disks = entries(file, _HERE, "disk")
    sockets = [held for held in threads["sockets"] if held["threads"]]
    first = sockets[0]["threads"]
    cores = [c for c in threads["cores"] if c["threads"] and c["threads"][0] in first]
    banks = entries(file, _HERE, "memory", "banks")
    counts = (
        ("sockets", specs.get("sockets"), len(sockets)),
        ("cores of a socket", specs.get("cores"), len(cores)),
        ("threads of a socket", specs.get("threads"), len(first)),
        ("threads of a core", specs.get("threads_per_core"), len(cores[0]["threads"])),
        ("disks", disks.get("no_disks"), len(disks.keys() - {"no_disks"})),
        ("memory banks", member(file, _HERE, "memory", "total", "banks"), len(banks)),
    )
    for name, counted, found in counts:
        if whole(counted) is not None and whole(counted) != found:
            yield f"{name}: {counted} counted, {found} listed"
