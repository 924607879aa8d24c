"""Copy a machine's own data: files of /sys, /proc and /etc, and the output of tools.

The script needs only Python 3.8 or newer. It writes a tar to its standard output and
nothing anywhere else; by hand: ``python3 collect.py > machine.tar``. It copies files
without interpreting them. A link is copied as a link and a file under its real path, so
the copy can be read like the machine itself.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import fnmatch
import glob
import io
import json
import mmap
import os
import re
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tarfile
import threading
import time
from contextlib import suppress
from typing import Any, Callable, Iterator, NamedTuple

FIRST = "supertwin-collected-1"
LAST = "outcomes.json"
SECONDS = 150
MAX_FILE = 16 << 20
MAX_OUTPUT = 64 << 20
MAX_TOTAL = 512 << 20
# Folders of administrators' tools, for users without them in PATH.
_SBIN = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
_PATH = f"{os.environ.get('PATH', os.defpath)}:{_SBIN}"
_SIOCGIFADDR = 0x8915
_SIOCETHTOOL = 0x8946
_ETHTOOL_GDRVINFO = 3
# Leaves of CPUID, and the number of subleaves to query.
_TLB_LEAVES = [(0, 1), (2, 1), (7, 1), (0x18, 16), (0x1A, 1)]
_TLB_LEAVES += [(0x80000005, 1), (0x80000006, 1), (0x80000019, 1)]


class Tool(NamedTuple):
    """A program: its Debian package, time limit in seconds, and needs.

    With ``each``, a glob, it is run for every match; the name replaces ``{}``. With
    ``any_status`` its output counts whatever its exit status.
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


# A trailing /** means a folder with everything below it.
FILES = [
    *_below("/etc", "machine-id os-release"),
    "/usr/lib/os-release",
    *_below("/proc", "cmdline cpuinfo meminfo mounts stat swaps version"),
    *_below("/proc/self", "cgroup cpuset mountinfo status net/if_inet6"),
    *_below("/proc/sys/kernel", "hostname osrelease numa_balancing random/boot_id"),
    *_below("/proc/sys/kernel", "perf_event_paranoid nmi_watchdog"),
    *_below("/proc/driver/nvidia", "version gpus/*/*"),
    *_below("/sys/devices/system", "cpu/** node/**"),
    *_below("/sys/bus", "cpu/devices/* node/devices/*"),
    *_below(
        "/sys/bus/event_source/devices",
        "* */type */cpumask */cpus */events/* */format/*",
    ),
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
    *_below("/sys/class/net/*", "* device/driver device/subsystem device/numa_node"),
    "/sys/class/net/*/device/infiniband/*",
    "/sys/class/net/*",
    "/sys/class/net/*/bonding_slave/*",
    *_below("/sys/class/infiniband/*", "* ports/*/* ports/*/gids/*"),
    *_below("/sys/class", "drm/* drm/*/dev drm/*/device dma/* ve/*/* bxi/*/*"),
    *_below("/sys/fs/cgroup", "cgroup.* cpuset.* */cgroup.*"),
    *_below("/sys/fs/cgroup/cpuset", "*cpus* *mems*"),
]
# Counters, momentary readings, and files that are slow to read.
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
    "*/cgroup.procs",
    "*/cgroup.threads",
)


def architecture() -> bytes:
    """The kernel's name of the processor's architecture: ``x86_64``."""
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
    """JSON: the firmware version of each network interface that reports one."""
    return json.dumps(
        {name: found for _, name in socket.if_nameindex() if (found := _firmware(name))}
    ).encode()


def _firmware(name: str) -> str | None:
    """Read ``struct ethtool_drvinfo`` of the kernel's uapi/linux/ethtool.h."""
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
    """CPUID's data on TLBs in the format of ``cpuid -r -1``; empty if unavailable."""
    leaves = [(leaf, sub) for leaf, count in _TLB_LEAVES for sub in range(count)]
    line = "   0x%08x 0x%02x: eax=0x%08x ebx=0x%08x ecx=0x%08x edx=0x%08x\n"
    try:
        return "".join(line % (*leaf, *_cpuid(*leaf)) for leaf in leaves).encode()
    except OSError:
        return b""


def _cpuid(leaf: int, subleaf: int) -> tuple[int, ...]:
    """Run the instruction; raises OSError if memory must not be executable."""
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
        # A page with pointers to it cannot be closed.
        del run, start
    return tuple(answer)


def pmcd_sockets() -> bytes:
    """JSON: the existing sockets on which a PMCD may answer."""
    names = ("/run/pcp/pmcd.socket", "/var/run/pcp/pmcd.socket")
    return json.dumps([name for name in names if os.path.exists(name)]).encode()


# Data that Python itself can read; handled like a tool's output.
CALLS: dict[str, Callable[[], bytes]] = {
    "architecture": architecture,
    "addresses": addresses,
    "firmware": firmware,
    "registers": registers,
    "pmcd": pmcd_sockets,
}


