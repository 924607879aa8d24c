"""The facts of a made-up machine of 128 threads, in the format of a probe."""

import subprocess
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from ingest.hwloc.read import parse_hwloc
from ingest.probe import hwloc_document
from sampling.plan_file.monitor import load_monitor

# 2 sockets × 4 NUMA domains × 2 L3 × 4 cores × 2 threads = 128 threads; the second
# thread of each core is numbered after the first ones of all, as Linux does.
BIG = "pack:2 numa:4 l3:2 l2:4 l1d:1 l1i:1 core:1 pu:2(indexes=2*64:1*2)"
# In PCP's order: threads first, then other domains.
THREADS, DISKS, LOADS, NICS, DOMAINS, RAPL = (
    *("60.0", "60.1", "60.2", "60.3", "60.19"),
    "156.0",
)
_SENSORS = [
    f"lmsensors.coretemp-isa-000{socket}.{sensor}"
    for socket in range(2)
    for sensor in ("package_id", *(f"core_{number}" for number in range(4)))
]
_FOUND = {
    "lmsensors.*": [*_SENSORS, "lmsensors.nct6779-isa-0290.fan1"],
    "denki.rapl.*": ["denki.rapl.raw", "denki.rapl.rate"],
}
# PCP before 6 has these; later they are instances of a product.
_GONE = {"kernel.percpu.interrupts.PMI", "kernel.percpu.interrupts.TRM"}


class _Kind(NamedTuple):
    pattern: str
    semantics: str
    units: str
    domain: str | None
    type: str = "u64"


# The first matching pattern gives the properties of a metric.
_KINDS = [
    _Kind("kernel.all.load", "instant", "", LOADS, "float"),
    _Kind("kernel.all.cpu.*", "counter", "millisec", None),
    _Kind("kernel.all.pressure.*", "counter", "microsec", None),
    _Kind("kernel.all.nprocs", "instant", "", None, "u32"),
    _Kind("kernel.all.runnable", "instant", "", None, "u32"),
    _Kind("kernel.all.blocked", "instant", "", None, "u32"),
    _Kind("kernel.percpu.cpu.*", "counter", "millisec", THREADS),
    _Kind("kernel.percpu.*", "counter", "count", THREADS),
    _Kind("hinv.cpu.thermal_throttle.*", "counter", "count", THREADS),
    _Kind("mem.util.*", "instant", "Kbyte", None),
    _Kind("mem.numa.util.hugepages*", "instant", "count", DOMAINS),
    _Kind("mem.numa.util.*", "instant", "Kbyte", DOMAINS),
    _Kind("mem.numa.alloc.*", "counter", "count", DOMAINS),
    _Kind("network.interface.*.bytes", "counter", "byte", NICS),
    _Kind("network.interface.*", "counter", "count", NICS),
    _Kind("disk.dev.*_bytes", "counter", "Kbyte", DISKS),
    _Kind("disk.dev.avactive", "counter", "millisec", DISKS, "u32"),
    _Kind("disk.dev.inflight", "instant", "count", DISKS, "u32"),
    _Kind("disk.dev.*", "counter", "count", DISKS),
    _Kind("lmsensors.*", "instant", "", None, "float"),
    _Kind("denki.rapl.raw", "counter", "", RAPL),
    _Kind("denki.rapl.*", "instant", "", RAPL, "double"),
    _Kind("*", "counter", "count", None),
]


def topology(text: str = BIG) -> bytes:
    """The XML of a synthetic machine, as ``lstopo --input TEXT`` makes it."""
    return subprocess.run(
        ["lstopo-no-graphics", "--input", text, "--of", "xml"],
        capture_output=True,
        check=True,
    ).stdout


