"""Calibrate in the background with few runs, hence with large errors.

``python small_calibration.py NICE``
"""

import sys

from sampling.calibration.counters import EVENTS
from sampling.cost.runs import FetchRequest, SamplingRun
from supertwin.stack.background_calibration import main

CPUS = ("kernel.percpu.cpu.user", "kernel.percpu.cpu.sys")
RSS = "proc.psinfo.rss"
_EVENTS = tuple(name for e in EVENTS for name in (e.value, e.dutycycle))
FEW = [
    SamplingRun("idle", ()),
    SamplingRun("few", (FetchRequest(CPUS, 200), FetchRequest(_EVENTS, 50))),
    SamplingRun("more", (FetchRequest(CPUS, 20), FetchRequest((RSS,), 200))),
]

if __name__ == "__main__":
    sys.exit(main(lambda _sizes, _process: FEW, int(sys.argv[1])))
