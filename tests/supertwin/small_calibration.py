"""Calibrate in the background with few runs: their errors are large.

``python small_calibration.py NICE``
"""

import sys

from sampling.calibration.counters import EVENTS
from sampling.cost.runs import Asking, Run
from supertwin.stack.background_calibration import main

CPUS = ("kernel.percpu.cpu.user", "kernel.percpu.cpu.sys")
RSS = "proc.psinfo.rss"
_EVENTS = tuple(name for e in EVENTS for name in (e.value, e.dutycycle))
FEW = [
    Run("idle", ()),
    Run("few", (Asking(CPUS, 200), Asking(_EVENTS, 50))),
    Run("more", (Asking(CPUS, 20), Asking((RSS,), 200))),
]

if __name__ == "__main__":
    sys.exit(main(lambda _sizes, _process: FEW, int(sys.argv[1])))
