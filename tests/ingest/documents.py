"""Probe documents to describe: small ones, and one with something of every source."""

import subprocess
from typing import Any

from ingest.description import Description, describe
from ingest.hwloc.read import parse_hwloc
from ingest.schema.check import check_document
from ontology.iris import Iris

IRIS = Iris("http://localhost:8000")


def synthetic(text: str) -> bytes:
    """hwloc's XML of a made-up machine."""
    return subprocess.run(
        ["lstopo-no-graphics", "--input", text, "--of", "xml"],
        capture_output=True,
        check=True,
    ).stdout


def document(facts: dict[str, Any], host: str = "n1") -> dict[str, Any]:
    """A document in which some sources succeeded and lshw failed."""
    return {
        "format": "supertwin-probe/1",
        "host": host,
        "started": "2026-11-21T00:00:00Z",
        "ended": "2026-11-21T00:00:02Z",
        "sources": {
            "hwloc": {"ok": True, "seconds": 0.1, "reason": None},
            "lshw": {"ok": False, "seconds": 0.0, "reason": "lshw is not installed"},
        },
        "facts": facts,
    }


def describe_json(
    document: dict[str, Any], iris: Iris, *more: Any, **named: Any
) -> Description:
    """Describe a document that is still JSON."""
    return describe(check_document(document), iris, *more, **named)


PCP: dict[str, Any] = {
    "metrics": [
        {
            "name": "kernel.percpu.cpu.user",
            "pmid": "60.0.0",
            "type": "u64",
            "semantics": "counter",
            "units": "millisec",
            "indom": "60.0",
            "help": "percpu user CPU time",
        },
        {
            "name": "mem.util.free",
            "pmid": "60.1.4",
            "type": "u64",
            "semantics": "instant",
            "units": "Kbyte",
            "indom": None,
            "help": "free memory",
        },
        {
            "name": "proc.psinfo.rss",
            "pmid": "3.8.22",
            "type": "u32",
            "semantics": "instant",
            "units": "Kbyte",
            "indom": "3.9",
            "help": "resident set size",
        },
    ],
    "indoms": {
        "60.0": {"stored": True, "count": 2, "instances": [["cpu0", 0], ["cpu1", 1]]},
        "3.9": {"stored": False, "count": 300, "instances": []},
    },
    "pmdas": {"60": "linux", "3": "proc"},
}


PCI: dict[str, Any] = {
    "busid": "0000:00:02.0",
    "class_id": "0300",
    "vendor_id": "10de",
    "device_id": "2330",
    "link_speed": 1,
    "bridge": False,
    "parent": None,
    "threads": [0, 1],
    "os_devices": [{"name": "card0", "kinds": ["gpu"], "threads": [0, 1]}],
}
SETUP: dict[str, Any] = {
    "cache_sets": [{"level": 2, "type": "unified", "threads": [0, 1], "sets": 64}],
    "tlbs": {
        "core_type": None,
        "tlbs": [
            {
                "level": 1,
                "type": "data",
                "page_sizes": [4096],
                "entries": 64,
                "ways": None,
                "fully": True,
            }
        ],
    },
    "smart": [{"device": "vda", "healthy": True, "wear": 3}],
    "memory_banks": [{"slot": "B", "empty": False, "size": 4096, "type": "DDR5"}],
    "cpu_state": {
        "lists": {"online": [0, 1], "offline": [], "isolated": [1]},
        "smt": {"active": False, "control": "off"},
        "scaling": None,
    },
    "memory": {
        "numa": [{"os_index": 0, "memory": 4096, "threads": [0], "huge_pages": []}],
        "huge_pages": [{"size": 2097152, "count": 0}],
        "default_huge_page": 2097152,
        "transparent_huge_pages": "madvise",
        "swap": [],
    },
    "cgroups": {
        "layout": "v2",
        "hierarchies": [
            {"path": "/sys/fs/cgroup", "version": 2, "name": None, "controllers": []}
        ],
    },
    "kernel_options": ["quiet"],
}


def whole() -> dict[str, Any]:
    """A document with something of every source."""
    parts = {"vendor": "V", "model": "M", "serial": "S1"}
    cpu = {"vendor": "V", "family": "6", "model": "1", "name": "x", "flags": ["a"]}
    event = {"name": "E", "description": "", "code": "0x1"}
    return document(
        {
            "hwloc": {
                **parse_hwloc(synthetic("pack:1 numa:2 l3:1 l2:2 group:2 core:1 pu:2")),
                "pci": [PCI],
            },
            **SETUP,
            "pcp": PCP,
            "disks": [{"name": "vda", "size": 1, "rotational": False}],
            "nics": [{"name": "eth0", "speed": None, "up": True, "virtual": False}],
            "lshw": {
                "memory_banks": [{"slot": "A", "size": 1, "clock": None}],
                "disks": [{"name": "vda", "model": "x"}],
                "nics": [{"name": "eth0", "firmware": None}],
            },
            "os": {"kernel": "6.1", "machine_id": "3d1219", "memory": 1},
            "board": {"board": parts, "system": parts, "bios": {"date": "today"}},
            "cpu": {"sockets": {"0": cpu}},
            "clocks": {"0": {"base": 1, "min": None, "max": 3, "governor": "g"}},
            "numa_distances": [{"from": 0, "to": 1, "value": 21}],
            "event_sources": ["cpu", "software"],
            "perf": {
                "events": {"msr": ["tsc"], "software": []},
                "paranoid": 2,
                "watchdog": False,
            },
            "pfm": {
                "pmus": [
                    {
                        "name": "p",
                        "description": "P",
                        "type": "core",
                        "counters": 4,
                        "fixed_counters": 0,
                        "events": [{**event, "umasks": [{**event, "name": "U"}]}],
                    }
                ]
            },
        }
    )
