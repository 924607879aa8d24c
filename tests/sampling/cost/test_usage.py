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


def test_the_cpu_of_another_process_is_what_it_says_itself() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SPIN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin and process.stdout
        said = float(process.stdout.readline())
        found = cpu_seconds(process.pid)
        process.communicate(b"\n")
    assert said <= found < said + 0.1


def test_of_a_process_that_ended_nothing_is_said() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    with pytest.raises(OSError, match="Invalid argument"):
        cpu_seconds(process.pid)


def test_a_meter_parts_ours_from_others() -> None:
    before, meter = machine_seconds(), CpuMeter({"us": os.getpid()})
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass
    assert meter.read()["us"] > 1
    assert meter.others() >= 0
    assert machine_seconds() > before


def test_memory_is_that_of_the_kernel() -> None:
    block = bytearray(50_000_000)
    block[::4096] = b"x" * len(block[::4096])
    assert rss_bytes(os.getpid()) > len(block)
