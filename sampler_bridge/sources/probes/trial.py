"""A trial of a probe: whether the kernel takes it, and how often it is called."""

import time
from dataclasses import replace
from pathlib import Path

from sampler_bridge.sources.probes.prober import Prober
from sampling.probes.definition import CodeProbe

_SECONDS, _STEP = 1.0, 0.1


def measured_rate(program: Path, probe: CodeProbe, most: float) -> float:
    """Calls per second, counted for a second; shorter if there are more than ``most``.

    Raises ProbeRefusedError.
    """
    prober = Prober(program)
    try:
        prober.attach(0, probe)  # refused in full now, not later
        prober.detach(0)
        prober.attach(0, replace(probe, times=False, end=None, ends=()))
        return _rate(prober, most)
    finally:
        prober.close()


def _rate(prober: Prober, most: float) -> float:
    began, first = time.monotonic(), prober.read()[0].calls
    while True:
        time.sleep(_STEP)
        calls = prober.read()[0].calls - first
        took = time.monotonic() - began
        if took >= _SECONDS or calls > most * _SECONDS:
            return calls / took
