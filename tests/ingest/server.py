"""A made-up server of two sockets for which every source has facts."""

from typing import Any

from ingest.hwloc.read import parse_hwloc
from tests.ingest.documents import document, synthetic

SOURCES = ("hwloc", "os", "board", "cpu", "lshw", "disks", "smart", "memory_banks")
SOURCES += ("memory", "cache_sets", "gpus", "tlbs", "cpu_state", "cgroups", "nics")
SOURCES += ("kernel_options", "pcp")
GIB = 1 << 30
QUEUE = {
    "scheduler": "mq-deadline",
    "depth": 64,
    "logical_block": 512,
    "physical_block": 4096,
    "read_ahead": 131072,
    "write_cache": True,
    "discards": True,
    "zoned": "none",
}


def bank(slot: str, bank_: str, **facts: Any) -> dict[str, Any]:
    """An occupied memory slot of dmidecode."""
    return {
        "slot": slot,
        "bank": bank_,
        "empty": False,
        "size": 32 * GIB,
        "form_factor": "DIMM",
        "type": "DDR5",
        "technology": "DRAM",
        "speed": 5_600_000_000,
        "configured_speed": 4_800_000_000,
        "vendor": "Samsung",
        "part": "M321R4GA0BB0-CQKZJ",
        "serial": "80CE01",
        "rank": 2,
        "total_width": 80,
        "data_width": 64,
        **facts,
    }


def lshw_bank(slot: str, size: int | None, **facts: Any) -> dict[str, Any]:
    words = "DIMM DDR5 Synchronous Registered (Buffered) 4800 MHz (0.2 ns)"
    return {"slot": slot, "size": size, "description": words, **facts}


