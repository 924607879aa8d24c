"""Copies what a machine tells of itself: files of /sys, /proc, /etc, and tools' output.

It stands alone (Python 3.8 or newer and nothing else), writes a tar to its standard
output and nothing anywhere else; by hand: ``python3 collect.py > machine.tar``. It
copies and reads nothing into it. A link is copied as a link and a file under its real
path, so that the copy can be read as the machine itself.
"""

from __future__ import annotations

import fcntl
import glob
import json
import os
import socket
import struct
from typing import Callable, Iterator, NamedTuple

FIRST = "supertwin-collected-1"
LAST = "outcomes.json"
SECONDS = 150
MAX_FILE = 16 << 20
MAX_OUTPUT = 64 << 20
MAX_TOTAL = 512 << 20
_SBIN = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
_SIOCGIFADDR = 0x8915


class Tool(NamedTuple):
    """A program: its Debian package, the seconds that it may take, what it needs.

    With ``each``, a glob, it is run for every match, whose name replaces ``{}``.
    ``any_status``: what it prints counts, however it exits.
    """

    argv: tuple[str, ...]
    package: str
    timeout: float
    needs_root: bool = False
    each: str = ""
    any_status: bool = False


TOOLS = {
    "lstopo": Tool(
        ("lstopo-no-graphics", "--disallowed", "--whole-io", "--of", "xml"),
        "hwloc-nox",
        30.0,
    ),
    "lshw": Tool(("lshw", "-json", "-quiet"), "lshw", 60.0),
    "dmidecode": Tool(("dmidecode",), "dmidecode", 20.0, needs_root=True),
    "nvidia-smi": Tool(("nvidia-smi", "-q", "-x"), "nvidia-smi", 30.0),
    "cpuid": Tool(("cpuid", "-r", "-1"), "cpuid", 10.0),
    "smartctl": Tool(
        ("smartctl", "-j", "-a", "/dev/{}"),
        "smartmontools",
        30.0,
        needs_root=True,
        each="/sys/block/[!dlmrz]*",
        any_status=True,
    ),
}


def _below(folder: str, names: str) -> list[str]:
    return [f"{folder}/{name}" for name in names.split()]


# A folder with all that is below it ends in /**.
FILES = [
    *_below("/etc", "machine-id os-release"),
    "/usr/lib/os-release",
    *_below("/proc", "cmdline cpuinfo meminfo mounts stat swaps version"),
    *_below("/proc/self", "cgroup cpuset mountinfo status"),
    *_below("/proc/sys/kernel", "hostname osrelease numa_balancing random/boot_id"),
    *_below("/proc/driver/nvidia", "version gpus/*/*"),
    *_below("/sys/devices/system", "cpu/** node/**"),
    *_below("/sys/bus", "cpu/devices/* node/devices/*"),
    *_below("/sys/bus/event_source/devices", "* */type */cpumask */cpus"),
    *_below("/sys/bus/dax", "devices/*/* devices/*/../* drivers/*/*"),
    *_below("/sys/bus/cxl/devices", "*/* */ram/* */pmem/*"),
    "/sys/devices/virtual/memory_tiering/**",
    *_below("/sys/kernel/mm", "hugepages/** transparent_hugepage/**"),
    *_below("/sys/class/dmi/id", "*"),
    *_below("/sys/bus/pci/slots", "*/address"),
    *_below(
        "/sys/bus/pci/devices/*",
        "driver subsystem class vendor device revision subsystem_vendor "
        "subsystem_device config label local_cpus local_cpulist numa_node "
        "current_link_speed current_link_width max_link_speed max_link_width",
    ),
    *_below("/sys/block", "* */queue/*"),
    *_below("/sys/class/block/*", "* device/* device/device/numa_node"),
    "/run/udev/data/b*",
    *_below("/sys/class/net", "* */* */device/numa_node */device/infiniband/*"),
    *_below("/sys/class/infiniband/*", "* ports/*/* ports/*/gids/*"),
    *_below("/sys/class", "drm/* drm/*/dev drm/*/device dma/* ve/*/* bxi/*/*"),
    *_below("/sys/fs/cgroup", "cgroup.* cpuset.* */cgroup.*"),
    *_below("/sys/fs/cgroup/cpuset", "*cpus* *mems*"),
]
# Counters, readings of the moment, and what takes long to read.
LEFT_OUT = (
    "*/power/*",
    "*/cpuidle/*",
    "*/thermal_throttle/*",
    "*/cpufreq/stats/*",
    "*_cur_freq",
    "*/crash_notes*",
    "*/node/node*/memory[0-9]*",
    "*/vmstat",
    "*/numastat",
)


def architecture() -> bytes:
    """What the kernel calls the processor's architecture: ``x86_64``."""
    return os.uname().machine.encode()


def addresses() -> bytes:
    """JSON: the first IPv4 address of each network interface that has one."""
    return json.dumps(
        {name: found for _, name in socket.if_nameindex() if (found := _ipv4(name))}
    ).encode()


def _ipv4(name: str) -> str | None:
    request = struct.pack("256s", name.encode()[:15])
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
    except OSError:
        return None
    return socket.inet_ntoa(answer[20:24])


# What Python itself can ask; read like a tool's output.
CALLS: dict[str, Callable[[], bytes]] = {
    "architecture": architecture,
    "addresses": addresses,
}


def targets(tool: Tool) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The devices that a tool is run for, each with its command."""
    for path in sorted(glob.glob(tool.each)):
        name = os.path.basename(path)
        # The kernel writes the "/" of names such as cciss/c0d0 as "!".
        device = name.replace("!", "/")
        yield name, tuple(word.replace("{}", device) for word in tool.argv)