def targets(tool: Tool) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each device that a tool is run for, with its command."""
    for path in sorted(glob.glob(tool.each)):
        name = os.path.basename(path)
        # The kernel writes the "/" of names such as cciss/c0d0 as "!".
        device = name.replace("!", "/")
        yield name, tuple(word.replace("{}", device) for word in tool.argv)


class TarCopy:
    """Files, folders and links in a tar: each once, a file under its real path."""

    def __init__(self, tar: tarfile.TarFile, until: float) -> None:
        self.unread: list[str] = []
        self.cut = ""
        self._tar = tar
        self._until = until
        self._left = MAX_TOTAL
        self._real = {"/": "/"}
        self._taken: set[str] = set()
        self._left_out = re.compile("|".join(map(fnmatch.translate, LEFT_OUT)))

    def take(self, pattern: str) -> None:
        """Copy everything that a pattern of FILES matches."""
        found = _walk(pattern[:-3]) if pattern.endswith("/**") else glob.iglob(pattern)
        for path in found:
            if self.cut:
                return
            if not self._left_out.match(path):
                self._take_one(path)

    def _take_one(self, path: str) -> None:
        real = self._resolved(path)
        if real in self._taken:
            return
        self._taken.add(real)
        try:
            mode = os.stat(real).st_mode
            if stat.S_ISDIR(mode):
                self._add(real, tarfile.DIRTYPE)
            # Some files are write-only.
            elif stat.S_ISREG(mode) and mode & 0o444:
                self._add(real, tarfile.REGTYPE, _content(real))
        except OSError as error:
            # Other errors mean that there is no value.
            if error.errno in (errno.EACCES, errno.EPERM):
                self.unread.append(real)

    def _resolved(self, path: str, depth: int = 0) -> str:
        """The path with links resolved; links on the path are copied."""
        if path not in self._real:
            folder = self._resolved(os.path.dirname(path), depth)
            here = os.path.normpath(os.path.join(folder, os.path.basename(path)))
            target = self._target(folder, here) if depth < 40 else None
            self._real[path] = self._resolved(target, depth + 1) if target else here
        return self._real[path]

    def _target(self, folder: str, here: str) -> str | None:
        """The target of a link below /sys or /etc; None: read through the link."""
        try:
            link = os.readlink(here)
        except OSError:
            return None
        if link.startswith("/") or here.startswith("/proc/"):
            return None
        target = os.path.normpath(os.path.join(folder, link))
        if here not in self._taken:
            self._taken.add(here)
            self._add(here, tarfile.SYMTYPE, link=os.path.relpath(target, folder))
        return target

    def _add(
        self, path: str, kind: bytes, content: bytes = b"", link: str = ""
    ) -> None:
        self._left -= len(content) + 1024
        if self._left < 0:
            self.cut = f"it has more than {MAX_TOTAL >> 20} MiB of files"
        elif time.monotonic() > self._until:
            self.cut = f"it took more than {SECONDS} s; try again when idle"
        else:
            add(self._tar, f"root{path}", content, kind, link)


def add(
    tar: tarfile.TarFile,
    name: str,
    content: bytes,
    kind: bytes = tarfile.REGTYPE,
    link: str = "",
) -> None:
    """Write one entry."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname, entry.size = kind, link, len(content)
    tar.addfile(entry, io.BytesIO(content))


def _walk(top: str) -> Iterator[str]:
    for folder, folders, names in os.walk(top):
        yield folder
        for name in folders + names:
            yield os.path.join(folder, name)


def _content(path: str) -> bytes:
    content = bytearray()
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        # /proc/sys rejects reads in one large piece.
        while len(content) < MAX_FILE:
            piece = os.read(descriptor, 1 << 16)
            if not piece:
                break
            content += piece
    finally:
        os.close(descriptor)
    return bytes(content)


