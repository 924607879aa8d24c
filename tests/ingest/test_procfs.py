"""The system and its CPUs, from /proc and /etc."""

import os
from pathlib import Path

import pytest

from ingest.errors import MalformedSourceError, SourceMissingError
from ingest.gaps import collected_gaps
from ingest.sources.machine import Machine
from ingest.sources.procfs import (
    parse_cpuinfo,
    parse_machine_id,
    parse_meminfo,
    parse_os_release,
    read_cpu,
    read_os,
)
from tests.ingest.tree import copied, plant

CPU = """processor\t: {number}
vendor_id\t: AuthenticAMD
cpu family\t: 23
model\t\t: 49
model name\t: AMD EPYC 7352 24-Core Processor
stepping\t: 0
microcode\t: 0x830104d
cpu MHz\t\t: 1497.{number}
physical id\t: {socket}
flags\t\t: fpu vme avx2 fpu
"""
ARM = """processor\t: 0
BogoMIPS\t: 200.00
Features\t: fp asimd sve
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x1
CPU part\t: 0xd40
CPU revision\t: 1
"""
RELEASE = (
    'NAME="Debian GNU/Linux"\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian'
)
ID = "3d1219c7c4c5404aaa1f6d2a48adfda4"


def test_each_socket_has_a_model() -> None:
    text = "\n".join(CPU.format(number=n, socket=n // 2) for n in range(4))
    sockets = parse_cpuinfo(text)["sockets"]
    assert list(sockets) == ["0", "1"]
    assert sockets["1"] == {
        "vendor": "AuthenticAMD",
        "family": "23",
        "model": "49",
        "stepping": "0",
        "name": "AMD EPYC 7352 24-Core Processor",
        "microcode": "0x830104d",
        "flags": ["avx2", "fpu", "vme"],
    }


def test_arm_names_its_parts_by_number() -> None:
    socket = parse_cpuinfo(ARM)["sockets"]["0"]
    assert (socket["vendor"], socket["model"], socket["name"]) == (
        "0x41",
        "0xd40",
        None,
    )
    assert socket["flags"] == ["asimd", "fp", "sve"]


def test_sockets_of_arm_are_those_of_sys(tmp_path: Path) -> None:
    folder = "sys/devices/system/cpu/cpu{}/topology/physical_package_id"
    cpus = [ARM.replace(": 0\n", f": {n}\n", 1) for n in range(4)]
    files = {"proc/cpuinfo": "\n".join(cpus)}
    files |= {folder.format(n): f"{36 + n // 2}\n" for n in range(4)}
    sockets = read_cpu(Machine(plant(tmp_path, files)))["sockets"]
    assert list(sockets) == ["36", "37"]
    assert sockets["37"]["model"] == "0xd40"


def test_unknown_arm_part_is_a_gap() -> None:
    little = ARM.replace("0xd40", "0xd80").replace(": 0\n", ": 1\n", 1)
    with collected_gaps() as gaps:
        parse_cpuinfo(f"{ARM}\n{little}")
        parse_cpuinfo(CPU.format(number=0, socket=0))
    assert gaps == [
        "CPU part in /proc/cpuinfo: '0xd40' is not a name: Arm only has numbers",
        "CPU part in /proc/cpuinfo: '0xd80' is not the part of the first CPU",
    ]


@pytest.mark.parametrize("text", ["", "garbage", "a : b\n\nc : d"])
def test_cpuinfo_without_cpus_is_refused(text: str) -> None:
    with pytest.raises(MalformedSourceError, match="lists no CPU"):
        parse_cpuinfo(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (RELEASE, "Debian GNU/Linux 13 (trixie)"),
        ("NAME='Alpine'\n", "Alpine"),
        ("# nothing\n", None),
    ],
)
def test_distribution_names_are_parsed(text: str, name: str | None) -> None:
    assert parse_os_release(text) == name


@pytest.mark.parametrize("text", ["", "uninitialized", "0" * 32, ID[:-1], ID.upper()])
def test_invalid_machine_id_is_ignored(text: str) -> None:
    assert parse_machine_id(text) is None


def test_memory_is_counted_in_bytes() -> None:
    assert parse_meminfo("MemTotal:       24684084 kB\nMemFree: 1 kB\n") == 25276502016
    with pytest.raises(MalformedSourceError, match="no MemTotal"):
        parse_meminfo("MemFree: 1 kB")


def test_complete_system_is_read(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        {
            "proc/sys/kernel/hostname": "n1\n",
            "proc/sys/kernel/osrelease": "6.12.0\n",
            "proc/sys/kernel/random/boot_id": "1-2\n",
            "proc/meminfo": "MemTotal: 4 kB\n",
            "etc/machine-id": f"{ID}\n",
            "usr/lib/os-release": RELEASE,
        },
    )
    assert read_os(copied(root, {"architecture": "aarch64"})) == {
        "hostname": "n1",
        "os_name": "Debian GNU/Linux 13 (trixie)",
        "kernel": "6.12.0",
        "architecture": "aarch64",
        "boot_id": "1-2",
        "machine_id": ID,
        "memory": 4096,
    }


def test_missing_proc_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match="proc/meminfo does not exist"):
        read_os(copied(plant(tmp_path, {})))
    with pytest.raises(SourceMissingError, match="proc/cpuinfo does not exist"):
        read_cpu(copied(plant(tmp_path, {})))


def test_system_of_this_machine_is_read() -> None:
    assert read_os()["kernel"] == os.uname().release
    assert read_os()["memory"] > 1 << 20
    assert read_cpu()["sockets"]["0"]["flags"]


def test_threads_with_another_microcode_are_reported() -> None:
    text = "\n".join(CPU.format(number=n, socket=0) for n in range(4))
    old = text.replace("0x830104d", "0x8301034", 1)
    socket = parse_cpuinfo(old)["sockets"]["0"]
    assert socket["microcode"] == "0x830104d"
    assert socket["other_microcode"] == {"0": "0x8301034"}
