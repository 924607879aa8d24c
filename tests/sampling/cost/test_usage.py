"""CPU and memory of real processes."""

import os
import subprocess
import sys
import time

import pytest

from sampling.cost.usage import CpuMeter, cpu_seconds, machine_seconds, rss_bytes

SPIN = """
import time
while time.process_time() < 0.4: pass
print(time.process_time(), flush=True)
input()"""


def test_cpu_of_another_process_matches_its_own_reading() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SPIN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin and process.stdout
        reported = float(process.stdout.readline())
        found = cpu_seconds(process.pid)
        process.communicate(b"\n")
    assert reported <= found < reported + 0.1


def test_ended_process_has_no_cpu_time() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    with pytest.raises(OSError, match="Invalid argument"):
        cpu_seconds(process.pid)


def test_meter_separates_own_and_other_use() -> None:
    before, meter = machine_seconds(), CpuMeter({"us": os.getpid()})
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass
    assert meter.read()["us"] > 1
    assert meter.others() >= 0
    assert machine_seconds() > before


def test_memory_matches_the_kernel() -> None:
    block = bytearray(50_000_000)
    block[::4096] = b"x" * len(block[::4096])
    assert rss_bytes(os.getpid()) > len(block)