def big_document(host: str, xml: bytes) -> dict[str, Any]:
    """The document of a whole probe of this topology, with PCP and devices."""
    document = hwloc_document(host, parse_hwloc(xml))
    hwloc = document["facts"]["hwloc"]
    facts = {
        "hwloc": hwloc,
        "pcp": _pcp(len(hwloc["threads"]), len(hwloc["numa"])),
        "os": _OS,
        "cpu": {
            "sockets": {str(s["os_index"]): _CPU for s in hwloc["sockets"]},
        },
        "disks": [_disk("nvme0n1"), _disk("nvme1n1")],
        "nics": [_nic("eth0", virtual=False), _nic("lo", virtual=True)],
    }
    outcome = {"ok": True, "seconds": 0.0, "reason": None}
    return {**document, "facts": facts, "sources": dict.fromkeys(facts, outcome)}


def scaled_document(document: Mapping[str, Any], xml: bytes) -> dict[str, Any]:
    """A probe's facts with another topology, and instance domains that match it."""
    host = document["host"]
    hwloc = hwloc_document(host, parse_hwloc(xml))["facts"]["hwloc"]
    pcp = dict(document["facts"]["pcp"])
    for prefix, count in (
        ("cpu", len(hwloc["threads"])),
        ("node", len(hwloc["numa"])),
    ):
        pcp["indoms"] = {
            domain: (
                entry | {"instances": _numbered(prefix, count)}
                if [f"{prefix}0", 0] in [list(x) for x in entry["instances"]]
                else entry
            )
            for domain, entry in pcp["indoms"].items()
        }
    facts = {
        k: v for k, v in document["facts"].items() if k not in ("cpu", "os", "board")
    }
    return {**document, "facts": {**facts, "hwloc": hwloc, "pcp": pcp}}


def _pcp(threads: int, domains: int) -> dict[str, Any]:
    instances = {
        THREADS: _numbered("cpu", threads),
        DISKS: [["nvme0n1", 0], ["nvme1n1", 1]],
        LOADS: [["1 minute", 1], ["5 minute", 5], ["15 minute", 15]],
        NICS: [["eth0", 0], ["lo", 1]],
        DOMAINS: _numbered("node", domains),
        RAPL: [["0-package-0", 0], ["1-package-1", 1]],
    }
    return {
        "address": "local:",
        "version": "6.0.3",
        "metrics": [_metric(*each) for each in enumerate(_names())],
        "indoms": {
            domain: {"instances": found, "count": len(found), "stored": True}
            for domain, found in instances.items()
        },
        "pmdas": {"60": "linux"},
        "errors": {},
    }


def _names() -> Iterable[str]:
    for name in load_monitor():
        if name not in _GONE:
            yield from _FOUND.get(name, [name])


def _metric(number: int, name: str) -> dict[str, Any]:
    kind = next(kind for kind in _KINDS if fnmatchcase(name, kind.pattern))
    return {
        "name": name,
        "pmid": f"60.0.{number}",
        "type": kind.type,
        "semantics": kind.semantics,
        "units": kind.units,
        "indom": kind.domain,
        "help": None,
    }


def _numbered(prefix: str, count: int) -> list[list[Any]]:
    return [[f"{prefix}{number}", number] for number in range(count)]


_OS = {
    "hostname": "big",
    "os_name": "Debian GNU/Linux 12 (bookworm)",
    "kernel": "6.1.0-32-amd64",
    "architecture": "x86_64",
    "boot_id": "00000000-0000-0000-0000-000000000000",
    "machine_id": "0123456789abcdef0123456789abcdef",
    "memory": 512 * 2**30,
}
_CPU = {
    "vendor": "GenuineIntel",
    "family": "6",
    "model": "143",
    "stepping": "8",
    "name": "Made-up CPU of 64 threads",
    "microcode": "0x2b0004d0",
    "flags": ["avx512f"],
}


def _disk(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "size": 3_840_755_982_336,
        "rotational": False,
        "model": "Made-up NVMe",
        "serial": f"serial of {name}",
        "vendor": None,
    }


def _nic(name: str, virtual: bool) -> dict[str, Any]:
    return {
        "name": name,
        "mac": None if virtual else "02:00:00:00:00:01",
        "speed": None if virtual else 25_000_000_000,
        "up": True,
        "virtual": virtual,
        "driver": None if virtual else "mlx5_core",
        "ipv4": "127.0.0.1" if virtual else "192.0.2.1",
        "businfo": None,
    }