class ToolRun(threading.Thread):
    """One run of a tool: its output and its outcome."""

    def __init__(self, key: str, tool: Tool, argv: tuple[str, ...]) -> None:
        super().__init__(daemon=True)
        self.key, self.output = key, b""
        self.outcome: dict[str, Any] = {"reason": None, "missing": False}
        self._tool, self._argv = tool, argv
        self._process: subprocess.Popen[bytes] | None = None
        self._over = False

    def run(self) -> None:
        """Run the tool within its time limit."""
        begun = time.monotonic()
        self.outcome["reason"] = self._refusal() or self._ask()
        self.outcome["seconds"] = round(time.monotonic() - begun, 3)

    def kill(self) -> None:
        """Kill the tool and its children, or keep it from starting."""
        self._over = True
        if self._process and self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _refusal(self) -> str | None:
        name = self._argv[0]
        if shutil.which(name, path=_PATH) is None:
            self.outcome["missing"] = True
            return (
                f"{name} is not installed there: apt-get install {self._tool.package}"
            )
        if self._tool.needs_root and os.geteuid() != 0:
            return (
                f"{name} needs root: probe as root, or allow sudo there without a "
                "password"
            )
        return None

    def _ask(self) -> str | None:
        tool = self._tool
        try:
            self._process = process = _start(self._argv)
        except OSError as error:
            return (
                f"{self._argv[0]} cannot be run there ({error.strerror}): apt-get "
                f"install --reinstall {tool.package}"
            )
        if self._over:
            self.kill()
        complaints: list[bytes] = []
        listener = threading.Thread(
            target=lambda: complaints.append(_drain(process.stderr, 1 << 16)),
            daemon=True,
        )
        listener.start()
        timer = threading.Timer(tool.timeout, self.kill)
        timer.daemon = True
        timer.start()
        self.output = _drain(process.stdout, MAX_OUTPUT + 1)
        status = process.wait()
        timer.cancel()
        listener.join(1.0)
        return self._verdict(status, b"".join(complaints))

    def _verdict(self, status: int, complaints: bytes) -> str | None:
        name, by_hand = self._argv[0], f"run `{' '.join(self._argv)}` there by hand"
        self.outcome["status"] = status
        if len(self.output) > MAX_OUTPUT:
            self.output = b""
            return f"{name} printed more than {MAX_OUTPUT >> 20} MiB there: {by_hand}"
        if status == -signal.SIGKILL:
            limit = f"{self._tool.timeout:g} s"
            return f"{name} did not finish within {limit} there: {by_hand}"
        if not status or self._tool.any_status:
            return None
        lines = complaints.decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        why = f" ({last[:200]})" if last else ""
        return f"{name} failed there with status {status}{why}: {by_hand}"


def _start(argv: tuple[str, ...]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": _PATH, "LC_ALL": "C"},
        start_new_session=True,
    )


def _drain(pipe: Any, limit: int) -> bytes:
    """Read a pipe to its end and keep the first ``limit`` bytes."""
    kept = bytearray()
    with pipe:
        while True:
            piece = pipe.read1(1 << 16)
            if not piece:
                return bytes(kept)
            kept += piece[: limit - len(kept)]


def _runs() -> Iterator[ToolRun]:
    for name, tool in TOOLS.items():
        if not tool.each:
            yield ToolRun(name, tool, tool.argv)
        else:
            for device, argv in targets(tool):
                yield ToolRun(f"{name}:{device}", tool, argv)


def _call(name: str) -> tuple[dict[str, Any], bytes]:
    try:
        return {"reason": None, "missing": False}, CALLS[name]()
    except Exception as error:
        return {"reason": f"{name}: {error}"[:200], "missing": True}, b""


def _watch(out: int, runs: list[ToolRun], until: float) -> None:
    """Kill everything when the reader has gone or the time is over."""
    poll = select.poll()
    poll.register(out, 0)
    while not poll.poll(500) and time.monotonic() < until:
        pass
    _end(runs)
    os._exit(1)


def _end(runs: list[ToolRun]) -> None:
    for run in runs:
        run.kill()
    for run in runs:
        # A run may just be starting its tool.
        if run.is_alive():
            run.join(2.0)


def collect(tar: tarfile.TarFile, runs: list[ToolRun], until: float) -> None:
    """Write the whole copy; its last entry holds each tool's outcome."""
    about = {"python": sys.version.split()[0], "root": os.geteuid() == 0}
    add(tar, FIRST, json.dumps(about).encode())
    for run in runs:
        run.start()
    copy = TarCopy(tar, until)
    for pattern in FILES:
        copy.take(pattern)
    outcomes = {}
    for name in CALLS:
        outcomes[name], output = _call(name)
        add(tar, f"tools/{name}", output)
    for run in runs:
        run.join()
        outcomes[run.key] = run.outcome
        add(tar, f"tools/{run.key}", run.output)
    last = {"tools": outcomes, "unread": copy.unread[:1000], "cut": copy.cut}
    add(tar, LAST, json.dumps(last).encode())


def _tar(file: Any) -> tarfile.TarFile:
    form = tarfile.GNU_FORMAT
    return tarfile.open(fileobj=file, mode="w|", format=form, errors="surrogateescape")


def main() -> int:
    """Write the copy to standard output."""
    if sys.stdout.isatty():
        print(
            "collect: standard output is a terminal: redirect it to a file, as in "
            "`collect.py > machine.tar`"
        )
        return 2
    # Only the copy may go to standard output.
    out = os.dup(1)
    os.dup2(2, 1)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(1))
    until = time.monotonic() + SECONDS
    runs = list(_runs())
    watch = threading.Thread(target=_watch, args=(out, runs, until + 15), daemon=True)
    watch.start()
    try:
        with open(out, "wb") as file, _tar(file) as tar:
            collect(tar, runs, until)
    except BrokenPipeError:
        return 1
    finally:
        _end(runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
