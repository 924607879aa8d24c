"""Copies what a machine tells of itself: files of /sys, /proc, /etc, and tools' output.

It stands alone (Python 3.8 or newer and nothing else), writes a tar to its standard
output and nothing anywhere else; by hand: ``python3 collect.py > machine.tar``. It
copies and reads nothing into it. A link is copied as a link and a file under its real
path, so that the copy can be read as the machine itself.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import glob
import json
import mmap
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
_SIOCETHTOOL = 0x8946
_ETHTOOL_GDRVINFO = 3
# Leaves of CPUID, and how many subleaves each has that are asked.
_TLB_LEAVES = [(0, 1), (2, 1), (7, 1), (0x18, 16), (0x1A, 1)]
_TLB_LEAVES += [(0x80000005, 1), (0x80000006, 1), (0x80000019, 1)]


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


def firmware() -> bytes:
    """JSON: the firmware's version of each network interface that tells one."""
    return json.dumps(
        {name: found for _, name in socket.if_nameindex() if (found := _firmware(name))}
    ).encode()


def _firmware(name: str) -> str | None:
    """``struct ethtool_drvinfo`` of the kernel's uapi/linux/ethtool.h."""
    answer = ctypes.create_string_buffer(struct.pack("=I", _ETHTOOL_GDRVINFO), 196)
    request = struct.pack("16sP", name.encode()[:15], ctypes.addressof(answer))
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            fcntl.ioctl(probe.fileno(), _SIOCETHTOOL, request)
    except OSError:
        return None
    # After the command: driver, its version and the firmware's, 32 bytes each.
    text = answer.raw[68:100].partition(b"\0")[0].decode(errors="replace").strip()
    return text if text not in ("", "N/A") else None


def registers() -> bytes:
    """What CPUID says of TLBs, as ``cpuid -r -1`` prints it; else nothing."""
    asked = [(leaf, sub) for leaf, count in _TLB_LEAVES for sub in range(count)]
    line = "   0x%08x 0x%02x: eax=0x%08x ebx=0x%08x ecx=0x%08x edx=0x%08x\n"
    try:
        return "".join(line % (*leaf, *_cpuid(*leaf)) for leaf in asked).encode()
    except OSError:
        return b""


def _cpuid(leaf: int, subleaf: int) -> tuple[int, ...]:
    """Runs the instruction; OSError where memory may not be made executable."""
    if os.uname().machine != "x86_64":
        raise OSError(errno.ENOSYS, "only x86-64 has CPUID")
    # push rbx; mov eax,edi; mov ecx,esi; mov r8,rdx; cpuid; mov [r8],eax;
    # mov [r8+4],ebx; mov [r8+8],ecx; mov [r8+12],edx; pop rbx; ret
    code = bytes.fromhex(
        "53 89f8 89f1 4989d0 0fa2 418900 41895804 41894808 4189500c 5b c3"
    )
    protection = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    answer = (ctypes.c_uint32 * 4)()
    with mmap.mmap(-1, mmap.PAGESIZE, prot=protection) as page:
        page.write(code)
        start = ctypes.c_char.from_buffer(page)
        run = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(
            ctypes.addressof(start)
        )
        run(leaf, subleaf, ctypes.addressof(answer))
        # A page that something points to cannot be closed.
        del run, start
    return tuple(answer)


# What Python itself can ask; read like a tool's output.
CALLS: dict[str, Callable[[], bytes]] = {
    "architecture": architecture,
    "addresses": addresses,
    "firmware": firmware,
    "registers": registers,
}


def targets(tool: Tool) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The devices that a tool is run for, each with its command."""
    for path in sorted(glob.glob(tool.each)):
        name = os.path.basename(path)
        # The kernel writes the "/" of names such as cciss/c0d0 as "!".
        device = name.replace("!", "/")
        yield name, tuple(word.replace("{}", device) for word in tool.argv)