def facts() -> dict[str, Any]:
    """The facts of the server's sources; they disagree on six things."""
    topology = parse_hwloc(synthetic("pack:2 numa:1 l3:1 l2:2 l1:1 core:1 pu:2"))
    return {
        "hwloc": topology,
        "os": {"kernel": "6.1.0-28-amd64", "memory": topology_memory(topology)},
        "board": {"bios": {"version": "2.1"}, "board": {"serial": "WM19S002"}},
        "cpu": {
            "sockets": {
                "0": {
                    "name": "AMD EPYC 9654 96-Core Processor",
                    "microcode": "0xa101144",
                    "other_microcode": {"3": "0xa101111"},
                },
                "1": {
                    "name": "AMD EPYC 9654 96-Core Processor",
                    "microcode": "0xa101144",
                },
            }
        },
        "lshw": {
            "bios": {"version": "2.0"},
            "cpus": [{"microcode": "168825156"}, {"microcode": "168825105"}],
            "memory": 96 * GIB,
            "memory_banks": [
                lshw_bank("DIMM 0", 32 * GIB, vendor="Samsung"),
                lshw_bank("DIMM 0", 16 * GIB),
                lshw_bank("DIMM 1", None),
            ],
            "disks": [{"name": "sda", "model": "SAMSUNG MZ7LH480", "serial": "S45"}],
            "nics": [
                {"name": "eno1", "mac": "3C:EC:EF:47:98:6E", "speed": 1_000_000_000}
            ],
        },
        "disks": [
            {
                "name": "sda",
                "size": 480103981056,
                "rotational": False,
                "model": "SAMSUNG MZ7LH480",
                "firmware": "904Q",
                "queue": QUEUE,
            }
        ],
        "smart": [
            {
                "device": "sda",
                "protocol": "ATA",
                "family": "Samsung based SSDs",
                "model": "SAMSUNG MZ7LH480HAHQ-00005",
                "serial": "S45PNA0M123456",
                "firmware": "HXT7904Q",
                "size": 480103981056,
                "form_factor": "2.5 inches",
                "healthy": False,
                "wear": 97,
                "self_test": True,
            }
        ],
        "memory_banks": [
            bank("DIMM 0", "P0 CHANNEL A"),
            bank("DIMM 0", "P0 CHANNEL B", serial="80CE02"),
            {"slot": "DIMM 1", "bank": "P0 CHANNEL A", "empty": True, "size": None},
        ],
        "memory": {
            "numa": [
                {
                    "os_index": index,
                    "memory": domain["memory"] // 2 if index else domain["memory"],
                    "huge_pages": [{"size": GIB, "count": 8 * index}],
                }
                for index, domain in enumerate(topology["numa"])
            ],
            "huge_pages": [{"size": 2 << 20, "count": 0}, {"size": GIB, "count": 8}],
            "default_huge_page": 2 << 20,
            "transparent_huge_pages": "madvise",
            "swap": [
                {"name": "/dev/sda2", "type": "partition", "size": GIB, "priority": -2}
            ],
        },
        "cache_sets": [
            {
                "level": 3,
                "type": "unified",
                "threads": cache["threads"],
                "size": cache["size"] * 2,
            }
            for cache in topology["caches"]
            if cache["level"] == 3
        ],
        "gpus": {
            "driver": "535.129.03",
            "cuda": "12.2",
            "gpus": [
                {
                    "index": 0,
                    "busid": "0000:18:00.0",
                    "name": "NVIDIA H100 80GB HBM3",
                    "architecture": "Hopper",
                    "uuid": "GPU-f124aa59",
                    "serial": "1651023001234",
                    "vbios": "96.00.61.00.01",
                    "memory": 81559 << 20,
                    "power_limit": 700.0,
                    "link_generation": 5,
                    "link_width": 16,
                    "ecc": True,
                    "mig": True,
                    "partitions": [
                        {
                            "index": 0,
                            "gpu_instance": 1,
                            "compute_instance": 0,
                            "multiprocessors": 60,
                            "memory": 40448 << 20,
                        }
                    ],
                }
            ],
        },
        "tlbs": {
            "core_type": None,
            "tlbs": [tlb(1, "data", 72, None), tlb(2, "data", 3072, 8)],
        },
        "cpu_state": {
            "lists": {
                "present": list(range(9)),
                "online": list(range(8)),
                "offline": [8],
                "isolated": [7],
            },
            "smt": {"active": True, "control": "on"},
            "scaling": {"driver": "amd-pstate-epp", "status": "active", "boost": False},
        },
        "cgroups": {
            "layout": "v2",
            "hierarchies": [
                {
                    "path": "/sys/fs/cgroup",
                    "version": 2,
                    "controllers": ["cpu", "memory"],
                    "enabled": ["memory"],
                    "delegated": ["/user.slice/user-1000.slice/user@1000.service"],
                }
            ],
        },
        "nics": [
            {
                "name": "eno1",
                "mac": "3c:ec:ef:47:98:6e",
                "speed": 10_000_000_000,
                "up": True,
                "virtual": False,
                "duplex": "full",
                "mtu": 9000,
                "firmware": "0x800007f3, 1.1276.0",
            }
        ],
        "kernel_options": ["quiet", "isolcpus=7"],
        "pcp": {
            "metrics": [
                {
                    "name": "mem.physmem",
                    "pmid": "60.1.9",
                    "type": "u64",
                    "semantics": "discrete",
                    "units": "Kbyte",
                    "indom": None,
                    "help": "total memory",
                }
            ],
            "indoms": {},
            "pmdas": {"60": "linux", "3": "proc"},
        },
    }


def tlb(level: int, type_: str, entries: int, ways: int | None) -> dict[str, Any]:
    """A TLB for pages of 4 KiB."""
    return {
        "level": level,
        "type": type_,
        "page_sizes": [4096],
        "entries": entries,
        "ways": ways,
        "fully": ways is None,
    }


def topology_memory(topology: dict[str, Any]) -> int:
    return sum(domain["memory"] for domain in topology["numa"])


def server(host: str = "n1") -> dict[str, Any]:
    """The whole document."""
    outcome = {"ok": True, "seconds": 0.1, "reason": None}
    return {**document(facts(), host), "sources": dict.fromkeys(SOURCES, outcome)}
